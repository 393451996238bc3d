#!/usr/bin/python3
"""Writes analysis.safetensors beside golden vision models: what lenses, attributions, sweeps and interventions give, in plain torch."""
import json
import math
import pathlib

import numpy
import torch
from torch.nn import functional

import safetensors_file
from swin_reference import SwinModel, hidden, windows_of
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


def circuits(model, hooks, out):
    """What a head looks for and writes by its matrices: without positions, biases, and the division of norms."""
    prefix, heads = model.names["block"].format(LAYER), model.names["heads"]

    def centred(x):
        return x - x.mean(-1, keepdim=True)

    x = centred(hooks["hook_embed"]) * model.get(prefix + model.names["norm1"] + ".weight")
    if "qkv" in model.names:
        q, k, v = model.get(prefix + model.names["qkv"] + ".weight").chunk(3)
    else:
        q, k, v = (model.get(prefix + model.names[part] + ".weight") for part in "qkv")
    q, k, v = (x @ matrix.chunk(heads)[HEAD].T for matrix in (q, k, v))
    out["circuit.scores"] = q @ k.T * q.shape[-1] ** -0.5
    o, scale = model.get(prefix + model.names["o"] + ".weight").chunk(heads, -1)[HEAD], model.get(prefix + model.names["scale1"])
    two = any(name in model.weights for name in ("cls_classifier.weight", "head_dist.weight"))
    head = next(model.weights[name] for name in ("cls_classifier.weight", "classifier.weight", "head.weight") if name in model.weights)
    norm = model.get("fc_norm.weight")
    readout = centred(head[:, :x.shape[-1]] * (model.get(model.names["norm"] + ".weight") if norm is None else norm)) / (2 if two else 1)
    out["circuit.writes"] = v @ (readout @ (o if scale is None else scale[:, None] * o)).T


def patches_of(pixels, size):
    """Sums over patches. pixels [channels, height, width]; returns [patches]."""
    channels, height, width = pixels.shape
    return pixels.reshape(channels, height // size, size, width // size, size).sum((0, 2, 4)).flatten()


def gradients(model, pixels, label, size, out):
    def slope(share):
        x = (pixels * share).requires_grad_()
        return torch.autograd.grad(logits_of(model, x)[label], x)[0]

    out["gradient_times_input"] = patches_of(slope(1) * pixels, size)
    nodes, weights = numpy.polynomial.legendre.leggauss(STEPS)  # from -1 to 1
    out["integrated_gradients"] = patches_of(sum(w / 2 * slope((n + 1) / 2) * pixels for n, w in zip(nodes, weights)), size)
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


def uniform(seed, counter):
    """As engine/core/rng.h: Philox4x32-10."""
    words, key = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [b >> 32 ^ words[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ words[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return ((words[0] << 32 | words[1]) >> 11) * 2.0**-53


def shuffled_order(count, seed=1):
    order = list(range(count))
    for left in range(count, 1, -1):
        chosen = int(uniform(seed, left) * left)
        order[left - 1], order[chosen] = order[chosen], order[left - 1]
    return order


def cut(pixels, size):
    """[channels, height, width] -> [rows, columns, numbers of a patch]"""
    channels, height, width = pixels.shape
    return pixels.reshape(channels, height // size, size, width // size, size).permute(1, 3, 0, 2, 4).flatten(2)


def shuffled_pixels(pixels, size):
    patches = cut(pixels, size)
    rows, columns = patches.shape[:2]
    patches = patches.flatten(0, 1)[shuffled_order(rows * columns)].view(rows, columns, len(pixels), size, size)
    return patches.permute(2, 0, 3, 1, 4).reshape(pixels.shape)


def head_kinds(rows, grid, before, classes, looks):
    """Scores of one layer's heads. rows: of each patch (token, weights [H,n], weights of the shuffled picture, tokens looked at or -1, seen or not);
    looks: [patches of the layer, numbers]; returns [H,9] and the offsets [H,2]."""
    heads = rows[0][1].shape[0]
    ways = {}
    sums = torch.zeros(9, heads, dtype=torch.float64)
    pairs, spreads = [], []
    for query, weights, others, keys, seen in rows:
        own_row, own_column = divmod(query - before, grid[1])
        near, line = torch.zeros(heads).double(), torch.zeros(heads).double()
        for i, key in enumerate(keys):
            if key == query:
                sums[0] += weights[:, i]
            elif 0 <= key < classes:
                sums[1] += weights[:, i]
            elif 0 <= key < before:
                sums[2] += weights[:, i]
            elif key >= 0:
                row, column = divmod(key - before, grid[1])
                way = row - own_row, column - own_column
                ways[way] = ways.get(way, 0) + weights[:, i]
                if abs(way[0]) <= 1 and abs(way[1]) <= 1:
                    near += weights[:, i]
                elif 0 in way:
                    line += weights[:, i]
        sums[4] += near
        sums[5] += line
        sums[6] += torch.minimum(weights, others).sum(-1)  # rows sum to 1
        if sum(seen) > 1:
            entropy = -(weights * torch.where(weights > 0, weights, torch.ones_like(weights)).log()).sum(-1)
            spreads.append(entropy / math.log(sum(seen)))
        others = [i for i, key in enumerate(keys) if key >= before and key != query and seen[i]]
        if others:
            alike = -((looks[[keys[i] - before for i in others]] - looks[query - before]) ** 2).mean(-1).sqrt()
            mine = weights[:, others]
            pairs.append(torch.cat([mine - mine.mean(-1, keepdim=True), (alike - alike.mean())[None]]))
    names = list(ways)
    table = torch.stack([ways[way] for way in names])  # [ways, H]
    sums[3], best = table.max(0)
    sums /= len(rows)
    sums[8] = torch.stack(spreads).mean(0)
    pairs = torch.cat(pairs, 1)
    sums[7] = ((pairs[:-1] * pairs[-1]).sum(-1) / (pairs[:-1].norm(dim=-1) * pairs[-1].norm())).clamp(min=0)
    for kind, is_there in ((1, classes > 0), (2, before > classes)):
        if not is_there:
            sums[kind] = math.nan
    return sums.T, torch.tensor([names[at] for at in best])


AREAS, REACH = 7, 3  # as engine/analysis/patch_head_prints.h


def areas_of(patches):
    """What of each patch lies in each area: both cut into pieces that divide them. [patches, areas]"""
    sides = []
    for count in patches:
        areas = min(count, AREAS)
        pieces = torch.arange(count * areas)
        sides.append(torch.stack([torch.bincount(pieces[pieces // areas == patch] // count, minlength=areas) for patch in range(count)]).double() / areas)
    return torch.kron(*sides)


def head_prints(rows, grid, before, classes, patches):
    """Of one layer's heads: weights between areas [H, areas, areas + 2] and by offset [H, 50]. patches: rows and columns of the picture."""
    heads, tokens = rows[0][1].shape[0], grid[0] * grid[1]
    full, prefix = torch.zeros(heads, tokens, tokens).double(), torch.zeros(heads, tokens, 2).double()
    offsets = torch.zeros(heads, (2 * REACH + 1) ** 2 + 1).double()
    for query, weights, _, keys, _ in rows:
        own = query - before
        for i, key in enumerate(keys):
            if key < before:
                prefix[:, own, 0 if 0 <= key < classes else 1] += weights[:, i]
                offsets[:, -1] += weights[:, i]
                continue
            full[:, own, key - before] += weights[:, i]
            down, right = ((key - before) // grid[1] - own // grid[1], (key - before) % grid[1] - own % grid[1])
            is_near = max(abs(down), abs(right)) <= REACH
            offsets[:, (down + REACH) * (2 * REACH + 1) + right + REACH if is_near else -1] += weights[:, i]
    merged = -(-patches[0] // grid[0])  # patches to a token, on a side
    token_of = (torch.arange(patches[0])[:, None] // merged * grid[1] + torch.arange(patches[1]) // merged).flatten()
    members = torch.bincount(token_of, minlength=tokens)
    by_patch = (full / members)[:, token_of][:, :, token_of]
    areas = areas_of(patches)
    between = areas.T @ torch.cat([by_patch @ areas, prefix[:, token_of]], -1) / areas.sum(0)[:, None]
    return between, offsets / len(rows)


def prints(layers, patches, out):
    found = [head_prints(*layer[:4], patches) for layer in layers]
    weights, offsets = (torch.cat([layer[part].flatten(1) for layer in found]) for part in (0, 1))
    out["prints.weights"] = torch.stack([layer[0][0] for layer in found])  # of the first head of each layer
    out["prints.offsets"] = offsets
    areas = min(patches[0], AREAS) * min(patches[1], AREAS)
    out["prints.alike"] = (weights.sqrt() @ weights.sqrt().T / areas + offsets.sqrt() @ offsets.sqrt().T) / 2


def kinds(layers, out):
    found = [head_kinds(*layer) for layer in layers]
    out["kinds.scores"] = torch.cat([scores for scores, _ in found])
    out["kinds.ways"] = torch.cat([ways for _, ways in found]).int()


def vit_layers(model, pixels, size, before):
    """What head_kinds() is given, layer by layer."""
    plain, other = model.run(pixels), model.run(shuffled_pixels(pixels, size))
    looks = cut(pixels, size)
    classes = sum(model.get(model.names[name]) is not None for name in ("cls", "dist"))
    for n in range(model.names["layers"]):
        pattern, shuffled = (hooks[f"blocks.{n}.attn.hook_pattern"] for hooks in (plain, other))
        tokens = pattern.shape[-1]
        rows = [(query, pattern[:, query], shuffled[:, query], list(range(tokens)), [True] * tokens) for query in range(before, tokens)]
        yield rows, looks.shape[:2], before, classes, looks.flatten(0, 1)


def swin_layers(model, pixels, size):
    plain, other = model.run(pixels), model.run(shuffled_pixels(pixels, size))
    looks, layer = cut(pixels, size), 0
    for depth in model.config["depths"]:
        tall, wide = looks.shape[:2]
        for block in range(depth):
            side, shift = model.config["window_size"], model.config["window_size"] // 2 if block % 2 else 0
            if min(tall, wide) <= side:
                side, shift = min(tall, wide), 0
            tokens = functional.pad(torch.arange(tall * wide).view(tall, wide), (0, -wide % side, 0, -tall % side), value=-1)
            regions = hidden(*tokens.shape, side, shift) if shift else torch.zeros(tokens.numel() // side**2, side**2, side**2)
            tokens = windows_of(torch.roll(tokens, (-shift, -shift), (0, 1))[:, :, None], side)[:, :, 0]
            pattern, shuffled = (hooks[f"blocks.{layer}.attn.hook_pattern"] for hooks in (plain, other))
            rows = [(int(tokens[window, place]), pattern[window, :, place], shuffled[window, :, place], tokens[window].tolist(),
                     (regions[window, place] == 0).tolist()) for window in range(len(tokens)) for place in range(side**2) if tokens[window, place] >= 0]
            yield rows, (tall, wide), 0, 0, looks.flatten(0, 1)
            layer += 1
        # a merged token has the mean of its patches, of as many as there are
        ones = torch.ones(1, tall, wide, dtype=looks.dtype)
        total, count = (functional.avg_pool2d(functional.pad(x, (0, wide % 2, 0, tall % 2))[None], 2)[0] * 4 for x in (looks.permute(2, 0, 1), ones))
        assert len(model.config["depths"]) == 2  # a second merge would have to weigh
        looks = (total / count).permute(1, 2, 0)


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


def write(folder, out):
    tensors = {name: tensor.detach().float() if tensor.is_floating_point() else tensor for name, tensor in out.items()}
    safetensors_file.write(folder / "analysis.safetensors", tensors)
    print(folder.name, json.dumps({name: list(tensor.shape) for name, tensor in out.items()}))


for name in ("swin", "swin_padded"):
    folder = HERE / name
    model = PatchedSwin(json.loads((folder / "config.json").read_text()), safetensors_file.read(folder / "model.safetensors"))
    pixels = safetensors_file.read(folder / "golden.safetensors")["pixels"].double()
    other_pixels = (pixels.flip(2) * 0.8 + 0.1).float()
    plain = SwinModel(model.config, model.weights)
    other = plain.run(other_pixels.double())
    out = {"other_pixels": other_pixels}
    layers = list(swin_layers(plain, pixels, model.config["patch_size"]))
    kinds(layers, out)
    prints(layers, [extent // model.config["patch_size"] for extent in pixels.shape[1:]], out)
    for layer in range(model.names["layers"]):
        stream = other[f"blocks.{layer}.hook_resid_pre"]
        out[f"patched.{layer}"] = torch.stack([model.at(layer, token, stream[token]).run(pixels)["logits"][0] for token in range(len(stream))])
    write(folder, out)

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
    circuits(model, hooks, out)
    gradients(model, pixels, label, size, out)
    interventions(model, pixels, other_pixels.double(), label, out)
    layers = list(vit_layers(model, pixels, size, before))
    kinds(layers, out)
    prints(layers, [extent // size for extent in pixels.shape[1:]], out)
    write(folder, out)
