"""Times training steps of a decoder or a vision transformer in PyTorch, for `./dev bench train` and `./dev bench peers` to
compare ours with.

usage: bench_train.py LAYERS HEADS WIDTH CONTEXT BATCH VOCABULARY PATCH_VALUES THREADS STEPS

PATCH_VALUES is 0 for a decoder. For a vision transformer it is the count of numbers in a patch; CONTEXT then includes the CLS token,
and VOCABULARY is the number of classes.

Prints JSON: the version of PyTorch, the BLAS libraries that it loaded, and the seconds of each step (forward, backward, clipping,
AdamW, reading the loss).
"""
import json
import math
import os
import re
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(3)
from torch import nn
from torch.nn import functional

WARM_UP_STEPS = 2


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, hidden):
        batch, context, width = x.shape
        parts = self.query_key_value(self.norm1(x)).split(width, 2)
        q, k, v = (part.view(batch, context, self.heads, -1).transpose(1, 2) for part in parts)  # [B,T,C] -> [B,H,T,D]
        x = x + self.out(attention(q, k, v, hidden).transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def attention(q, k, v, hidden):
    """Causal attention where `hidden` is given, the pairs that the mask hides; else full. PyTorch fuses it from version 2 on."""
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=hidden is not None)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores if hidden is None else scores.masked_fill(hidden, float("-inf")), -1) @ v


def causal(tokens):
    """The pairs that a causal mask hides. [T,T]"""
    return torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)


class Decoder(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(heads, width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.register_buffer("hidden", causal(context))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x, self.hidden)
        return self.norm(x) @ self.tokens.weight.T


class VisionTransformer(nn.Module):
    def __init__(self, layers, heads, width, context, classes, patch_values):
        super().__init__()
        self.patches, self.head = nn.Linear(patch_values, width), nn.Linear(width, classes)
        self.cls, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(context, width))
        self.blocks = nn.ModuleList([Block(heads, width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, patches):
        x = torch.cat([self.cls.expand(len(patches), -1, -1), self.patches(patches)], 1) + self.positions
        for block in self.blocks:
            x = block(x, None)
        return self.head(self.norm(x)[:, 0])


def training_step(layers, heads, width, context, batch, vocabulary, patch_values):
    """A function that takes one training step on random data and returns the loss."""
    torch.manual_seed(0)
    if patch_values == 0:
        model = Decoder(layers, heads, width, context, vocabulary)
        inputs, targets = torch.randint(0, vocabulary, (2, batch, context))
    else:
        model = VisionTransformer(layers, heads, width, context, vocabulary, patch_values)
        inputs, targets = torch.randn(batch, context - 1, patch_values), torch.randint(0, vocabulary, (batch,))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        return loss.item()

    return step


def finish():
    """Waits for the graphics card, where one is used."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def seconds_of(step, count):
    """The seconds of each of `count` calls, after some that are not counted."""
    seconds = []
    for index in range(WARM_UP_STEPS + count):
        finish()
        start = time.perf_counter()
        step()
        finish()
        if index >= WARM_UP_STEPS:
            seconds.append(time.perf_counter() - start)
    return seconds


def blas_libraries():
    """Files of matrix libraries in this process; none if PyTorch has its own built in."""
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps}
    return sorted(file for file in files if re.search("blas|mkl|blis", os.path.basename(file)))


def main():
    *sizes, threads, steps = map(int, sys.argv[1:])
    torch.set_num_threads(threads)
    seconds = seconds_of(training_step(*sizes), steps)
    print(json.dumps({"version": torch.__version__, "blas": blas_libraries(), "seconds": seconds}))


if __name__ == "__main__":
    main()
