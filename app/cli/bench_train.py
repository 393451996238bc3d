"""Times training steps of a decoder or a vision transformer in PyTorch, for `attention-cli bench train` to compare its own with.

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

LAYERS, HEADS, WIDTH, CONTEXT, BATCH, VOCABULARY, PATCH_VALUES, THREADS, STEPS = map(int, sys.argv[1:])
WARM_UP_STEPS = 2
IS_CAUSAL = PATCH_VALUES == 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, hidden):
        parts = self.query_key_value(self.norm1(x)).split(WIDTH, 2)
        q, k, v = (part.view(BATCH, CONTEXT, HEADS, -1).transpose(1, 2) for part in parts)  # [B,T,C] -> [B,H,T,D]
        if hasattr(functional, "scaled_dot_product_attention"):
            z = functional.scaled_dot_product_attention(q, k, v, is_causal=IS_CAUSAL)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
            z = torch.softmax(scores.masked_fill(hidden, float("-inf")) if IS_CAUSAL else scores, -1) @ v
        x = x + self.out(z.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("hidden", torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x, self.hidden)
        return self.norm(x) @ self.tokens.weight.T


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.head = nn.Linear(PATCH_VALUES, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.cls, self.positions = nn.Parameter(torch.zeros(1, 1, WIDTH)), nn.Parameter(torch.zeros(CONTEXT, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, patches):
        x = torch.cat([self.cls.expand(BATCH, -1, -1), self.patches(patches)], 1) + self.positions
        for block in self.blocks:
            x = block(x, None)
        return self.head(self.norm(x)[:, 0])


torch.set_num_threads(THREADS)
torch.manual_seed(0)
if IS_CAUSAL:
    model = Decoder()
    inputs, targets = torch.randint(0, VOCABULARY, (2, BATCH, CONTEXT))
else:
    model = VisionTransformer()
    inputs, targets = torch.randn(BATCH, CONTEXT - 1, PATCH_VALUES), torch.randint(0, VOCABULARY, (BATCH,))
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step():
    optimiser.zero_grad()
    loss = functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def blas_libraries():
    """Files of matrix libraries in this process; none if PyTorch has its own built in."""
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps}
    return sorted(file for file in files if re.search("blas|mkl|blis", os.path.basename(file)))


seconds = []
for index in range(WARM_UP_STEPS + STEPS):
    start = time.perf_counter()
    step()
    if index >= WARM_UP_STEPS:
        seconds.append(time.perf_counter() - start)
print(json.dumps({"version": torch.__version__, "blas": blas_libraries(), "seconds": seconds}))
