"""Swin in plain torch operations, as an implementation independent of the engine: windows by rolling and cutting the grid.

Follows transformers' modeling_swin.py, and returns the tensors it met under the engine's hook names. Patterns are
[windows, head, query, key], windows row by row of the shifted grid.
"""
import torch
from torch.nn import functional


def windows_of(x, side):
    """[rows, columns, C] -> [windows, side*side, C]"""
    rows, columns, width = x.shape
    x = x.view(rows // side, side, columns // side, side, width)
    return x.permute(0, 2, 1, 3, 4).reshape(-1, side * side, width)


def grid_of(windows, side, rows, columns):
    width = windows.shape[-1]
    x = windows.view(rows // side, columns // side, side, side, width)
    return x.permute(0, 2, 1, 3, 4).reshape(rows, columns, width)


def hidden(rows, columns, side, shift):
    """[windows, side*side, side*side]: -100 where two places come from different edges."""
    region = torch.zeros(rows, columns, 1)
    strips = (slice(0, -side), slice(-side, -shift), slice(-shift, None))
    for number, (down, right) in enumerate((d, r) for d in strips for r in strips):
        region[down, right] = number
    regions = windows_of(region, side)[:, :, 0]
    return torch.where(regions[:, None, :] == regions[:, :, None], 0.0, -100.0)


class SwinModel:
    """config: config.json; weights: {name: tensor} as in the file."""

    def __init__(self, config, weights, dtype=torch.float64):
        self.config = config
        self.weights = {name: tensor.to(dtype) for name, tensor in weights.items()}
        self.names = {"layers": sum(config["depths"])}

    def get(self, name):
        return self.weights.get("swin." + name, self.weights.get(name))

    def linear(self, x, name):
        return functional.linear(x, self.get(name + ".weight"), self.get(name + ".bias"))

    def norm(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.get(name + ".weight"), self.get(name + ".bias"), self.config["layer_norm_eps"])

    def bias(self, prefix, side, heads):
        """[heads, side*side, side*side] from the table, by the coordinates of both places."""
        places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        way = (places[:, :, None] - places[:, None, :]) + side - 1
        rows = way[0] * (2 * side - 1) + way[1]
        return self.get(prefix + "attention.self.relative_position_bias_table")[rows.flatten()].view(side**2, side**2, heads).permute(2, 0, 1)

    def attention(self, hooks, at, prefix, x, heads, block):
        """x [rows, columns, C], normed."""
        rows, columns, width = x.shape
        side, shift = self.config["window_size"], self.config["window_size"] // 2 if block % 2 else 0
        if min(rows, columns) <= side:
            side, shift = min(rows, columns), 0
        x = functional.pad(x, (0, 0, 0, -columns % side, 0, -rows % side))
        tall, wide = x.shape[:2]
        windows = windows_of(torch.roll(x, (-shift, -shift), (0, 1)) if shift else x, side)
        q, k, v = (self.linear(windows, f"{prefix}attention.self.{part}").view(*windows.shape[:2], heads, -1).transpose(1, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias(prefix, side, heads)
        if shift:
            scores = scores + hidden(tall, wide, side, shift)[:, None].to(scores.dtype)
        pattern = hooks[at + "attn.hook_pattern"] = torch.softmax(scores, -1)
        z = (pattern @ v).transpose(1, 2).reshape(windows.shape)
        out = grid_of(self.linear(z, prefix + "attention.output.dense"), side, tall, wide)
        if shift:
            out = torch.roll(out, (shift, shift), (0, 1))
        return out[:rows, :columns]

    def run(self, pixels):
        """pixels [channels, height, width]; returns {hook: tensor}."""
        hooks = {}
        weight = self.get("embeddings.patch_embeddings.projection.weight")
        x = functional.conv2d(pixels[None].to(weight.dtype), weight, self.get("embeddings.patch_embeddings.projection.bias"), stride=weight.shape[-1])
        x = self.norm(x[0].permute(1, 2, 0), "embeddings.norm")  # [rows, columns, C]
        hooks["hook_embed"] = x.flatten(0, 1)
        positions = self.get("embeddings.position_embeddings")
        if positions is not None:
            hooks["hook_pos_embed"] = positions[0]
            x = x + positions[0].view(x.shape)
        layer = 0
        for stage, (depth, heads) in enumerate(zip(self.config["depths"], self.config["num_heads"])):
            for block in range(depth):
                at, prefix = f"blocks.{layer}.", f"encoder.layers.{stage}.blocks.{block}."
                hooks[at + "hook_resid_pre"] = x.flatten(0, 1)
                added = self.attention(hooks, at, prefix, self.norm(x, prefix + "layernorm_before"), heads, block)
                hooks[at + "hook_attn_out"] = added.flatten(0, 1)
                x = x + added
                hooks[at + "hook_resid_mid"] = x.flatten(0, 1)
                inner = functional.gelu(self.linear(self.norm(x, prefix + "layernorm_after"), prefix + "intermediate.dense"))
                added = self.linear(inner, prefix + "output.dense")
                hooks[at + "hook_mlp_out"] = added.flatten(0, 1)
                x = x + added
                hooks[at + "hook_resid_post"] = x.flatten(0, 1)
                layer += 1
            prefix = f"encoder.layers.{stage}.downsample."
            if stage + 1 < len(self.config["depths"]):
                x = functional.pad(x, (0, 0, 0, x.shape[1] % 2, 0, x.shape[0] % 2))
                x = torch.cat([x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]], -1)
                x = functional.linear(self.norm(x, prefix + "norm"), self.get(prefix + "reduction.weight"))
                hooks[f"blocks.{layer}.hook_merged"] = x.flatten(0, 1)
        x = hooks["ln_final.hook_normalized"] = self.norm(x.flatten(0, 1), "layernorm")
        hooks["hook_pooled"] = x.mean(0)[None]
        if "classifier.weight" in self.weights:
            hooks["logits"] = self.linear(hooks["hook_pooled"], "classifier")
        return hooks
