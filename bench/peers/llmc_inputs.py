#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs for llm.c and weft: a GPT-2 checkpoint and a token file in llm.c's formats.

    llmc_inputs.py FOLDER          writes FOLDER/gpt2.bin (498 MB) and FOLDER/tokens.bin

The weights are drawn as for training (deviation 0.02, gains 1, biases 0) from a block of
normal values that repeats, since only their size matters to the speed; the tokens are
random. Files that are there already are kept.
"""
import array
import os
import random
import sys

POSITIONS, VOCAB, LAYERS, HEADS, HIDDEN, PADDED = 1024, 50257, 12, 12, 768, 50304
TOKENS = 1 << 20
BLOCK = 1 << 20


def header(*values):
    return array.array("i", list(values) + [0] * (256 - len(values)))


def tensors():
    """(kind, elements) in the order of the checkpoint, each stacked over the layers."""
    h, n = HIDDEN, LAYERS
    yield "normal", PADDED * h
    yield "normal", POSITIONS * h
    yield "one", n * h
    yield "zero", n * h
    yield "normal", n * 3 * h * h
    yield "zero", n * 3 * h
    yield "normal", n * h * h
    yield "zero", n * h
    yield "one", n * h
    yield "zero", n * h
    yield "normal", n * 4 * h * h
    yield "zero", n * 4 * h
    yield "normal", n * 4 * h * h
    yield "zero", n * h
    yield "one", h
    yield "zero", h


def write_checkpoint(f):
    draw = random.Random(1).gauss
    block = {"normal": array.array("f", (draw(0, 0.02) for _ in range(BLOCK))),
             "one": array.array("f", [1.0]) * BLOCK,
             "zero": array.array("f", [0.0]) * BLOCK}
    header(20240326, 3, POSITIONS, VOCAB, LAYERS, HEADS, HIDDEN, PADDED).tofile(f)
    for kind, n in tensors():
        for done in range(0, n, BLOCK):
            block[kind][:min(BLOCK, n - done)].tofile(f)


def write_tokens(f):
    draw = random.Random(2).randrange
    header(20240520, 1, TOKENS).tofile(f)
    array.array("H", (draw(VOCAB) for _ in range(TOKENS))).tofile(f)


def create(path, write):
    if os.path.exists(path):
        return
    with open(path + ".part", "wb") as f:
        write(f)
    os.rename(path + ".part", path)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    create(os.path.join(sys.argv[1], "gpt2.bin"), write_checkpoint)
    create(os.path.join(sys.argv[1], "tokens.bin"), write_tokens)


if __name__ == "__main__":
    main()
