#!/usr/bin/python3
"""The decoder families in plain torch operations, one function each, as an implementation independent of the engine.

Every function takes (config, weights, tokens) in Hugging Face's names and layouts, follows transformers' modeling_<family>.py and
returns the tensors it met under TransformerLens's hook names. Shape letters as in the engine: T tokens, H heads, G key/value heads,
D head width, C model width, V vocabulary.
"""
import argparse
import json
import math
import pathlib

import torch

import safetensors_file

MASKED = -1e30  # stands for minus infinity in hook_attn_scores, so that the file holds only finite numbers


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + torch.exp(-x))


ACTIVATIONS = {"gelu_new": gelu_new, "gelu": gelu, "silu": silu}


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + epsilon) * weight + bias


def rms_norm(x, weight, epsilon):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + epsilon) * weight


def linear(x, weights, name):
    """torch.nn.Linear: weight [out, in], bias where the file has one."""
    y = x @ weights[name + ".weight"].T
    return y + weights[name + ".bias"] if name + ".bias" in weights else y


def conv1d(x, weights, name):
    """transformers' Conv1D: weight [in, out]."""
    return x @ weights[name + ".weight"] + weights[name + ".bias"]


def visible(length, window=None, prefix=0):
    """[T,S]: a query sees itself and what came before, and the first `prefix` keys; with a window, at most `window` keys, itself included."""
    distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    return (distance >= 0) & (distance < (window or length)) | (torch.arange(length)[None, :] < prefix)


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def rotate(x, frequencies):
    """Rotates the first 2*len(frequencies) features of x [T,heads,D]; feature i pairs with i + len(frequencies)."""
    width = 2 * len(frequencies)
    angle = torch.arange(x.shape[0], dtype=x.dtype)[:, None] * frequencies[None, :].to(x.dtype)
    angle = torch.cat((angle, angle), -1)[:, None, :]
    turning, passing = x[..., :width], x[..., width:]
    return torch.cat((turning * torch.cos(angle) + rotate_half(turning) * torch.sin(angle), passing), -1)


def base_frequencies(theta, width):
    return 1.0 / theta ** (torch.arange(0, width, 2, dtype=torch.float64) / width)


def scaled_frequencies(frequencies, scaling):
    """transformers' modeling_rope_utils.py: default, linear and llama3."""
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return frequencies
    if kind == "linear":
        return frequencies / scaling["factor"]
    assert kind == "llama3", kind
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    context = scaling["original_max_position_embeddings"]
    wavelength = 2 * math.pi / frequencies
    smooth = (context / wavelength - low) / (high - low)
    scaled = torch.where(wavelength > context / low, frequencies / factor, frequencies)
    medium = (wavelength >= context / high) & (wavelength <= context / low)
    return torch.where(medium, (1 - smooth) * frequencies / factor + smooth * frequencies, scaled)


def attend(hooks, layer, q, k, v, scale, seen, frequencies=None):
    """Records q, k, v, scores, pattern and z of a layer and returns z as [T, H*D]."""
    at = f"blocks.{layer}.attn.hook_"
    hooks[at + "q"], hooks[at + "k"], hooks[at + "v"] = q, k, v  # [T,H,D] [T,G,D] [T,G,D]
    if frequencies is not None:
        q, k = rotate(q, frequencies), rotate(k, frequencies)
        hooks[at + "rot_q"], hooks[at + "rot_k"] = q, k
    shared = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)  # [T,G,D] -> [T,H,D]
    scores = (torch.einsum("thd,shd->hts", q, k) * scale).masked_fill(~seen, MASKED)
    pattern = torch.softmax(scores, -1)
    z = torch.einsum("hts,shd->thd", pattern, v)
    hooks[at + "attn_scores"], hooks[at + "pattern"], hooks[at + "z"] = scores, pattern, z
    return z.reshape(z.shape[0], -1)


def block(hooks, layer, x, attention, feed_forward, parallel=False):
    """One residual block; attention and feed_forward include the norm before them."""
    at = f"blocks.{layer}.hook_"
    hooks[at + "resid_pre"] = x
    attention_out = hooks[at + "attn_out"] = attention(x)
    middle = x + attention_out
    if not parallel:
        hooks[at + "resid_mid"] = middle
    feed_forward_out = hooks[at + "mlp_out"] = feed_forward(x if parallel else middle)
    x = hooks[at + "resid_post"] = middle + feed_forward_out
    return x


def heads(x, width):
    return x.reshape(x.shape[0], -1, width)  # [T, heads*D] -> [T,heads,D]


def without_prefix(weights, prefix):
    return {name[len(prefix):] if name.startswith(prefix) else name: tensor for name, tensor in weights.items()}


def unembedding(weights, embedding, head):
    return weights.get(head, weights[embedding])  # what the file holds decides, not tie_word_embeddings


def gpt2(config, weights, tokens, prefix=0):
    w = without_prefix(weights, "transformer.")
    width, act = config["n_embd"] // config["n_head"], ACTIVATIONS[config["activation_function"]]
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])
    hooks = {"hook_embed": w["wte.weight"][tokens], "hook_pos_embed": w["wpe.weight"][:len(tokens)]}
    x = hooks["hook_embed"] + hooks["hook_pos_embed"]
    for layer in range(config["n_layer"]):
        def attention(x, at=f"h.{layer}."):
            q, k, v = conv1d(norm(x, at + "ln_1"), w, at + "attn.c_attn").split(config["n_embd"], -1)
            z = attend(hooks, layer, heads(q, width), heads(k, width), heads(v, width), width**-0.5, visible(len(tokens), None, prefix))
            return conv1d(z, w, at + "attn.c_proj")

        def feed_forward(x, at=f"h.{layer}."):
            return conv1d(act(conv1d(norm(x, at + "ln_2"), w, at + "mlp.c_fc")), w, at + "mlp.c_proj")

        x = block(hooks, layer, x, attention, feed_forward)
    hooks["logits"] = norm(x, "ln_f") @ unembedding(w, "wte.weight", "lm_head.weight").T
    return hooks


def gpt_neo(config, weights, tokens):
    w = without_prefix(weights, "transformer.")
    width, act = config["hidden_size"] // config["num_heads"], ACTIVATIONS[config["activation_function"]]
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])
    kinds = [kind for names, times in config["attention_types"] for _ in range(times) for kind in names]
    hooks = {"hook_embed": w["wte.weight"][tokens], "hook_pos_embed": w["wpe.weight"][:len(tokens)]}
    x = hooks["hook_embed"] + hooks["hook_pos_embed"]
    for layer in range(config["num_layers"]):
        seen = visible(len(tokens), config["window_size"] if kinds[layer] == "local" else None)

        def attention(x, at=f"h.{layer}."):
            x = norm(x, at + "ln_1")
            q, k, v = (heads(linear(x, w, f"{at}attn.attention.{part}_proj"), width) for part in "qkv")
            z = attend(hooks, layer, q, k, v, 1.0, seen)  # GPT-Neo does not divide by sqrt(D)
            return linear(z, w, at + "attn.attention.out_proj")

        def feed_forward(x, at=f"h.{layer}."):
            return linear(act(linear(norm(x, at + "ln_2"), w, at + "mlp.c_fc")), w, at + "mlp.c_proj")

        x = block(hooks, layer, x, attention, feed_forward)
    hooks["logits"] = norm(x, "ln_f") @ unembedding(w, "wte.weight", "lm_head.weight").T
    return hooks


def gpt_neox(config, weights, tokens):
    w = without_prefix(weights, "gpt_neox.")
    width, act = config["hidden_size"] // config["num_attention_heads"], ACTIVATIONS[config["hidden_act"]]
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], config["layer_norm_eps"])
    frequencies = base_frequencies(config["rotary_emb_base"], int(width * config["rotary_pct"]))
    hooks = {"hook_embed": w["embed_in.weight"][tokens]}
    x = hooks["hook_embed"]
    for layer in range(config["num_hidden_layers"]):
        def attention(x, at=f"layers.{layer}."):
            fused = linear(norm(x, at + "input_layernorm"), w, at + "attention.query_key_value")
            q, k, v = heads(fused, 3 * width).split(width, -1)  # every head's own q|k|v
            z = attend(hooks, layer, q, k, v, width**-0.5, visible(len(tokens)), frequencies)
            return linear(z, w, at + "attention.dense")

        def feed_forward(x, at=f"layers.{layer}."):
            x = norm(x, at + "post_attention_layernorm")
            return linear(act(linear(x, w, at + "mlp.dense_h_to_4h")), w, at + "mlp.dense_4h_to_h")

        x = block(hooks, layer, x, attention, feed_forward, parallel=config["use_parallel_residual"])
    hooks["logits"] = norm(x, "final_layer_norm") @ unembedding(w, "embed_in.weight", "embed_out.weight").T
    return hooks


def sliding_window(config, layer):
    """The window of a layer of Mistral (every layer) or Qwen2 (from max_window_layers on, when switched on); None for none."""
    if config["model_type"] == "qwen2" and not (config["use_sliding_window"] and layer >= config["max_window_layers"]):
        return None
    return config.get("sliding_window") if config["model_type"] in ("mistral", "qwen2") else None


def llama(config, weights, tokens):
    w = without_prefix(weights, "model.")
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    act = ACTIVATIONS[config["hidden_act"]]
    norm = lambda x, name: rms_norm(x, w[name + ".weight"], config["rms_norm_eps"])
    # transformers 5 writes rope_parameters where 4 wrote rope_theta and rope_scaling
    rope = config.get("rope_parameters") or {"rope_theta": config["rope_theta"], **(config.get("rope_scaling") or {})}
    frequencies = scaled_frequencies(base_frequencies(rope["rope_theta"], width), rope)
    hooks = {"hook_embed": w["embed_tokens.weight"][tokens]}
    x = hooks["hook_embed"]
    for layer in range(config["num_hidden_layers"]):
        def attention(x, at=f"layers.{layer}."):
            x = norm(x, at + "input_layernorm")
            q, k, v = (heads(linear(x, w, f"{at}self_attn.{part}_proj"), width) for part in "qkv")
            seen = visible(len(tokens), sliding_window(config, layer))
            return linear(attend(hooks, layer, q, k, v, width**-0.5, seen, frequencies), w, at + "self_attn.o_proj")

        def feed_forward(x, at=f"layers.{layer}."):
            x = norm(x, at + "post_attention_layernorm")
            return linear(act(linear(x, w, at + "mlp.gate_proj")) * linear(x, w, at + "mlp.up_proj"), w, at + "mlp.down_proj")

        x = block(hooks, layer, x, attention, feed_forward)
    hooks["logits"] = norm(x, "norm") @ unembedding(w, "embed_tokens.weight", "lm_head.weight").T
    return hooks


FAMILIES = {"gpt2": gpt2, "gpt_neo": gpt_neo, "gpt_neox": gpt_neox, "llama": llama, "mistral": llama, "qwen2": llama}


class Model:
    """A Hugging Face folder, computed in `dtype` from the weights as rounded in the file."""

    def __init__(self, folder, dtype=torch.float64):
        folder = pathlib.Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        index = folder / "model.safetensors.index.json"
        files = sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.exists() else ["model.safetensors"]
        self.weights = {name: t.to(dtype) for file in files for name, t in safetensors_file.read(folder / file).items()}

    def run(self, tokens):
        with torch.no_grad():
            return FAMILIES[self.config["model_type"]](self.config, self.weights, torch.as_tensor(tokens))

    def greedy(self, tokens, count):
        """The next `count` most likely tokens, and the smallest lead of a chosen logit over the runner-up."""
        tokens, lead = list(tokens), math.inf
        for _ in range(count):
            best = self.run(tokens)["logits"][-1].topk(2)
            lead = min(lead, float(best.values[0] - best.values[1]))
            tokens.append(int(best.indices[0]))
        return tokens[-count:], lead


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Continue a prompt of token ids greedily.")
    parser.add_argument("folder", help="a Hugging Face model folder")
    parser.add_argument("tokens", help="comma-separated ids")
    parser.add_argument("--max-tokens", type=int, default=24)
    arguments = parser.parse_args()
    print(*Model(arguments.folder).greedy([int(t) for t in arguments.tokens.split(",")], arguments.max_tokens)[0])
