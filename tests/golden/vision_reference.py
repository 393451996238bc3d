"""The vision families in plain torch operations, as an implementation independent of the engine.

Follows transformers' modeling_{vit,deit,dinov2,dinov2_with_registers}.py and timm's vision_transformer.py, and returns the tensors it
met under TransformerLens's hook names. Shape letters as in the engine: T tokens (CLS first), H heads, D head width, C model width.
"""
import torch
from torch.nn import functional


def of_hugging_face(config):
    """How a Hugging Face family names its tensors: a prefix for the body, and what lies where in a block."""
    kind = config["model_type"]
    dino = kind.startswith("dinov2")
    return {
        "prefix": kind + ".", "patch": "embeddings.patch_embeddings.projection", "cls": "embeddings.cls_token",
        "dist": "embeddings.distillation_token", "registers": "embeddings.register_tokens", "positions": "embeddings.position_embeddings",
        "block": "encoder.layer.{}.", "norm1": "norm1" if dino else "layernorm_before", "norm2": "norm2" if dino else "layernorm_after",
        "q": "attention.attention.query", "k": "attention.attention.key", "v": "attention.attention.value", "o": "attention.output.dense",
        "scale1": "layer_scale1.lambda1", "scale2": "layer_scale2.lambda1",
        "in": "mlp.fc1" if dino else "intermediate.dense", "out": "mlp.fc2" if dino else "output.dense",
        "gated_in": "mlp.weights_in", "gated_out": "mlp.weights_out", "norm": "layernorm",
        "heads": config["num_attention_heads"], "layers": config["num_hidden_layers"], "epsilon": config["layer_norm_eps"],
        "antialias": kind == "dinov2_with_registers"}


TIMM = {"prefix": "", "patch": "patch_embed.proj", "cls": "cls_token", "dist": "dist_token", "registers": "reg_token", "positions": "pos_embed",
        "block": "blocks.{}.", "norm1": "norm1", "norm2": "norm2", "qkv": "attn.qkv", "o": "attn.proj", "scale1": "ls1.gamma",
        "scale2": "ls2.gamma", "in": "mlp.fc1", "out": "mlp.fc2", "norm": "norm", "epsilon": 1e-6, "antialias": True}


class Hooks(dict):
    """What was met by name; `change(name, value)` gives what goes on in a value's place."""

    def __init__(self, change=None):
        super().__init__()
        self.change = change

    def put(self, name, value):
        self[name] = value if self.change is None else self.change(name, value)
        return self[name]


class VisionModel:
    """config: config.json; weights: {name: tensor} as in the file."""

    def __init__(self, config, weights, dtype=torch.float64):
        self.config = config
        self.names = of_hugging_face(config) if "model_type" in config else dict(TIMM, heads=config["model_args"]["num_heads"])
        self.weights = {name: tensor.to(dtype) for name, tensor in weights.items()}
        if "layers" not in self.names:
            self.names["layers"] = len([name for name in weights if name.endswith("attn.qkv.weight")])

    def get(self, name):
        """A tensor of the body, with the prefix or without; None where the model has none."""
        return self.weights.get(self.names["prefix"] + name, self.weights.get(name))

    def linear(self, x, name):
        return functional.linear(x, self.get(name + ".weight"), self.get(name + ".bias"))

    def norm(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.get(name + ".weight"), self.get(name + ".bias"), self.names["epsilon"])

    def positions(self, rows, columns, prefix):
        """[prefix + rows*columns, C]: those of the patches brought to another grid, as the model's own code does."""
        table = self.get(self.names["positions"])[0]
        own = table.shape[0] - (0 if round((table.shape[0]) ** 0.5) ** 2 == table.shape[0] else prefix)
        before, patches = table[:table.shape[0] - own], table[table.shape[0] - own:]
        side = round(own**0.5)
        assert side * side == own
        if (side, side) != (rows, columns):
            grid = patches.reshape(1, side, side, -1).permute(0, 3, 1, 2)
            grid = functional.interpolate(grid, size=(rows, columns), mode="bicubic", align_corners=False, antialias=self.names["antialias"])
            patches = grid.permute(0, 2, 3, 1).reshape(rows * columns, -1)
        return before, patches

    def embed(self, hooks, pixels):
        patches = functional.conv2d(pixels[None], self.get(self.names["patch"] + ".weight"), self.get(self.names["patch"] + ".bias"),
                                    stride=self.get(self.names["patch"] + ".weight").shape[-1])
        rows, columns = patches.shape[2:]
        patches = patches.flatten(2).transpose(1, 2)[0]  # [1,C,rows,columns] -> [N,C]
        specials = [self.get(self.names[name])[0] for name in ("cls", "dist") if self.get(self.names[name]) is not None]
        registers = self.get(self.names["registers"])
        registers = registers[0] if registers is not None else patches[:0]
        before, after = self.positions(rows, columns, len(specials))
        if not len(before):
            before = torch.zeros_like(torch.cat(specials))
        hooks.put("hook_embed", torch.cat([*specials, registers, patches]))
        hooks["hook_pos_embed"] = torch.cat([before, torch.zeros_like(registers), after])
        return hooks["hook_embed"] + hooks["hook_pos_embed"], len(specials) + len(registers)

    def attention(self, hooks, at, prefix, x):
        width, heads = x.shape[1], self.names["heads"]
        if "qkv" in self.names:
            q, k, v = self.linear(x, prefix + self.names["qkv"]).split(width, -1)
        else:
            q, k, v = (self.linear(x, prefix + self.names[part]) for part in "qkv")
        q, k, v = (part.reshape(len(x), heads, -1) for part in (q, k, v))
        scores = torch.einsum("thd,shd->hts", q, k) * q.shape[-1] ** -0.5
        for name, value in (("q", q), ("k", k), ("v", v), ("attn_scores", scores)):
            hooks[f"{at}attn.hook_{name}"] = value
        pattern = hooks.put(f"{at}attn.hook_pattern", torch.softmax(scores, -1))
        z = hooks.put(f"{at}attn.hook_z", torch.einsum("hts,shd->thd", pattern, v))
        return self.linear(z.reshape(len(x), -1), prefix + self.names["o"])

    def feed_forward(self, prefix, x):
        gated = self.names.get("gated_in")
        if gated and self.get(prefix + gated + ".weight") is not None:
            gate, value = self.linear(x, prefix + gated).chunk(2, -1)
            return self.linear(functional.silu(gate) * value, prefix + self.names["gated_out"])
        return self.linear(functional.gelu(self.linear(x, prefix + self.names["in"])), prefix + self.names["out"])

    def scaled(self, x, name):
        scale = self.get(name)
        return x if scale is None else x * scale

    def run(self, pixels, change=None):
        """pixels [channels, height, width]; returns {hook: tensor}. change: as Hooks takes it."""
        hooks = Hooks(change)
        x, before = self.embed(hooks, pixels.to(next(iter(self.weights.values())).dtype))
        for layer in range(self.names["layers"]):
            at, prefix = f"blocks.{layer}.", self.names["block"].format(layer)
            x = hooks.put(at + "hook_resid_pre", x)
            added = self.scaled(self.attention(hooks, at, prefix, self.norm(x, prefix + self.names["norm1"])), prefix + self.names["scale1"])
            x = hooks.put(at + "hook_resid_mid", x + hooks.put(at + "hook_attn_out", added))
            added = self.scaled(self.feed_forward(prefix, self.norm(x, prefix + self.names["norm2"])), prefix + self.names["scale2"])
            x = hooks.put(at + "hook_resid_post", x + hooks.put(at + "hook_mlp_out", added))
        self.read(hooks, x, before)
        return hooks

    def read(self, hooks, x, before):
        """The stream behind a layer through the final norm and the head."""
        if self.get("fc_norm.weight") is not None:  # timm's pooling by the mean norms afterwards
            hooks["hook_pooled"] = self.norm(x[before:].mean(0), "fc_norm")[None]
        else:
            x = hooks["ln_final.hook_normalized"] = self.norm(x, self.names["norm"])
            hooks["hook_pooled"] = x[:1]
        self.heads(hooks, x, before)

    def heads(self, hooks, x, before):
        kind = self.config.get("model_type", "timm")
        if kind.startswith("dinov2") and "classifier.weight" in self.weights:
            hooks["hook_pooled"] = torch.cat([x[0], x[before:].mean(0)])[None]
        pooled = hooks["hook_pooled"]
        if "cls_classifier.weight" in self.weights:
            hooks["logits"] = (self.linear(pooled, "cls_classifier") + self.linear(x[1:2], "distillation_classifier")) / 2
        elif "head_dist.weight" in self.weights:
            hooks["logits"] = (self.linear(pooled, "head") + self.linear(x[1:2], "head_dist")) / 2
        elif "classifier.weight" in self.weights:
            hooks["logits"] = self.linear(pooled, "classifier")
        elif "head.weight" in self.weights:
            hooks["logits"] = self.linear(pooled, "head")
