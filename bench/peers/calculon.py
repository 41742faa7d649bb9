#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layouts priced a second: weft beside Calculon, in one run, on one core.

    ENV/bin/python calculon.py --checkout CHECKOUT --build BUILD [--seconds S]

ENV has numpy. CHECKOUT is github.com/calculon-ai/calculon (measured at caa4b11). Its own
search is walked
for a 70B model (80 layers, hidden 8192, 64 heads, 4,096 tokens) on 64 H100 with its H100
system, batch 256, for S seconds of CPU time with its logging off; what it refuses counts as
priced. weft's rate is that of `BUILD/bench_plan price`, best of its rounds.
"""
import argparse
import json
import logging
import os
import random
import re
import subprocess
import sys
import time
import types

MODEL = {"hidden": 8192, "feedforward": 32768, "seq_size": 4096, "attn_heads": 64,
         "attn_size": 128, "num_blocks": 80}
PROCS, BATCH = 64, 256


class Enough(Exception):
    pass


def calculon_rate(checkout, seconds):
    # its command line asks for the number of cores with psutil, which pricing does not need
    sys.modules.setdefault("psutil", types.SimpleNamespace(cpu_count=lambda **_: 1))
    sys.path.insert(0, checkout)
    from calculon.llm import Llm, System
    from calculon.llm.optimal_execution import OptimalExecution as Search

    logging.disable(logging.CRITICAL)
    with open(os.path.join(checkout, "systems", "h100_80g_nvl8.json")) as f:
        system = System(json.load(f))
    app = Llm.Application(MODEL)
    priced = 0
    make = Llm.__init__

    def counted(self, *args):
        nonlocal priced
        if time.process_time() - start > seconds:
            raise Enough
        priced += 1
        make(self, *args)

    jobs = [(tp, pp, inter, recompute, shard, comm)
            for tp in Llm.get_all_tensor_parallelisms(PROCS, app.hidden, app.attn_heads)
            for pp in Llm.get_all_pipeline_parallelisms(PROCS, tp, app.num_blocks)
            for inter in Llm.get_valid_pipeline_interleavings(app.num_blocks, pp)
            for recompute in ("full", "attn_only", "none")
            for shard in ([True, False] if tp * pp < PROCS else [False])
            for comm in ("ar", "p2p_rs_ag", "rs_ag")]
    random.Random(1).shuffle(jobs)  # a part of the search like the whole of it
    Llm.__init__ = counted
    start = time.process_time()
    try:
        for tp, pp, inter, recompute, shard, comm in jobs:
            Search.search(False, 1, False, PROCS, BATCH, "float16", app, system, tp, pp,
                          PROCS // tp // pp, inter, BATCH, recompute, shard, comm, [True],
                          False, True, True)
    except Enough:
        pass
    return priced / (time.process_time() - start), priced


def weft_rate(build):
    out = subprocess.run([os.path.join(build, "bench_plan"), "price"],
                         capture_output=True, text=True).stdout
    print(out.strip())
    return float(re.search(r"(\d+) prices a second", out).group(1))


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--checkout", required=True)
    words.add_argument("--build", required=True)
    words.add_argument("--seconds", type=float, default=10)
    a = words.parse_args()
    weft = weft_rate(a.build)
    peer, priced = calculon_rate(a.checkout, a.seconds)
    print(f"calculon: {peer:.0f} a second ({priced} in {a.seconds:.0f} s of CPU time)")
    print(f"ratio {weft / peer:.0f}")


if __name__ == "__main__":
    main()
