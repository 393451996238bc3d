#!/usr/bin/python3
"""Writes long_text.txt: the logits of small models after texts that are longer than 4,096 tokens, in double, by reference.py.

A line is the name of a model, a row and its logits.
"""
import pathlib

import torch

import reference

HERE = pathlib.Path(__file__).parent
LENGTH, ROWS, QUERIES = 4500, (4095, 4096, 4499), 250


def attend(hooks, layer, q, k, v, scale, seen, frequencies):
    """reference.attend() for some queries at a time, without hooks: all patterns together take gigabytes."""
    q, k = reference.rotate(q, frequencies), reference.rotate(k, frequencies)
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    z = []
    for rows, visible in zip(q.split(QUERIES), seen.split(QUERIES)):
        pattern = torch.softmax((torch.einsum("thd,shd->hts", rows, k) * scale).masked_fill(~visible, reference.MASKED), -1)
        z.append(torch.einsum("hts,shd->thd", pattern, v))
    return torch.cat(z).reshape(q.shape[0], -1)


def main():
    reference.attend = attend
    lines = []
    for name in ("llama_gqa", "mistral"):
        model = reference.Model(HERE / name)
        tokens = [(i * i * 7 + 3 * i + 1) % model.config["vocab_size"] for i in range(LENGTH)]
        logits = model.run(tokens)["logits"]
        lines += [" ".join([name, str(row), *map(repr, logits[row].tolist())]) + "\n" for row in ROWS]
    (HERE / "long_text.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
