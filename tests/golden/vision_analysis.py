#!/usr/bin/python3
"""Writes analysis.safetensors beside golden vision models: what lenses, attributions, sweeps and interventions give, in plain torch."""
import json
import pathlib

import torch

import safetensors_file
from swin_reference import SwinModel
from vision_reference import VisionModel

HERE = pathlib.Path(__file__).resolve().parent
LAYER, HEAD, TOKEN, KEY, STEPS = 1, 2, 6, 3, 16  # as tests/analysis/vision.cpp has them


def logits_of(model, pixels, changes=None):
    return model.run(pixels, lambda name, value: (changes or {}).get(name, lambda x: x)(value))["logits"][0]


def lens(model, hooks, before, out):
    """The head behind the embedding and each layer, and on each token by itself."""
    streams = [hooks["blocks.0.hook_resid_pre"]] + [hooks[f"blocks.{n}.hook_resid_post"] for n in range(model.names["layers"])]
    for stage, stream in enumerate(streams):
        read = {}
        model.read(read, stream, before)
        out[f"lens.{stage}"] = torch.softmax(read["logits"][0], -1)
        if not model.names["prefix"].startswith("dinov2"):  # whose head reads CLS and the mean at once
            rows = []
            for token in stream:
                alone = {}
                model.read(alone, token.expand(before + 1, -1), before)  # every token is this one
                rows.append(torch.softmax(alone["logits"][0], -1))
            out[f"lens.tokens.{stage}"] = torch.stack(rows)


def attribution(model, hooks, pixels, before, label, out):
    """Each part of the last stream through a head whose norm divides as it did: by autograd through a norm with its divisor detached."""
    stream = hooks[f"blocks.{model.names['layers'] - 1}.hook_resid_post"].detach().requires_grad_()

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        divisor = torch.sqrt((centred**2).mean(-1, keepdim=True) + model.names["epsilon"]).detach()
        return centred / divisor * model.get(name + ".weight") + model.get(name + ".bias")

    whole, read = model.norm, {}
    model.norm = norm
    model.read(read, stream, before)
    model.norm = whole
    logit = read["logits"][0, label]
    (slope,) = torch.autograd.grad(logit, stream)
    parts = {"embed": hooks["hook_embed"], "position": hooks["hook_pos_embed"]}
    for n in range(model.names["layers"]):
        prefix = model.names["block"].format(n)
        z, weight = hooks[f"blocks.{n}.attn.hook_z"], model.get(prefix + model.names["o"] + ".weight")
        for head in range(z.shape[1]):
            alone = torch.zeros_like(z)
            alone[:, head] = z[:, head]
            parts[f"head.{n}.{head}"] = model.scaled(alone.reshape(len(z), -1) @ weight.T, prefix + model.names["scale1"])
        bias = model.get(prefix + model.names["o"] + ".bias").expand(len(z), -1)
        parts[f"bias.{n}"] = model.scaled(bias, prefix + model.names["scale1"])
        parts[f"mlp.{n}"] = hooks[f"blocks.{n}.hook_mlp_out"]
    values = {name: (slope * part).sum() for name, part in parts.items()}
    values["final"] = logit - (slope * stream).sum()
    assert abs(float(sum(values.values()) - hooks["logits"][0, label])) < 1e-9
    out.update({f"attribution.{name}": value.detach()[None] for name, value in values.items()})


def patches_of(pixels, size):
    """Sums over patches. pixels [channels, height, width]; returns [patches]."""
    channels, height, width = pixels.shape
    return pixels.reshape(channels, height // size, size, width // size, size).sum((0, 2, 4)).flatten()


def gradients(model, pixels, label, size, out):
    def slope(share):
        x = (pixels * share).requires_grad_()
        return torch.autograd.grad(logits_of(model, x)[label], x)[0]

    out["gradient_times_input"] = patches_of(slope(1) * pixels, size)
    shares = (torch.arange(STEPS) + 0.5) / STEPS
    out["integrated_gradients"] = patches_of(sum(slope(float(share)) * pixels for share in shares) / STEPS, size)
    out["baseline"] = logits_of(model, pixels * 0)[label][None]


def interventions(model, pixels, other_pixels, label, out):
    hooks, other = model.run(pixels), model.run(other_pixels)
    layers, heads = model.names["layers"], model.names["heads"]

    def changed(changes):
        return logits_of(model, pixels, changes)

    def closed(head):
        def change(z):
            z = z.clone()
            z[:, head] = 0
            return z
        return change

    whole = hooks["logits"][0, label]
    out["effect.heads"] = torch.stack([torch.stack([changed({f"blocks.{n}.attn.hook_z": closed(head)})[label] - whole
                                                    for head in range(heads)]) for n in range(layers)])
    out["effect.mlps"] = torch.stack([changed({f"blocks.{n}.hook_mlp_out": torch.zeros_like})[label] - whole for n in range(layers)])
    out["other.logits"] = other["logits"][0]

    def patched(name, token):
        def change(value):
            value = value.clone()
            value[token] = other[name][token]
            return value
        return {name: change}

    tokens = len(hooks["hook_embed"])
    out["patched"] = torch.stack([torch.stack([changed(patched(f"blocks.{n}.hook_resid_pre", token)) for token in range(tokens)])
                                  for n in range(layers)])
    z, mlp, pattern = f"blocks.{LAYER}.attn.hook_z", "blocks.0.hook_mlp_out", f"blocks.{LAYER}.attn.hook_pattern"

    def mean_head(value):
        value = value.clone()
        value[:, HEAD] = 0.25 * value[:, HEAD] + 0.75 * other[z][:, HEAD].mean(0)
        return value

    def pinned(value):
        value = value.clone()
        value[HEAD] = 0
        value[HEAD, :, KEY] = 1
        return value

    def uniform(value):
        value = value.clone()
        value[HEAD] = 1 / value.shape[-1]
        return value

    def painted(value):
        value = value.clone()
        value[HEAD, TOKEN] = 0
        value[HEAD, TOKEN, KEY], value[HEAD, TOKEN, KEY + 1] = 0.25, 0.75
        return value

    out["changed.mean"] = changed({z: mean_head})
    out["changed.patch"] = changed(patched("blocks.0.hook_resid_post", TOKEN))
    out["changed.steer"] = changed({mlp: lambda value: value + 2 * (other[mlp].mean(0) - hooks[mlp].mean(0))})
    out["changed.pin"] = changed({pattern: pinned})
    out["changed.uniform"] = changed({pattern: uniform})
    out["changed.painted"] = changed({"blocks.0.attn.hook_pattern": painted})  # of the last layer no patch reaches the head


class PatchedSwin(SwinModel):
    """Puts one row of another run into the stream before a layer: the first norm of a block is given that stream itself, which is changed in place."""

    def at(self, layer, token, value):
        depths = self.config["depths"]
        stage = next(stage for stage in range(len(depths)) if layer < sum(depths[:stage + 1]))
        self.block = f"encoder.layers.{stage}.blocks.{layer - sum(depths[:stage])}."
        self.token, self.value = token, value
        return self

    def norm(self, x, name):
        if name == self.block + "layernorm_before":
            x.view(-1, x.shape[-1])[self.token] = self.value
        return super().norm(x, name)


for name in ("swin", "swin_padded"):
    folder = HERE / name
    model = PatchedSwin(json.loads((folder / "config.json").read_text()), safetensors_file.read(folder / "model.safetensors"))
    pixels = safetensors_file.read(folder / "golden.safetensors")["pixels"].double()
    other_pixels = (pixels.flip(2) * 0.8 + 0.1).float()
    other = SwinModel(model.config, model.weights).run(other_pixels.double())
    out = {"other_pixels": other_pixels}
    for layer in range(model.names["layers"]):
        stream = other[f"blocks.{layer}.hook_resid_pre"]
        out[f"patched.{layer}"] = torch.stack([model.at(layer, token, stream[token]).run(pixels)["logits"][0] for token in range(len(stream))])
    safetensors_file.write(folder / "analysis.safetensors", {name: tensor.float() for name, tensor in out.items()})
    print(name, json.dumps({name: list(tensor.shape) for name, tensor in out.items()}))

for name in ("vit", "deit", "dinov2_registers", "timm_vit", "timm_registers"):
    folder = HERE / name
    config = json.loads((folder / "config.json").read_text())
    weights = safetensors_file.read(folder / "model.safetensors")
    golden = safetensors_file.read(folder / "golden.safetensors")
    model = VisionModel(config, weights)
    pixels = golden["pixels"].double()
    other_pixels = (pixels.flip(2) * 0.8 + 0.1).float()
    hooks = model.run(pixels)
    assert (hooks["logits"].float() - golden["logits"]).abs().max() < 1e-6
    size = model.get(model.names["patch"] + ".weight").shape[-1]
    before = len(hooks["hook_embed"]) - pixels.shape[1] // size * (pixels.shape[2] // size)
    label = int(hooks["logits"][0].argmax())
    out = {"class": torch.tensor([label], dtype=torch.int32), "other_pixels": other_pixels}
    lens(model, hooks, before, out)
    attribution(model, hooks, pixels, before, label, out)
    gradients(model, pixels, label, size, out)
    interventions(model, pixels, other_pixels.double(), label, out)
    safetensors_file.write(folder / "analysis.safetensors", {n: t.detach().float() if t.is_floating_point() else t for n, t in out.items()})
    print(name, json.dumps({n: list(t.shape) for n, t in out.items()}))
