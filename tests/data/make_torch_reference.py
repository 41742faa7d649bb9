#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record a float64 GPT-2 of PyTorch as the reference of tests/nn.

    python3 make_torch_reference.py > gpt2_tiny_torch_f64.json

Written with torch.nn.functional alone, from the equations of the model: pre-norm blocks,
tanh GELU, causal attention scaled by 1/sqrt(head_dim), learned positions, the output layer
tied to the embedding, cross-entropy averaged over the targets that are not -1. Recorded
with PyTorch 2.13.0 (CPU). Tensors are named, ordered and shaped as in weft/arch.h: linear
weights [out, in], q, k and v as the thirds of the rows of attn.qkv.

Weights follow a formula, so that the file need not hold them. Element i of tensor k:
0.2*sin(0.37*i + 1.3*k), and 1 + 0.1*sin(0.37*i + 1.3*k) for the gain of a norm.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, FFN, VOCAB, POSITIONS = 2, 12, 3, 48, 13, 8
BATCH, SEQ, EPS, LR, STEPS = 3, 7, 1e-5, 0.1, 3
RECORDED = ("wte", "wpe", "h.0.ln_1.weight", "h.0.attn.qkv.weight",
            "h.1.attn.qkv.bias", "h.1.mlp.proj.weight", "ln_f.bias")


def table():
    """(name, shape) in forward order."""
    yield "wte", (VOCAB, HIDDEN)
    yield "wpe", (POSITIONS, HIDDEN)
    for i in range(LAYERS):
        for name, shape in (("ln_1", (HIDDEN,)), ("attn.qkv", (3 * HIDDEN, HIDDEN)),
                            ("attn.out", (HIDDEN, HIDDEN)), ("ln_2", (HIDDEN,)),
                            ("mlp.fc", (FFN, HIDDEN)), ("mlp.proj", (HIDDEN, FFN))):
            yield f"h.{i}.{name}.weight", shape
            yield f"h.{i}.{name}.bias", shape[:1]
    yield "ln_f.weight", (HIDDEN,)
    yield "ln_f.bias", (HIDDEN,)


def weights():
    out = {}
    for k, (name, shape) in enumerate(table()):
        gain = name.endswith("weight") and len(shape) == 1
        wave = [math.sin(0.37 * i + 1.3 * k) for i in range(math.prod(shape))]
        values = [1 + 0.1 * s if gain else 0.2 * s for s in wave]
        out[name] = torch.tensor(values, dtype=torch.float64).reshape(shape)
        out[name].requires_grad_()
    return out


def batch():
    """tokens and targets [BATCH][SEQ]; every fifth target and one run are ignored."""
    text = [[(5 * b + 7 * i * i + 3 * i + 1) % VOCAB for i in range(SEQ + 1)]
            for b in range(BATCH)]
    tokens = [row[:-1] for row in text]
    targets = [[-1 if (b * SEQ + i) % 5 == 4 or (b == 1 and i < 2) else row[i + 1]
                for i in range(SEQ)] for b, row in enumerate(text)]
    return tokens, targets


def attention(x, w, at):
    q, k, v = F.linear(x, w[at + "qkv.weight"], w[at + "qkv.bias"]).chunk(3, dim=-1)
    q, k, v = (t.view(BATCH, SEQ, HEADS, -1).transpose(1, 2) for t in (q, k, v))
    score = q @ k.transpose(-1, -2) / math.sqrt(HIDDEN // HEADS)
    future = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)
    out = score.masked_fill(future, -math.inf).softmax(-1) @ v
    out = out.transpose(1, 2).reshape(BATCH, SEQ, HIDDEN)
    return F.linear(out, w[at + "out.weight"], w[at + "out.bias"])


def mlp(x, w, at):
    x = F.gelu(F.linear(x, w[at + "fc.weight"], w[at + "fc.bias"]), approximate="tanh")
    return F.linear(x, w[at + "proj.weight"], w[at + "proj.bias"])


def norm(x, w, at):
    return F.layer_norm(x, (HIDDEN,), w[at + ".weight"], w[at + ".bias"], EPS)


def loss_of(w, tokens, targets):
    x = w["wte"][tokens] + w["wpe"][:SEQ]
    for i in range(LAYERS):
        x = x + attention(norm(x, w, f"h.{i}.ln_1"), w, f"h.{i}.attn.")
        x = x + mlp(norm(x, w, f"h.{i}.ln_2"), w, f"h.{i}.mlp.")
    logits = F.linear(norm(x, w, "ln_f"), w["wte"])
    return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1), ignore_index=-1)


def record():
    w = weights()
    tokens, targets = batch()
    x, y = torch.tensor(tokens), torch.tensor(targets)
    losses, gradient = [], None
    for _ in range(STEPS):
        loss = loss_of(w, x, y)
        grads = torch.autograd.grad(loss, list(w.values()))
        losses.append(loss.item())
        gradient = gradient or dict(zip(w, (g.flatten().tolist() for g in grads)))
        with torch.no_grad():
            for tensor, g in zip(w.values(), grads):
                tensor -= LR * g
    return {
        "torch": torch.__version__.split("+")[0],
        "model": {"layers": LAYERS, "hidden": HIDDEN, "heads": HEADS, "ffn": FFN,
                  "vocab": VOCAB, "positions": POSITIONS, "norm_eps": EPS, "tied": True},
        "batch": BATCH, "seq": SEQ, "sgd_lr": LR, "sgd_steps": STEPS,
        "tokens": tokens, "targets": targets,
        "loss": losses[0],
        "losses_before_each_sgd_step": losses,
        "loss_after_sgd": loss_of(w, x, y).item(),
        "tensors": [{"name": n, "shape": list(s), "gradient": gradient[n]}
                    for n, s in table()],
        "weights_after_sgd": {n: w[n].flatten().tolist() for n in RECORDED},
    }


def write(record, out):
    """JSON with one tensor a line, so that a change can be read as a difference."""
    compact = {"separators": (",", ":")}
    lines = []
    for key, value in record.items():
        if key == "tensors":
            value = ",\n".join(json.dumps(row, **compact) for row in value)
            value = f"[\n{value}]"
        elif key == "weights_after_sgd":
            value = ",\n".join(f"{json.dumps(n)}:{json.dumps(v, **compact)}"
                               for n, v in value.items())
            value = f"{{\n{value}}}"
        else:
            value = json.dumps(value, **compact)
        lines.append(f"{json.dumps(key)}:{value}")
    out.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    write(record(), sys.stdout)
