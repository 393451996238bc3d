"""PyTorch's side of `./dev bench peers`: a process that waits for work and does it, one request at a time.

usage: pytorch.py DEVICE        cpu or cuda

First prints what it is, as one line of JSON. Then reads requests from standard input, a line of JSON each, such as
{"what": "matmul"}, and answers each with a line of JSON: what it measured, by name. Every figure is of a warm process.
"""
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "bench"))
from bench_train import attention, blas_libraries, causal, finish, seconds_of, training_step  # ends with 3 where PyTorch is missing

import torch
from torch.nn import functional

NO_CARD = 4  # the exit code where PyTorch cannot use a graphics card

def median(seconds):
    """The larger of the two in the middle where their number is even, as in the program that this is compared with."""
    return statistics.median_high(seconds)


def matmul():
    x, w, y = (torch.randn(512, 512) for _ in range(3))
    return {"GFLOP/s": 2 * 512**3 / median(seconds_of(lambda: torch.mm(x, w, out=y), 15)) / 1e9}


def causal_attention():
    q, k, v, direction = (torch.randn(1, 8, 2048, 64) for _ in range(4))  # [B,H,T,D]
    hidden = causal(2048)
    learned = [tensor.clone().requires_grad_() for tensor in (q, k, v)]

    def forward():
        with torch.inference_mode():
            attention(q, k, v, hidden)

    def both():
        torch.autograd.grad(attention(*learned, hidden), learned, direction)

    return {"forward ms": median(seconds_of(forward, 5)) * 1e3, "both ms": median(seconds_of(both, 5)) * 1e3}


def lstm():
    network, x = torch.nn.LSTM(256, 256, batch_first=True), torch.randn(32, 128, 256, requires_grad=True)
    return lambda: network(x)[0], [x, *list(network.parameters())[:3]]  # both biases have one gradient


def convolution(batch, width, taps, groups, padding):
    """Of rows of channels; PyTorch keeps the channels before the rows, and lays them out as it likes best."""
    rows = 1024
    layer, x = torch.nn.Conv1d(width, width, taps, groups=groups, padding=padding), torch.randn(batch, width, rows, requires_grad=True)
    return lambda: layer(x)[..., :rows], [x, *layer.parameters()]


def experts():
    x, w = torch.randn(4096, 256, requires_grad=True), torch.randn(8, 1024, 256, requires_grad=True)
    return lambda: torch.cat([rows @ matrix.T for rows, matrix in zip(x.chunk(8), w)]), [x, w]


def learning(build):
    """Seconds of a result and its gradients, the median of several."""
    forward, sources = build()
    direction = torch.randn(forward().shape)
    return {"ms": median(seconds_of(lambda: torch.autograd.grad(forward(), sources, direction), 9)) * 1e3}


OPERATIONS = {"lstm": lstm, "causal-convolution": lambda: convolution(8, 512, 4, 512, 3),
              "convolution": lambda: convolution(8, 128, 3, 1, 1), "experts": experts}


class Gpt2:
    """A model of GPT-2 small's shape with random parameters, which keeps the keys and values of the tokens before."""

    LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257

    def __init__(self):
        def random(*shape):
            return torch.randn(shape) * 0.02

        def linear(outputs, inputs):
            return random(outputs, inputs), random(outputs)

        C = self.WIDTH
        self.tokens, self.positions = random(self.VOCABULARY, C), random(self.CONTEXT, C)
        self.layers = [
            {"query_key_value": linear(3 * C, C), "out": linear(C, C), "up": linear(4 * C, C), "down": linear(C, 4 * C),
             "norm1": (torch.ones(C), torch.zeros(C)), "norm2": (torch.ones(C), torch.zeros(C))}
            for _ in range(self.LAYERS)
        ]
        self.norm, self.no_bias = (torch.ones(C), torch.zeros(C)), torch.zeros(self.VOCABULARY)
        self.keys, self.values = torch.zeros(2, self.LAYERS, self.HEADS, self.CONTEXT, C // self.HEADS)
        self.hidden = causal(self.CONTEXT)
        self.length = 0
        self.one_row = self.fastest_for_one_row()

    def fastest_for_one_row(self):
        """How to multiply one row with a matrix: which way is faster depends on the matrix library."""
        rates = {}
        for way in 3 * (functional.linear, matrix_times_vector):
            self.one_row = way
            rates[way] = max(rates.get(way, 0), self.decode_rate(4))
        return max(rates, key=rates.get)

    def linear(self, x, parameters):
        return (self.one_row if len(x) == 1 else functional.linear)(x, *parameters)

    def feed(self, tokens):
        """The logits of the token after the last. @param tokens [T]  @return [V]"""
        T, C, start = len(tokens), self.WIDTH, self.length
        end = self.length = start + T
        x = self.tokens[tokens] + self.positions[start:end]  # [T,C]
        for layer, keys, values in zip(self.layers, self.keys, self.values):
            q, k, v = self.linear(functional.layer_norm(x, (C,), *layer["norm1"]), layer["query_key_value"]).view(
                T, 3, self.HEADS, -1).permute(1, 2, 0, 3)  # [3,H,T,D]
            keys[:, start:end], values[:, start:end] = k, v
            # A text is only fed as a whole: one token sees all of those before.
            z = attention(q, keys[:, :end], values[:, :end], self.hidden[:T, :T] if T > 1 else None)
            x = x + self.linear(z.transpose(0, 1).reshape(T, C), layer["out"])
            x = x + self.linear(functional.gelu(
                self.linear(functional.layer_norm(x, (C,), *layer["norm2"]), layer["up"]), approximate="tanh"), layer["down"])
        return self.linear(functional.layer_norm(x[-1:], (C,), *self.norm), (self.tokens, self.no_bias))[0]

    def decode_rate(self, count):
        """Tokens per second of writing after one token, with 4 that are not counted."""
        self.length = 0
        logits = self.feed(torch.tensor([1]))
        for index in range(4 + count):
            if index == 4:
                finish()
                start = time.perf_counter()
            logits = self.feed(logits.argmax(-1, keepdim=True))
        finish()
        return count / (time.perf_counter() - start)

    def prefill_rate(self, count):
        tokens = torch.arange(count) * 7919 % self.VOCABULARY

        def prefill():
            self.length = 0
            self.feed(tokens)

        return count / median(seconds_of(prefill, 2))


def matrix_times_vector(x, weight, bias):
    return torch.addmv(bias, weight, x[0])[None]


class Worker:
    def __init__(self):
        self.model = None
        self.steps = {}

    def train(self, sizes, steps):
        if tuple(sizes) not in self.steps:
            self.steps[tuple(sizes)] = training_step(*sizes)
        return {"ms": median(seconds_of(self.steps[tuple(sizes)], steps)) * 1e3}

    def gpt2(self):
        with torch.inference_mode():
            self.model = self.model or Gpt2()
            return {"decode tokens/s": self.model.decode_rate(24), "prefill tokens/s": self.model.prefill_rate(512),
                    "one row": self.model.one_row.__name__}

    def answer(self, what, **arguments):
        return {"matmul": matmul, "attention": causal_attention, "gpt2": self.gpt2, "train": self.train,
                "operation": lambda name: learning(OPERATIONS[name])}[what](**arguments)


def use_card():
    """Makes tensors on the graphics card from now on. @return its name"""
    if not (torch.cuda.is_available() and hasattr(torch, "set_default_device")):
        sys.exit(NO_CARD)
    torch.set_default_device("cuda")
    return torch.cuda.get_device_name()


def main():
    card = use_card() if sys.argv[1] == "cuda" else None
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))  # loads the matrix library
    print(json.dumps({"version": torch.__version__, "blas": blas_libraries(), "threads": torch.get_num_threads(), "card": card,
                      "has fused attention": hasattr(functional, "scaled_dot_product_attention")}), flush=True)
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker.answer(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
