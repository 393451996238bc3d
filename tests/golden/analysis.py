#!/usr/bin/python3
"""Writes analysis.safetensors beside two golden models: what lenses, attributions, circuits and interventions give, computed with plain
torch operations that share nothing with the engine. `model` below calls hook(name, value) wherever something may be changed.
"""
import json
import pathlib

import numpy
import torch

import safetensors_file
from reference import FAMILIES, Model, base_frequencies, gelu_new, rotate, silu, visible

HERE = pathlib.Path(__file__).resolve().parent
LAYER, HEAD, POSITION, OTHER_TOKEN, STEPS = 1, 2, 12, 5, 16


def keep(name, value):
    return value


class Plain:
    """GPT-2 and Llama as weights [out, in] by role."""

    def __init__(self, config, weights):
        w = {name.removeprefix("transformer.").removeprefix("model."): t for name, t in weights.items()}
        self.gpt2 = config["model_type"] == "gpt2"
        self.epsilon = config["layer_norm_epsilon" if self.gpt2 else "rms_norm_eps"]
        self.E = w["wte.weight" if self.gpt2 else "embed_tokens.weight"]
        self.U = w.get("lm_head.weight", self.E)
        self.P = w["wpe.weight"] if self.gpt2 else None
        self.final = (w["ln_f.weight"], w["ln_f.bias"]) if self.gpt2 else (w["norm.weight"], None)
        self.C = self.E.shape[1]
        self.H = config["n_head"] if self.gpt2 else config["num_attention_heads"]
        self.G = self.H if self.gpt2 else config["num_key_value_heads"]
        self.D = self.C // self.H if self.gpt2 else config["head_dim"]
        self.frequencies = None if self.gpt2 else base_frequencies(config["rope_theta"], self.D)
        self.layers = []
        for n in range(config["n_layer"] if self.gpt2 else config["num_hidden_layers"]):
            if self.gpt2:
                at = f"h.{n}."
                q, k, v = w[at + "attn.c_attn.weight"].T.split(self.C, 0)
                bq, bk, bv = w[at + "attn.c_attn.bias"].split(self.C, 0)
                self.layers.append({"ln1": (w[at + "ln_1.weight"], w[at + "ln_1.bias"]), "ln2": (w[at + "ln_2.weight"], w[at + "ln_2.bias"]),
                                    "q": q, "k": k, "v": v, "bq": bq, "bk": bk, "bv": bv, "o": w[at + "attn.c_proj.weight"].T,
                                    "bo": w[at + "attn.c_proj.bias"], "in": w[at + "mlp.c_fc.weight"].T, "bin": w[at + "mlp.c_fc.bias"],
                                    "out": w[at + "mlp.c_proj.weight"].T, "bout": w[at + "mlp.c_proj.bias"]})
            else:
                at = f"layers.{n}."
                self.layers.append({"ln1": (w[at + "input_layernorm.weight"], None), "ln2": (w[at + "post_attention_layernorm.weight"], None),
                                    **{part: w[f"{at}self_attn.{part}_proj.weight"] for part in "qkvo"},
                                    **{"b" + part: w.get(f"{at}self_attn.{part}_proj.bias", 0) for part in "qkv"}, "bo": 0,
                                    "gate": w[at + "mlp.gate_proj.weight"], "in": w[at + "mlp.up_proj.weight"], "bin": 0,
                                    "out": w[at + "mlp.down_proj.weight"], "bout": 0})

    def norm(self, x, weights):
        weight, bias = weights
        if self.gpt2:
            x = x - x.mean(-1, keepdim=True)
        y = x / torch.sqrt((x**2).mean(-1, keepdim=True) + self.epsilon) * weight
        return y if bias is None else y + bias

    def run(self, tokens, hook=keep):
        T = len(tokens)
        x = hook("hook_embed", self.E[tokens])
        if self.gpt2:
            x = x + self.P[:T]
        for n, w in enumerate(self.layers):
            at = f"blocks.{n}."
            x = hook(at + "hook_resid_pre", x)
            normed = self.norm(x, w["ln1"])
            q, k, v = ((normed @ w[part].T + w["b" + part]).reshape(T, -1, self.D) for part in "qkv")
            v = hook(at + "attn.hook_v", v)
            if self.frequencies is not None:
                q, k = rotate(q, self.frequencies), rotate(k, self.frequencies)
            k, v = (t.repeat_interleave(self.H // self.G, 1) for t in (k, v))
            scores = torch.einsum("thd,shd->hts", q, k) * self.D**-0.5
            pattern = hook(at + "attn.hook_pattern", torch.softmax(scores.masked_fill(~visible(T), -1e30), -1))
            z = hook(at + "attn.hook_z", torch.einsum("hts,shd->thd", pattern, v))
            x = x + hook(at + "hook_attn_out", z.reshape(T, -1) @ w["o"].T + w["bo"])
            normed = self.norm(x, w["ln2"])
            inner = normed @ w["in"].T + w["bin"]
            inner = gelu_new(inner) if self.gpt2 else silu(normed @ w["gate"].T) * inner
            x = x + hook(at + "hook_mlp_out", inner @ w["out"].T + w["bout"])
            x = hook(at + "hook_resid_post", x)
        return self.read(x)

    def read(self, x):
        return self.norm(x, self.final) @ self.U.T


def record(model, tokens):
    seen = {}

    def hook(name, value):
        seen[name] = value
        return value

    return model.run(tokens, hook), seen


def changed(model, tokens, changes):
    return model.run(tokens, lambda name, value: changes[name](value.clone()) if name in changes else value)[-1]


def lens(model, hooks, logits, out):
    names = ["blocks.0.hook_resid_pre"] + [f"blocks.{n}.hook_resid_post" for n in range(len(model.layers))]
    final = logits.argmax(-1)
    rows = torch.stack([model.read(hooks[name]) for name in names])  # [stages,T,V]
    logs = torch.log_softmax(rows, -1)
    out["lens.ids"] = rows.topk(5, -1).indices.int()
    out["lens.probabilities"] = logs.exp().topk(5, -1).values
    out["lens.entropy"] = -(logs * logs.exp()).sum(-1)
    chosen = rows.gather(-1, final.expand(len(names), -1).unsqueeze(-1))
    out["lens.rank"] = (rows > chosen).sum(-1).int()
    out["lens.final_probability"] = logs.exp().gather(-1, final.expand(len(names), -1).unsqueeze(-1)).squeeze(-1)


def attribution(model, tokens, hooks, logits, out):
    """Components in the engine's order: embedding, position, each layer's heads, attention bias and MLP, rest, final bias."""
    x = hooks[f"blocks.{len(model.layers) - 1}.hook_resid_post"][POSITION]
    parts = [hooks["hook_embed"][POSITION]] + ([model.P[POSITION]] if model.gpt2 else [])
    for n, w in enumerate(model.layers):
        z = hooks[f"blocks.{n}.attn.hook_z"][POSITION]  # [H,D]
        parts += [z[h] @ w["o"][:, h * model.D:(h + 1) * model.D].T for h in range(model.H)]
        if model.gpt2:
            parts.append(w["bo"])
        parts.append(hooks[f"blocks.{n}.hook_mlp_out"][POSITION])
    parts.append(x - sum(parts))
    token = int(logits[POSITION].argmax())
    weight, bias = model.final
    direction = model.U[token] - model.U[OTHER_TOKEN]
    centred = x - x.mean() if model.gpt2 else x
    size = torch.sqrt((centred**2).mean() + model.epsilon)
    values = [(((p - p.mean()) if model.gpt2 else p) * weight / size) @ direction for p in parts]
    if bias is not None:
        values.append(bias @ direction)
    out["attribution.values"] = torch.stack(values)
    out["attribution.logit"] = (logits[POSITION, token] - logits[POSITION, OTHER_TOKEN]).reshape(1)
    assert abs(sum(values) - out["attribution.logit"]) < 1e-9


def gradients(model, tokens, logits, out):
    embedded = model.E[tokens]
    token = int(logits[POSITION].argmax())

    mean = model.E.mean(0)  # of all tokens that there are

    def at(share, x):
        return model.run(tokens, lambda name, value: mean + (x - mean) * share if name == "hook_embed" else value)[POSITION]

    def slope(share):
        x = (mean + (embedded - mean) * share).requires_grad_()
        y = at(1, x)
        (y[token] - y[OTHER_TOKEN]).backward()
        return x.grad

    out["gradient_times_input"] = (slope(1.0) * embedded).sum(-1)
    nodes, weights = numpy.polynomial.legendre.leggauss(STEPS)  # from -1 to 1
    out["integrated_gradients"] = sum(w / 2 * (slope((n + 1) / 2) * (embedded - mean)).sum(-1) for n, w in zip(nodes, weights))
    with torch.no_grad():
        y = [at(share, embedded) for share in (1, 0)]
    out["baseline_logit"] = (y[1][token] - y[1][OTHER_TOKEN])[None]
    print("complete to", float(out["integrated_gradients"].sum() - (y[0] - y[1])[token] + (y[0] - y[1])[OTHER_TOKEN]))


def maximum_flow(capacity, source, sink):
    """Ford and Fulkerson with breadth-first search over a dictionary of dictionaries."""
    left = {a: dict(row) for a, row in capacity.items()}
    total = 0.0
    while True:
        before, queue = {source: None}, [source]
        for node in queue:
            for other, room in left.get(node, {}).items():
                if room > 1e-12 and other not in before:
                    before[other] = node
                    queue.append(other)
        if sink not in before:
            return total
        path, node = [], sink
        while before[node] is not None:
            path.append((before[node], node))
            node = before[node]
        room = min(left[a][b] for a, b in path)
        for a, b in path:
            left[a][b] -= room
            left.setdefault(b, {})[a] = left.get(b, {}).get(a, 0.0) + room
        total += room


def flows(model, tokens, hooks, out):
    T, L = len(tokens), len(model.layers)
    maps = []
    for n in range(L):
        mean = hooks[f"blocks.{n}.attn.hook_pattern"].mean(0) + torch.eye(T, dtype=torch.float64)
        maps.append(mean / mean.sum(-1, keepdim=True))
    rolled = torch.eye(T, dtype=torch.float64)
    for each in maps:
        rolled = each @ rolled
    out["flow.rollout"] = rolled[-1]
    capacity = {}
    for n, each in enumerate(maps):
        for above in range(T):
            capacity[(n + 1, above)] = {(n, below): float(each[above, below]) for below in range(T) if each[above, below] > 0}
    values = torch.tensor([maximum_flow(capacity, (L, T - 1), (0, below)) for below in range(T)], dtype=torch.float64)
    out["flow.flow"] = values / values.sum()


def relevance(model, tokens, logits, out):
    """Chefer et al. 2021, equations 5 and 6."""
    token, patterns = int(logits[POSITION].argmax()), []

    def watched(name, value):
        if name.endswith("hook_pattern"):
            value.retain_grad() if value.requires_grad else value.requires_grad_()
            patterns.append(value)
        return value

    y = model.run(tokens, watched)[POSITION]
    (y[token] - y[OTHER_TOKEN]).backward()
    R = torch.eye(len(tokens), dtype=torch.float64)
    for pattern in patterns:
        R = R + (pattern * pattern.grad).clamp(min=0).mean(0) @ R
    out["flow.relevance"] = R


def weighted(model, hooks, out):
    w, group = model.layers[LAYER], HEAD // (model.H // model.G)
    v = hooks[f"blocks.{LAYER}.attn.hook_v"][:, group]
    pattern = hooks[f"blocks.{LAYER}.attn.hook_pattern"][HEAD]
    out["weighted.value"] = pattern * v.norm(dim=-1)
    out["weighted.norm"] = pattern * (v @ w["o"][:, HEAD * model.D:(HEAD + 1) * model.D].T).norm(dim=-1)


def head(model, layer, which):
    w, group = model.layers[layer], which // (model.H // model.G)
    rows = lambda part, n: w[part][n * model.D:(n + 1) * model.D]
    return rows("q", which), rows("k", group), rows("v", group), w["o"][:, which * model.D:(which + 1) * model.D]


def circuits(model, tokens, out):
    centre = lambda x: x - x.mean(-1, keepdim=True) if model.gpt2 else x
    q, k, v, o = head(model, LAYER, HEAD)
    embedded = centre(model.E) * model.layers[LAYER]["ln1"][0]
    unembedded = centre(model.U * model.final[0])
    qk = embedded @ q.T @ k @ embedded.T * model.D**-0.5
    ov = embedded @ v.T @ o.T @ unembedded.T  # [source, written]
    asked = list(dict.fromkeys(tokens))
    out["circuit.tokens"] = torch.tensor(asked, dtype=torch.int32)
    out["circuit.reads"], out["circuit.writes"] = qk[asked], ov[asked]
    values = torch.linalg.eigvals(ov)
    out["circuit.copying"] = (values.sum().real / values.abs().sum()).reshape(1)


def composition(model, out):
    L, H = len(model.layers), model.H
    scores = torch.zeros(3, L, H, L, H, dtype=torch.float64)
    for later in range(L):
        for earlier in range(later):
            for b in range(H):
                for a in range(H):
                    q, k, v, o = head(model, later, b)
                    _, _, va, oa = head(model, earlier, a)
                    read, wrote, before = q.T @ k, o @ v, oa @ va
                    for kind, matrix in enumerate((read.T, read, wrote)):  # what queries, keys and values read
                        scores[kind, later, b, earlier, a] = (matrix @ before).norm() / matrix.norm() / before.norm()
    out["composition"] = scores


def interventions(model, tokens, hooks, other, out):
    """Logits after the last token under one change each."""
    at, z = f"blocks.{LAYER}.", f"blocks.{LAYER}.attn.hook_z"
    mean = hooks[z].mean(0)[HEAD]

    def without_head(value):
        value[:, HEAD] *= 0.25
        return value

    def mean_head(value):
        value[:, HEAD] = mean
        return value

    def patched(value):
        value[POSITION] = other["blocks.0.hook_resid_post"][POSITION]
        return value

    def steered(value):
        return value + 1.5 * (other["blocks.0.hook_mlp_out"][-1] - hooks["blocks.0.hook_mlp_out"][-1])

    def pinned(value):
        value[HEAD, 3:] = 0
        value[HEAD, 3:, 3] = 1
        return value

    def uniform(value):
        T = len(tokens)
        value[HEAD] = visible(T).double() / torch.arange(1, T + 1, dtype=torch.float64)[:, None]
        return value

    out["changed.zero"] = changed(model, tokens, {z: without_head})
    out["changed.mean"] = changed(model, tokens, {z: mean_head})
    out["changed.patch"] = changed(model, tokens, {"blocks.0.hook_resid_post": patched})
    out["changed.steer"] = changed(model, tokens, {"blocks.0.hook_mlp_out": steered})
    out["changed.pin"] = changed(model, tokens, {at + "attn.hook_pattern": pinned})
    out["changed.uniform"] = changed(model, tokens, {at + "attn.hook_pattern": uniform})


def main():
    for name in ("gpt2", "llama_gqa"):
        folder = HERE / name
        source = Model(folder)
        model = Plain(source.config, source.weights)
        tokens = safetensors_file.read(folder / "golden.safetensors")["tokens"].tolist()
        expected = FAMILIES[source.config["model_type"]](source.config, source.weights, torch.tensor(tokens))["logits"]
        logits, hooks = record(model, tokens)
        assert (logits - expected).abs().max() < 1e-10
        other_tokens = [(token * 7 + 3) % source.config["vocab_size"] for token in tokens]
        _, other = record(model, other_tokens)
        out = {"other_tokens": torch.tensor(other_tokens, dtype=torch.int32)}
        lens(model, hooks, logits, out)
        attribution(model, tokens, hooks, logits, out)
        gradients(model, tokens, logits, out)
        flows(model, tokens, hooks, out)
        relevance(model, tokens, logits, out)
        weighted(model, hooks, out)
        circuits(model, tokens, out)
        composition(model, out)
        interventions(model, tokens, hooks, other, out)
        logs = torch.log_softmax(logits, -1)
        out["scores.loss"] = -torch.stack([logs[t, tokens[t + 1]] for t in range(len(tokens) - 1)])
        safetensors_file.write(folder / "analysis.safetensors", {n: t.detach().float() if t.is_floating_point() else t for n, t in out.items()})
        print(name, json.dumps({n: list(t.shape) for n, t in out.items()}))


if __name__ == "__main__":
    main()
