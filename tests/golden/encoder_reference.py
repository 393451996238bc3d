"""The encoder families for text in plain torch operations, as an implementation independent of the engine.

bert() follows transformers' modeling_bert.py, roberta() modeling_roberta.py, distilbert() modeling_distilbert.py and xlnet()
modeling_xlnet.py without a memory, a permutation and segments. Each takes (config, weights, tokens, types) in
Hugging Face's names and returns the tensors it met under TransformerLens's hook names. hook_resid_post is the layer's output, after
its second norm, which is also the next layer's hook_resid_pre (transformers' hidden_states).
"""
import json
import pathlib

import torch

import safetensors_file
from reference import ACTIVATIONS, layer_norm, linear


def attend(hooks, layer, q, k, v):
    """Every token sees every token. q, k, v [T,H,D]; returns z as [T, H*D]."""
    at = f"blocks.{layer}.attn.hook_"
    scores = torch.einsum("thd,shd->hts", q, k) * q.shape[-1] ** -0.5
    pattern = torch.softmax(scores, -1)
    z = torch.einsum("hts,shd->thd", pattern, v)
    for name, tensor in (("q", q), ("k", k), ("v", v), ("attn_scores", scores), ("pattern", pattern), ("z", z)):
        hooks[at + name] = tensor
    return z.reshape(z.shape[0], -1)


def norm(x, w, name, epsilon):
    weight, bias = (w[name + new] if name + new in w else w[name + old] for new, old in ((".weight", ".gamma"), (".bias", ".beta")))
    return layer_norm(x, weight, bias, epsilon)


def encode(hooks, w, x, layers, heads, epsilon, act, names):
    """The layers: post-norm, attention then feed-forward. names: where a layer has its parts."""
    for layer in range(layers):
        at, block = names["layer"].format(layer), f"blocks.{layer}.hook_"
        hooks[block + "resid_pre"] = x
        q, k, v = (linear(x, w, at + part).reshape(x.shape[0], heads, -1) for part in names["qkv"])
        hooks[block + "attn_out"] = linear(attend(hooks, layer, q, k, v), w, at + names["o"])
        x = norm(x + hooks[block + "attn_out"], w, at + names["norm1"], epsilon)
        hooks[block + "resid_mid"] = x
        hooks[block + "mlp_out"] = linear(act(linear(x, w, at + names["in"])), w, at + names["out"])
        x = norm(x + hooks[block + "mlp_out"], w, at + names["norm2"], epsilon)
        hooks[block + "resid_post"] = x
    return x


BERT = {"layer": "encoder.layer.{}.", "qkv": [f"attention.self.{part}" for part in ("query", "key", "value")], "o": "attention.output.dense",
        "norm1": "attention.output.LayerNorm", "in": "intermediate.dense", "out": "output.dense", "norm2": "output.LayerNorm"}
DISTILBERT = {"layer": "transformer.layer.{}.", "qkv": [f"attention.{part}_lin" for part in "qkv"], "o": "attention.out_lin",
              "norm1": "sa_layer_norm", "in": "ffn.lin1", "out": "ffn.lin2", "norm2": "output_layer_norm"}


def bert(config, w, tokens, types):
    w = {name.removeprefix("bert."): tensor for name, tensor in w.items()}
    epsilon, act = config["layer_norm_eps"], ACTIVATIONS[config["hidden_act"]]
    hooks = {"hook_embed": w["embeddings.word_embeddings.weight"][tokens],
             "hook_pos_embed": w["embeddings.position_embeddings.weight"][: len(tokens)],
             "hook_token_type_embed": w["embeddings.token_type_embeddings.weight"][types]}
    x = norm(sum(hooks.values()), w, "embeddings.LayerNorm", epsilon)
    x = encode(hooks, w, x, config["num_hidden_layers"], config["num_attention_heads"], epsilon, act, BERT)
    head = "cls.predictions."
    if head + "transform.dense.weight" in w:
        hidden = norm(act(linear(x, w, head + "transform.dense")), w, head + "transform.LayerNorm", epsilon)
        tied = config.get("tie_word_embeddings", True)
        table = w["embeddings.word_embeddings.weight" if tied else head + "decoder.weight"]
        hooks["logits"] = hidden @ table.T + w[head + "bias" if head + "bias" in w else head + "decoder.bias"]
    return hooks


def roberta(config, w, tokens, types):
    w = {name.removeprefix("roberta."): tensor for name, tensor in w.items()}
    epsilon, act = config["layer_norm_eps"], ACTIVATIONS[config["hidden_act"]]
    padding = config["pad_token_id"]
    places = torch.cumsum((tokens != padding).long(), 0) * (tokens != padding) + padding
    hooks = {"hook_embed": w["embeddings.word_embeddings.weight"][tokens],
             "hook_pos_embed": w["embeddings.position_embeddings.weight"][places],
             "hook_token_type_embed": w["embeddings.token_type_embeddings.weight"][types]}
    x = norm(sum(hooks.values()), w, "embeddings.LayerNorm", epsilon)
    x = encode(hooks, w, x, config["num_hidden_layers"], config["num_attention_heads"], epsilon, act, BERT)
    if "lm_head.dense.weight" in w:
        hidden = norm(ACTIVATIONS["gelu"](linear(x, w, "lm_head.dense")), w, "lm_head.layer_norm", epsilon)
        tied = config.get("tie_word_embeddings", True)
        table = w["embeddings.word_embeddings.weight" if tied else "lm_head.decoder.weight"]
        hooks["logits"] = hidden @ table.T + w["lm_head.bias" if "lm_head.bias" in w else "lm_head.decoder.bias"]
    return hooks


def distilbert(config, w, tokens, types):
    del types  # it has none
    w = {name.removeprefix("distilbert."): tensor for name, tensor in w.items()}
    epsilon, act = 1e-12, ACTIVATIONS[config["activation"]]
    hooks = {"hook_embed": w["embeddings.word_embeddings.weight"][tokens],
             "hook_pos_embed": w["embeddings.position_embeddings.weight"][: len(tokens)]}
    x = norm(sum(hooks.values()), w, "embeddings.LayerNorm", epsilon)
    x = encode(hooks, w, x, config["n_layers"], config["n_heads"], epsilon, act, DISTILBERT)
    if "vocab_transform.weight" in w:
        hidden = norm(act(linear(x, w, "vocab_transform")), w, "vocab_layer_norm", epsilon)
        hooks["logits"] = hidden @ w["embeddings.word_embeddings.weight"].T + w["vocab_projector.bias"]
    return hooks


def shifted(x):
    """transformers' rel_shift_bnij: column j of row i moves from distance i - j. x [H,T,2T], returns [H,T,T]."""
    heads, rows, columns = x.shape
    return x.reshape(heads, columns, rows)[:, 1:, :].reshape(heads, rows, columns - 1)[:, :, :rows]


def xlnet(config, w, tokens, types):
    del types  # segments are left out
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    epsilon, act, width, length = config["layer_norm_eps"], ACTIVATIONS[config["ff_activation"]], config["d_model"], len(tokens)
    x = w["word_embedding.weight"][tokens]
    hooks = {"hook_embed": x}
    distances = torch.arange(length, -length, -1.0, dtype=x.dtype)
    angles = distances[:, None] / 10000 ** (torch.arange(0, width, 2.0, dtype=x.dtype) / width)
    r = torch.cat((torch.sin(angles), torch.cos(angles)), -1)  # [2T,C]
    for layer in range(config["n_layer"]):
        at, block, site = f"layer.{layer}.", f"blocks.{layer}.hook_", f"blocks.{layer}.attn.hook_"
        hooks[block + "resid_pre"] = x
        a = at + "rel_attn."
        q, k, v = (torch.einsum("th,hnd->tnd", x, w[a + part]) for part in "qkv")
        rows = torch.einsum("rh,hnd->rnd", r, w[a + "r"])
        scale = config["d_head"] ** -0.5
        content = torch.einsum("tnd,snd->nts", q, k) * scale
        terms = {"xl_content_position": shifted(torch.einsum("tnd,rnd->ntr", q, rows)) * scale,
                 "xl_global_content": torch.einsum("nd,snd->ns", w[a + "r_w_bias"], k)[:, None].expand_as(content) * scale,
                 "xl_global_position": shifted(torch.einsum("nd,rnd->nr", w[a + "r_r_bias"], rows)[:, None].expand(-1, length, -1)) * scale}
        scores = content + sum(terms.values())
        pattern = torch.softmax(scores, -1)
        z = torch.einsum("nts,snd->tnd", pattern, v)
        for name, tensor in (("q", q), ("k", k), ("v", v), *terms.items(), ("attn_scores", scores), ("pattern", pattern), ("z", z)):
            hooks[site + name] = tensor
        hooks[block + "attn_out"] = torch.einsum("tnd,hnd->th", z, w[a + "o"])
        x = hooks[block + "resid_mid"] = norm(x + hooks[block + "attn_out"], w, a + "layer_norm", epsilon)
        hooks[block + "mlp_out"] = linear(act(linear(x, w, at + "ff.layer_1")), w, at + "ff.layer_2")
        x = hooks[block + "resid_post"] = norm(x + hooks[block + "mlp_out"], w, at + "ff.layer_norm", epsilon)
    if "lm_loss.bias" in w:
        tied = config.get("tie_word_embeddings", True)
        hooks["logits"] = x @ w["word_embedding.weight" if tied else "lm_loss.weight"].T + w["lm_loss.bias"]
    return hooks


def xlnet_queries(config, w, tokens, ranks):
    """The logits of XLNet's second stream. ranks [T]: the content of a token sees itself and tokens of lower ranks, the query only these."""
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    epsilon, act, width, length = config["layer_norm_eps"], ACTIVATIONS[config["ff_activation"]], config["d_model"], len(tokens)
    content = w["word_embedding.weight"][tokens]
    query = w["mask_emb"].reshape(1, width).expand(length, width)
    angles = torch.arange(length, -length, -1.0)[:, None] / 10000 ** (torch.arange(0, width, 2.0) / width)
    r = torch.cat((torch.sin(angles), torch.cos(angles)), -1).to(content.dtype)
    before = ranks[None, :] < ranks[:, None]
    for layer in range(config["n_layer"]):
        at = f"layer.{layer}."
        a = at + "rel_attn."
        k, v = (torch.einsum("th,hnd->tnd", content, w[a + part]) for part in "kv")
        rows = torch.einsum("rh,hnd->rnd", r, w[a + "r"])

        def through(x, seen):
            q = torch.einsum("th,hnd->tnd", x, w[a + "q"])
            scores = torch.einsum("tnd,snd->nts", q + w[a + "r_w_bias"], k) + shifted(torch.einsum("tnd,rnd->ntr", q + w[a + "r_r_bias"], rows))
            pattern = torch.softmax((scores * config["d_head"] ** -0.5).masked_fill(~seen, -1e30), -1)
            x = norm(x + torch.einsum("nts,snd,hnd->th", pattern, v, w[a + "o"]), w, a + "layer_norm", epsilon)
            return norm(x + linear(act(linear(x, w, at + "ff.layer_1")), w, at + "ff.layer_2"), w, at + "ff.layer_norm", epsilon)

        content, query = through(content, before | torch.eye(length, dtype=torch.bool)), through(query, before)
    return query @ w["word_embedding.weight"].T + w["lm_loss.bias"]


FAMILIES = {"xlnet": xlnet, "bert": bert, "roberta": roberta, "xlm-roberta": roberta, "distilbert": distilbert}


class Encoder:
    """A Hugging Face folder, computed in `dtype` from the weights as rounded in the file."""

    def __init__(self, folder, dtype=torch.float64):
        folder = pathlib.Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        weights = safetensors_file.read(folder / "model.safetensors")
        self.weights = {name: t.to(dtype) if t.is_floating_point() else t for name, t in weights.items()}

    def run(self, tokens, types):
        with torch.no_grad():
            return FAMILIES[self.config["model_type"]](self.config, self.weights, torch.as_tensor(tokens), torch.as_tensor(types))
