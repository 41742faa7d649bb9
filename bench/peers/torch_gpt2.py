#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time training steps of GPT-2 124M in PyTorch on the CPU, as a user would write it.

    torch_gpt2.py [--dtype f32|bf16] [--steps N] [--threads N] [--compile] ...

bf16 is autocast. Attention is scaled_dot_product_attention, the optimizer AdamW (fused
where this PyTorch has it), gradients are clipped to norm 1, the vocabulary is padded to
50304 and the output layer tied, as weft trains it. A step is global-batch sequences in
micro-batches with accumulation. The first two steps are left out. Prints one JSON line.
"""
import argparse
import contextlib
import json
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.fc, self.proj = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        b, t, h = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln_1(x)).split(h, dim=2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, h))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers=12, hidden=768, heads=12, vocab=50304, positions=1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, hidden), nn.Embedding(positions, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_optimizer(model):
    kwargs = {"lr": 1e-4, "weight_decay": 0.1}
    try:
        return torch.optim.AdamW(model.parameters(), fused=True, **kwargs), "fused"
    except RuntimeError:
        return torch.optim.AdamW(model.parameters(), foreach=True, **kwargs), "foreach"


def train_step(model, optimizer, args):
    micros = args.global_batch // args.micro_batch
    for _ in range(micros):
        text = torch.randint(50257, (args.micro_batch, args.seq + 1))
        cast = (torch.autocast("cpu", torch.bfloat16) if args.dtype == "bf16"
                else contextlib.nullcontext())
        with cast:
            loss = model(text[:, :-1], text[:, 1:])
        (loss / micros).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    p.add_argument("--steps", type=int, default=5, help="measured ones")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seq", type=int, default=512)
    p.add_argument("--micro-batch", type=int, default=2)
    p.add_argument("--global-batch", type=int, default=8)
    p.add_argument("--compile", action="store_true", help="torch.compile; needs g++")
    args = p.parse_args()
    if args.global_batch % args.micro_batch:
        p.error(f"--micro-batch {args.micro_batch} does not divide "
                f"--global-batch {args.global_batch}")
    return args


def main():
    args = parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    model = GPT2()
    optimizer, kind = make_optimizer(model)
    run = torch.compile(model) if args.compile else model
    took = []
    for step in range(args.steps + 2):
        start = time.perf_counter()
        loss = train_step(run, optimizer, args)
        took.append(time.perf_counter() - start)
        print(f"step {step}: loss {loss:.4f}, {took[-1]:.2f} s", file=sys.stderr)
    median = statistics.median(took[2:])
    print(json.dumps({
        "peer": f"PyTorch {torch.__version__}", "dtype": args.dtype,
        "batch": args.global_batch, "micro_batch": args.micro_batch, "seq": args.seq,
        "threads": args.threads, "compile": args.compile, "adamw": kind,
        "steps": args.steps, "step_time_s": round(median, 3),
        "tokens_per_s": round(args.global_batch * args.seq / median, 2)}))


if __name__ == "__main__":
    main()
