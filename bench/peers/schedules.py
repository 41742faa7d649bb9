#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schedules of weft beside PyTorch's generators and sail-sg's searches, in one run.

    ENV/bin/python schedules.py --build BUILD [--zero-bubble CHECKOUT] [-p P -m M]

ENV has torch (left out without it) and, for CHECKOUT (sail-sg/zero-bubble-pipeline-
parallelism, left out without it), pulp. Prints markdown tables. All times are CPU time of
one core: weft's is the best of seven runs, a peer's the best of three under a second, else
the only one.
"""
import argparse
import contextlib
import importlib
import io
import os
import subprocess
import sys
import tempfile
import time
import types


def timed(call):
    """Best CPU seconds of the call, and what it returns."""
    best = None
    for _ in range(3):
        start = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            result = call()
        spent = time.process_time() - start
        best = spent if best is None else min(best, spent)
        if spent > 1:
            break
    return best, result


class Weft:
    def __init__(self, build):
        self.build = build

    def row(self, kind, p, m, v, *options):
        """ms to generate, check, simulate; makespan."""
        words = [os.path.join(self.build, "bench_schedule"), "row", kind]
        words += [str(x) for x in (p, m, v) + options]
        out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        _, generate, check, simulate, makespan = map(float, out.split())
        return generate, check, simulate, makespan

    def makespan(self, order, placement, tf, ti, tw):
        """Of an order in the --ops form, with the times of one op."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write(order)
            f.flush()
            words = [os.path.join(self.build, "weft"), "schedule", "sim", f.name]
            words += ["--placement", placement, "--per-op", "--json"]
            words += ["--tf", str(tf), "--ti", str(ti), "--tw", str(tw)]
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return float(out.split('"makespan":')[1].split(",")[0])


# ---- PyTorch -------------------------------------------------------------------------


class Stage:
    """All that a schedule asks of a stage before it runs."""

    stage_index_to_group_rank = None
    has_backward = True
    submod = None

    def __init__(self, index, p, stages):
        self.stage_index, self.num_stages = index, stages
        self.group_size, self.group_rank = p, 0
        self.is_first, self.is_last = index == 0, index == stages - 1


class Torch:
    CLASSES = {
        "gpipe": "ScheduleGPipe",
        "1f1b": "Schedule1F1B",
        "interleaved": "ScheduleInterleaved1F1B",
        "looped-bfs": "ScheduleLoopedBFS",
        "interleaved-zb": "ScheduleInterleavedZeroBubble",
        "zb-v": "ScheduleZBVZeroBubble",
        "dualpipev": "ScheduleDualPipeV",
    }

    def __init__(self):
        self.s = importlib.import_module("torch.distributed.pipelining.schedules")
        self.version = importlib.import_module("torch").__version__

    def generate(self, kind, p, m, v):
        """Seconds for the order of all ranks, without communication; the schedule."""
        base = getattr(self.s, self.CLASSES[kind])
        if issubclass(base, self.s.PipelineScheduleSingle):
            schedule = base(Stage(0, p, p), m)
            return timed(schedule._get_pipeline_order)[0], None

        class Bare(base):
            def _prepare_schedule_with_comms(self, *args, **options):
                pass

        stages = [Stage(c * p, p, p * v) for c in range(v)]
        return timed(lambda: Bare(stages, m))

    def lower_and_simulate(self, schedule):
        """Seconds to validate and add communication, and to run that dry. NaN: it cannot."""
        runtime = self.s._PipelineScheduleRuntime
        try:
            lower, _ = timed(
                lambda: runtime._prepare_schedule_with_comms(schedule, schedule.pipeline_order)
            )
            skip = (self.s.UNSHARD, self.s.RESHARD, self.s.REDUCE_GRAD)  # it knows none of them
            schedule.pipeline_order_with_comms = {
                rank: [a for a in ops if a.computation_type not in skip]
                for rank, ops in schedule.pipeline_order_with_comms.items()
            }
            return lower + timed(schedule._simulate)[0]
        except (KeyError, ValueError):
            return float("nan")


# ---- sail-sg -------------------------------------------------------------------------


class Sail:
    PACKAGE = "megatron.core.pipeline_parallel.zerobubble.scheduler"

    def __init__(self, checkout):
        sys.setrecursionlimit(10**6)  # zbv_greedy and v1f1b recurse over the ops
        name = ""
        for part in self.PACKAGE.split("."):  # the package without what it would import
            name = f"{name}.{part}" if name else part
            module = types.ModuleType(name)
            module.__path__ = [os.path.join(checkout, *name.split("."))]
            sys.modules[name] = module
        for part in ("graph", "zb", "zbv", "zbv_greedy", "v1f1b"):
            setattr(self, part, importlib.import_module(f"{self.PACKAGE}.{part}"))

    def config(self, p, m, chunks, times, limit=None):
        f, b, w = (float(t) for t in times)
        return self.graph.GraphConfig(
            mem_f=[2.0] * p, mem_b=[-1.0] * p, mem_w=[-1.0] * p,
            max_mem=[2.0 * limit] * p if limit else None,
            cost_f=[f] * p, cost_b=[b] * p, cost_w=[w] * p,
            max_chunks=chunks, n_stages=p, n_micro=m)

    def searches(self, p, m):
        """What is searched here and there: name, kind, v, options, times of an op, call."""
        five, one = (5, 6, 4), (1, 1, 1)
        v = self.config(p, m, 2, five)
        yield ("zb.py, limit p", "zb-auto", 1, (p, 5, 6, 4, "single"), five,
               lambda: self.zb.create_schedule(self.config(p, m, 1, five, p)))
        yield ("zb.py, limit 2p", "zb-auto", 1, (2 * p, 5, 6, 4, "single"), five,
               lambda: self.zb.create_schedule(self.config(p, m, 1, five, 2 * p)))
        yield ("zbv.py", "zb-auto", 2, (p, 10, 12, 8, "v"), five,
               lambda: self.zbv.PipelineGraph(p, m, *five, 0, 2, -1, -1).create_schedule(v))
        for half in ("half", "min"):
            yield (f"zbv_greedy.py, {half}", f"v-{half}", 2, (), one,
                   lambda half=half: self.zbv_greedy.PipelineGraph(
                       p, m, half, 1000, 1000, 1000, 1).create_schedule(v))
        yield ("v1f1b.py", "1f1b-v", 2, (), one,
               lambda: self.v1f1b.create_schedule(self.config(p, m, 2, one)))

    @staticmethod
    def order(ranks):
        names = {"F": "F", "B": "I", "W": "W", "BW": "B"}
        return "\n".join(
            " ".join(f"{names[n.type.value]}{n.microbatch}.{n.chunk}" for n in ops)
            for ops in ranks) + "\n"


# ---- tables --------------------------------------------------------------------------

CHUNKS = {"interleaved": 2, "interleaved-zb": 2, "looped-bfs": 2, "zb-v": 2, "dualpipe": 2,
          "dualpipev": 2, "chimera": 2, "bitpipe": 4, "hanayo": 2}
FIXED = ["gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v",
         "interleaved-zb", "dualpipe", "dualpipev", "chimera", "bitpipe", "hanayo",
         "pipedream", "forward"]


def ratio(x, y):
    return f"{x / y:.0f}x" if x == x else "-"


def put_fixed(weft, torch, p, m):
    print(f"\np = {p}, m = {m}; times in ms\n")
    print("| kind | v | weft generate | check | simulate | total | PyTorch generate | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in FIXED:
        v = CHUNKS.get(kind, 1)
        g, c, s, _ = weft.row(kind, p, m, v)
        peer = ["-", "-"]
        if torch and kind in torch.CLASSES:
            seconds, _ = torch.generate(kind, p, m, v)
            peer = [f"{1e3 * seconds:.0f}", ratio(1e3 * seconds, g)]
        print(f"| {kind} | {v} | {g:.2f} | {c:.1f} | {s:.1f} | {g + c + s:.1f} | "
              + " | ".join(peer) + " |", flush=True)


def put_lowered(weft, torch, p, m):
    print(f"\np = {p}, m = {m}: generate, check and simulate in weft; generate, validate, add "
          "communication and run it dry in PyTorch; ms\n")
    print("| kind | weft | PyTorch | ratio |\n|---|---|---|---|")
    for kind in torch.CLASSES:
        v = CHUNKS.get(kind, 1)
        if v == 1:
            continue
        own = sum(weft.row(kind, p, m, v)[:3])
        seconds, schedule = torch.generate(kind, p, m, v)
        seconds += torch.lower_and_simulate(schedule)
        text = f"{1e3 * seconds:.0f}" if seconds == seconds else "does not run it dry"
        print(f"| {kind} | {own:.2f} | {text} | {ratio(1e3 * seconds, own)} |", flush=True)


def put_searched(weft, sail, sizes):
    print("\n| search | p | m | sail-sg ms | weft ms | ratio | sail-sg makespan | weft makespan |")
    print("|---|---|---|---|---|---|---|---|")
    for p, m in sizes:
        for name, kind, v, options, times, call in sail.searches(p, m):
            seconds, ranks = timed(call)
            generate, _, _, own = weft.row(kind, p, m, v, *options)
            if not options:  # in times of a full stage that are 1
                own *= v
            placement = "single" if v == 1 else "v"
            theirs = weft.makespan(sail.order(ranks), placement, *times)
            print(f"| {name} | {p} | {m} | {1e3 * seconds:.0f} | {generate:.2f} | "
                  f"{ratio(1e3 * seconds, generate)} | {theirs:g} | {own:g} |", flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--build", required=True, help="folder with weft and bench_schedule")
    a.add_argument("--zero-bubble", help="checkout of sail-sg/zero-bubble-pipeline-parallelism")
    a.add_argument("-p", type=int, default=64)
    a.add_argument("-m", type=int, default=4096)
    a = a.parse_args()
    weft = Weft(a.build)
    try:
        torch = Torch()
        print(f"PyTorch {torch.version}")
    except ImportError:
        torch = None
        print("PyTorch is not there and left out")
    put_fixed(weft, torch, a.p, a.m)
    if torch:
        put_lowered(weft, torch, a.p, max(a.m // 16, a.p))
    if a.zero_bubble:
        put_searched(weft, Sail(a.zero_bubble), [(8, 64), (8, 256), (16, 256)])


if __name__ == "__main__":
    main()
