#!/usr/bin/python3
"""Writes ops/*.safetensors: operations that read sequences, with their gradients, computed by PyTorch in float64.

Each file holds inputs by name, results as "out NAME", the factors of the results in the loss as "direction NAME", and the gradients of
that loss as "d NAME". Random numbers are those of the files, as rounded to float32. Made with PyTorch 1.13.0.
"""
import pathlib

import numpy as np
import torch

import safetensors_file

HERE = pathlib.Path(__file__).parent / "ops"


class Case:
    """Inputs with gradients, and results."""

    def __init__(self, seed):
        self.random, self.inputs, self.tensors = np.random.RandomState(seed), {}, {}

    def numbers(self, *shape, scale=1.0):
        return torch.tensor(self.random.normal(0, scale, shape).astype(np.float32)).double()

    def real(self, name, *shape, scale=1.0):
        self.inputs[name] = self.numbers(*shape, scale=scale).requires_grad_()
        return self.inputs[name]

    def integers(self, name, values):
        self.tensors[name] = torch.tensor(values, dtype=torch.float32)  # the reader knows only real numbers

    def write(self, file, results):
        directions = {name: self.numbers(*result.shape) for name, result in results.items()}
        loss = sum((result * directions[name]).sum() for name, result in results.items())
        gradients = torch.autograd.grad(loss, list(self.inputs.values()))
        tensors = dict(self.inputs)
        tensors |= {f"out {name}": result for name, result in results.items()}
        tensors |= {f"direction {name}": direction for name, direction in directions.items()}
        tensors |= {f"d {name}": gradient for name, gradient in zip(self.inputs, gradients)}
        self.tensors |= {name: tensor.detach().float() for name, tensor in tensors.items()}
        safetensors_file.write(HERE / f"{file}.safetensors", self.tensors)


def recurrent(kind, lengths):
    """torch.nn.RNN, LSTM or GRU with all biases, over sequences of which some end early."""
    B, T, C, W = 3, 7, 4, 5
    case = Case(11)
    network = getattr(torch.nn, kind)(C, W, batch_first=True).double()
    for name, parameter in network.named_parameters():
        parameter.data = case.numbers(*parameter.shape, scale=0.5)
        case.inputs[name.replace("_l0", "")] = parameter
    x, h = case.real("x", B, T, C), case.real("h", B, W)
    state = (h[None], case.real("c", B, W)[None]) if kind == "LSTM" else h[None]
    case.integers("lengths", lengths)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, last = network(packed, state)
    hidden, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=T)
    results = {"hidden": hidden, "state": (last[0] if kind == "LSTM" else last)[0]}
    if kind == "LSTM":
        results["cell"] = last[1][0]
    case.write(kind.lower(), results)


def layers(kind):
    """Two layers of torch.nn.RNN, LSTM or GRU, each as wide as its input, from a state of zeros."""
    B, T, C = 2, 9, 5
    case = Case(16)
    network = getattr(torch.nn, kind)(C, C, num_layers=2, batch_first=True).double()
    for name, parameter in network.named_parameters():
        parameter.data = case.numbers(*parameter.shape, scale=0.5)
        case.inputs[name] = parameter
    case.write(f"{kind.lower()}_layers", {"hidden": network(case.real("x", B, T, C))[0]})


def convolutions():
    """torch.nn.functional.conv1d and conv2d; ours have channels last."""
    case, results = Case(12), {}
    for name, channels, outputs, groups, axes in (
            ("dense", 3, 6, 1, [(9, 3, 2, 1, 1)]), ("groups", 4, 6, 2, [(9, 3, 1, 2, 2)]), ("depthwise", 5, 5, 5, [(9, 4, 1, 1, 3)]),
            ("image", 3, 4, 1, [(7, 3, 2, 1, 1), (6, 2, 1, 2, 0)]), ("depthwise image", 6, 6, 6, [(5, 3, 1, 1, 1), (8, 3, 2, 1, 1)])):
        rows, taps, stride, dilation, padding = zip(*axes)
        x, w = case.real(f"{name} x", 2, *rows, channels), case.real(f"{name} w", outputs, channels // groups, *taps)
        convolve = torch.nn.functional.conv1d if len(axes) == 1 else torch.nn.functional.conv2d
        y = convolve(x.movedim(-1, 1), w, case.real(f"{name} b", outputs), stride, padding, dilation, groups).movedim(1, -1)
        results[name] = y[:, :rows[0]] if name == "depthwise" else y  # causal: zeros before the rows alone
    case.write("convolutions", results)


def linear(complex_numbers):
    """h[t] = a[t] h[t-1] + b[t], row after row, over sequences of which some end early."""
    B, T, W, lengths = 3, 70, 6, [70, 41, 3]
    case = Case(13)
    a, b, h = case.real("a", B, T, W, scale=0.6), case.real("b", B, T, W), case.real("h", B, W)
    case.integers("lengths", lengths)
    joined = (lambda x: torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())) if complex_numbers else lambda x: x
    parted = (lambda x: torch.view_as_real(x).flatten(-2)) if complex_numbers else lambda x: x
    state, hidden = joined(h), []
    for t in range(T):
        counts = torch.tensor(lengths)[:, None] > t
        state = torch.where(counts, joined(a)[:, t] * state + joined(b)[:, t], state)
        hidden.append(torch.where(counts, state, torch.zeros_like(state)))
    case.write("linear_complex" if complex_numbers else "linear", {"hidden": parted(torch.stack(hidden, 1)), "state": parted(state)})


def selective():
    """Mamba's state space, row after row, over sequences of which some end early."""
    B, T, W, N, lengths = 2, 45, 5, 3, [45, 33]
    case = Case(14)
    x, step, decay = case.real("x", B, T, W), case.real("step", B, T, W), case.real("decay", W, N)
    step.data, decay.data = step.data.abs(), -decay.data.abs()
    into, out, h, skip = case.real("in", B, T, N), case.real("out", B, T, N), case.real("h", B, N, W), case.real("skip", W)
    case.integers("lengths", lengths)
    state, rows = h, []
    for t in range(T):
        counts = torch.tensor(lengths)[:, None, None] > t
        keep = torch.exp(step[:, t, None, :] * decay.T)  # [B,N,W]
        state = torch.where(counts, keep * state + (step[:, t] * x[:, t])[:, None, :] * into[:, t, :, None], state)
        rows.append(torch.where(counts[:, 0], (state * out[:, t, :, None]).sum(1) + skip * x[:, t], torch.zeros(())))
    case.write("selective", {"y": torch.stack(rows, 1), "state": state})


def experts():
    """Each row goes to the two experts that its gate likes best, and takes the mean of their answers by softmax."""
    R, C, F, E, k = 23, 6, 9, 5, 2
    case = Case(15)
    x, gate = case.real("x", R, C), case.real("gate", E, C)
    up, down = case.real("up", E, F, C, scale=0.5), case.real("down", E, C, F, scale=0.5)
    values, chosen = torch.topk(x @ gate.T, k)
    answers = torch.einsum("rkcf,rkf->rkc", down[chosen], torch.tanh(torch.einsum("rkfc,rc->rkf", up[chosen], x)))
    case.write("experts", {"y": (torch.softmax(values, -1)[..., None] * answers).sum(1)})


HERE.mkdir(exist_ok=True)
for kind in ("RNN", "LSTM", "GRU"):
    recurrent(kind, [5, 7, 2])
    layers(kind)
convolutions()
linear(False)
linear(True)
selective()
experts()
