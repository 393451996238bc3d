"""Models with an encoder and a decoder in plain torch operations, as an implementation independent of the engine.

t5() follows transformers' modeling_t5.py, bart() modeling_bart.py and modeling_marian.py. Each takes (config, weights, source, tokens,
changes) in Hugging Face's names and returns the tensors it met under TransformerLens's hook names: hook_resid_mid is the stream after
self-attention, hook_resid_mid_cross the one after cross-attention.
"""
import argparse
import json
import math
import pathlib

import torch

import safetensors_file
from reference import ACTIVATIONS, MASKED, layer_norm, linear, rms_norm

ACTS = {**ACTIVATIONS, "relu": torch.relu, "swish": ACTIVATIONS["silu"]}


class Hooks(dict):
    """Tensors by hook name. A change of a hook is a function of its value."""

    def __init__(self, changes):
        super().__init__()
        self.changes = changes or {}

    def put(self, name, value):
        self[name] = self.changes[name](value) if name in self.changes else value
        return self[name]


def attend(hooks, site, q, k, v, scale, seen, bias=None):
    """q [T,H,D], k and v [S,H,D]; seen [T,S]; bias [H,T,S], added to the scores. Returns z as [T, H*D]."""
    at = site + ".hook_"
    scores = torch.einsum("thd,shd->hts", q, k) * scale
    if bias is not None:
        hooks[at + "position_bias"] = bias
        scores = scores + bias
    scores = scores.masked_fill(~seen, MASKED)
    for name, tensor in (("q", q), ("k", k), ("v", v), ("attn_scores", scores)):
        hooks[at + name] = tensor
    pattern = hooks.put(at + "pattern", torch.softmax(scores, -1))
    z = hooks.put(at + "z", torch.einsum("hts,shd->thd", pattern, v))
    return z.reshape(z.shape[0], -1)


def heads(x, w, name, count):
    return linear(x, w, name).reshape(x.shape[0], count, -1)


# T5 and mT5 ---------------------------------------------------------------------------------------------------------------


def bucket(distance, bidirectional, buckets, furthest):
    """transformers' _relative_position_bucket, with distance = key - query, in float32 as there."""
    found = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        found = found + (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = -torch.min(distance, torch.zeros_like(distance))
    exact = buckets // 2
    far = exact + (torch.log(distance.float() / exact) / math.log(furthest / exact) * (buckets - exact)).long()
    return found + torch.where(distance < exact, distance, torch.min(far, torch.full_like(far, buckets - 1)))


def t5(config, w, source, tokens, changes=None):
    count, epsilon = config["num_heads"], config["layer_norm_epsilon"]
    kind = config["feed_forward_proj"]
    act = ACTS["gelu_new" if kind == "gated-gelu" else kind.split("-")[-1]]
    norm = lambda x, name: rms_norm(x, w[name + ".weight"], epsilon)  # noqa: E731
    shared = next(w[name] for name in ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight") if name in w)
    hooks = Hooks(changes)

    def feed(x, at):
        if kind.startswith("gated"):
            return linear(act(linear(x, w, at + "wi_0")) * linear(x, w, at + "wi_1"), w, at + "wo")
        return linear(act(linear(x, w, at + "wi")), w, at + "wo")

    def stack(name, ids, memory):
        x = hooks.put(name + ".hook_embed", shared[ids])
        length = len(ids)
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        table = w[name + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        bias = table[bucket(distance, memory is None, config["relative_attention_num_buckets"],
                            config.get("relative_attention_max_distance", 128))].permute(2, 0, 1)
        seen = torch.ones(length, length, dtype=torch.bool) if memory is None else distance <= 0
        for layer in range(config["num_layers"] if memory is None else config.get("num_decoder_layers", config["num_layers"])):
            at, block = f"{name}.block.{layer}.layer.", f"{name}.{layer}.hook_"
            x = hooks.put(block + "resid_pre", x)
            a, normed = at + "0.SelfAttention.", norm(x, at + "0.layer_norm")
            z = attend(hooks, f"{name}.{layer}.attn", *(heads(normed, w, a + part, count) for part in "qkv"), 1, seen, bias)
            hooks[block + "attn_out"] = linear(z, w, a + "o")
            x = hooks[block + "resid_mid"] = x + hooks[block + "attn_out"]
            if memory is not None:
                a, normed = at + "1.EncDecAttention.", norm(x, at + "1.layer_norm")
                z = attend(hooks, f"{name}.{layer}.cross_attn", heads(normed, w, a + "q", count), heads(memory, w, a + "k", count),
                           heads(memory, w, a + "v", count), 1, torch.ones(length, len(memory), dtype=torch.bool))
                hooks[block + "cross_attn_out"] = linear(z, w, a + "o")
                x = hooks[block + "resid_mid_cross"] = x + hooks[block + "cross_attn_out"]
            last = at + ("1." if memory is None else "2.")
            hooks.put(block + "mlp_out", feed(norm(x, last + "layer_norm"), last + "DenseReluDense."))
            x = hooks.put(block + "resid_post", x + hooks[block + "mlp_out"])
        return norm(x, name + ".final_layer_norm")

    x = stack("decoder", tokens, stack("encoder", source, None))
    tied = config.get("tie_word_embeddings", True)
    hooks["logits"] = x * config["d_model"] ** -0.5 @ shared.T if tied else x @ w["lm_head.weight"].T
    return hooks


# BART and Marian ----------------------------------------------------------------------------------------------------------


def sinusoids(length, width):
    """Marian's table: the sines, then the cosines."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (2 * torch.arange(width // 2, dtype=torch.float64) / width)
    return torch.cat((torch.sin(angle), torch.cos(angle)), -1)


def bart(config, w, source, tokens, changes=None):
    act, width = ACTS[config["activation_function"]], config["d_model"]
    scale = width**0.5 if config["scale_embedding"] else 1.0
    isMarian = config["model_type"] == "marian"
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)  # noqa: E731
    hooks = Hooks(changes)

    def stack(name, ids, memory):
        at, count = f"model.{name}.", config[f"{name}_attention_heads"]
        own = at + "embed_tokens.weight"
        table = w[own] if own in w else w["model.shared.weight"]
        x = hooks.put(name + ".hook_embed", table[ids] * scale)
        length = len(ids)
        places = sinusoids(length, width).to(x) if isMarian else w[at + "embed_positions.weight"][2 : 2 + length]
        hooks[name + ".hook_pos_embed"] = places
        x = x + places
        if not isMarian:
            x = norm(x, at + "layernorm_embedding")
        seen = torch.ones(length, length, dtype=torch.bool)
        for layer in range(config[f"{name}_layers"]):
            block, inner = f"{name}.{layer}.hook_", f"{at}layers.{layer}."
            x = hooks.put(block + "resid_pre", x)
            a = inner + "self_attn."
            q, k, v = (heads(x, w, a + part + "_proj", count) for part in "qkv")
            z = attend(hooks, f"{name}.{layer}.attn", q, k, v, q.shape[-1] ** -0.5, seen if memory is None else seen.tril())
            hooks[block + "attn_out"] = linear(z, w, a + "out_proj")
            x = hooks[block + "resid_mid"] = norm(x + hooks[block + "attn_out"], inner + "self_attn_layer_norm")
            if memory is not None:
                a = inner + "encoder_attn."
                q, k, v = (heads(from_, w, a + part + "_proj", count) for from_, part in ((x, "q"), (memory, "k"), (memory, "v")))
                z = attend(hooks, f"{name}.{layer}.cross_attn", q, k, v, q.shape[-1] ** -0.5,
                           torch.ones(length, len(memory), dtype=torch.bool))
                hooks[block + "cross_attn_out"] = linear(z, w, a + "out_proj")
                x = hooks[block + "resid_mid_cross"] = norm(x + hooks[block + "cross_attn_out"], inner + "encoder_attn_layer_norm")
            hooks.put(block + "mlp_out", linear(act(linear(x, w, inner + "fc1")), w, inner + "fc2"))
            x = hooks.put(block + "resid_post", norm(x + hooks[block + "mlp_out"], inner + "final_layer_norm"))
        return x

    x = stack("decoder", tokens, stack("encoder", source, None))
    own = "model.decoder.embed_tokens.weight"
    hooks["logits"] = x @ (w[own] if own in w else w["model.shared.weight"]).T + w["final_logits_bias"][0]
    return hooks


FAMILIES = {"t5": t5, "mt5": t5, "bart": bart, "marian": bart}


class TwoStreams:
    """A Hugging Face folder, computed in `dtype` from the weights as rounded in the file."""

    def __init__(self, folder, dtype=torch.float64):
        folder = pathlib.Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        weights = safetensors_file.read(folder / "model.safetensors")
        self.weights = {name: t.to(dtype) if t.is_floating_point() else t for name, t in weights.items()}

    def run(self, source, tokens, changes=None):
        """@param changes functions of the values of hooks, by name"""
        with torch.no_grad():
            return self.forward(source, tokens, changes)

    def forward(self, source, tokens, changes=None):
        """The same, with gradients."""
        family = FAMILIES[self.config["model_type"]]
        return family(self.config, self.weights, torch.as_tensor(source), torch.as_tensor(tokens), changes)

    def greedy(self, source, count):
        """The most likely target, and the smallest lead of a token over the runner-up."""
        tokens, lead = [self.config["decoder_start_token_id"]], math.inf
        while len(tokens) <= count:
            best = self.run(source, tokens)["logits"][-1].topk(2)
            lead = min(lead, float(best.values[0] - best.values[1]))
            tokens.append(int(best.indices[0]))
        return tokens[1:], lead


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the most likely target of a source")
    parser.add_argument("folder")
    parser.add_argument("source", help="token ids between commas")
    parser.add_argument("--max-tokens", type=int, default=12)
    asked = parser.parse_args()
    print(*TwoStreams(asked.folder).greedy([int(id_) for id_ in asked.source.split(",")], asked.max_tokens)[0])
