#!/usr/bin/python3
"""Writes analysis.safetensors beside golden models with an encoder and a decoder: what lenses and sweeps give, computed with the torch
operations of two_stream_reference.py, which share nothing with the engine. Rows of an input are the tokens of the source, then those of the
target.
"""
import json
import pathlib

import numpy
import torch

import safetensors_file
from analysis import maximum_flow
from two_stream_reference import TwoStreams

HERE = pathlib.Path(__file__).resolve().parent
HEAD, POSITION, OTHER_TOKEN, STEPS = 1, 6, 5, 16


class Case:
    def __init__(self, name):
        self.model = TwoStreams(HERE / name)
        golden = safetensors_file.read(HERE / name / "golden.safetensors")
        self.source, self.tokens = golden["source_tokens"].long(), golden["tokens"].long()
        self.S, self.T = len(self.source), len(self.tokens)
        self.hooks = self.model.run(self.source, self.tokens)
        self.logits = self.hooks["logits"]
        self.token = int(self.logits[POSITION].argmax())
        # As the engine orders them: the encoder's sites, then each layer's self-attention and cross-attention.
        sites = [hook.removesuffix(".hook_pattern") for hook in self.hooks if hook.endswith(".hook_pattern")]
        self.sites = [s for s in sites if s.startswith("encoder")] + [s for s in sites if s.startswith("decoder")]
        self.blocks = list(dict.fromkeys(site.rsplit(".", 1)[0] for site in self.sites))

    def run(self, changes):
        return self.model.run(self.source, self.tokens, changes)["logits"]

    def tables(self):
        """The embeddings that a source and a target are read with."""
        w, config = self.model.weights, self.model.config
        prefix = "" if "shared.weight" in w else "model."
        scale = config["d_model"] ** 0.5 if config.get("scale_embedding") else 1.0
        return [w.get(f"{prefix}{stack}.embed_tokens.weight", w.get(prefix + "shared.weight")) * scale for stack in ("encoder", "decoder")]


def lens(case, out):
    last = f"{case.blocks[-1]}.hook_resid_post"
    encoder, decoder = ([b for b in case.blocks if b.startswith(stack)] for stack in ("encoder", "decoder"))

    def stages(blocks):
        return [f"{blocks[0]}.hook_resid_pre"] + [f"{block}.hook_resid_post" for block in blocks]

    read = f"{encoder[-1]}.hook_resid_post"
    rows = [case.run({read: lambda value, n=name: case.hooks[n]}) for name in stages(encoder)]
    rows += [case.run({last: lambda value, n=name: case.hooks[n]}) for name in stages(decoder)]
    rows = torch.stack(rows)
    logs, final = torch.log_softmax(rows, -1), case.logits.argmax(-1).expand(len(rows), -1).unsqueeze(-1)
    out["lens.ids"] = rows.topk(5, -1).indices.int()
    out["lens.probabilities"] = logs.exp().topk(5, -1).values
    out["lens.rank"] = (rows > rows.gather(-1, final)).sum(-1).int()
    out["lens.final_probability"] = logs.exp().gather(-1, final).squeeze(-1)
    own = torch.log_softmax(case.logits, -1)
    out["scores.loss"] = -torch.stack([own[t, case.tokens[t + 1]] for t in range(case.T - 1)])


def attribution(case, out):
    """Of T5: embedding, each layer's heads and MLP, rest."""
    w, config = case.model.weights, case.model.config
    x = case.hooks[f"{case.blocks[-1]}.hook_resid_post"][POSITION]
    parts = [case.hooks["decoder.hook_embed"][POSITION]]
    for layer in range(config["num_decoder_layers"]):
        for site, name in (("attn", f"{layer}.layer.0.SelfAttention"), ("cross_attn", f"{layer}.layer.1.EncDecAttention")):
            z, wo = case.hooks[f"decoder.{layer}.{site}.hook_z"][POSITION], w[f"decoder.block.{name}.o.weight"]
            parts += [z[h] @ wo[:, h * z.shape[1]:(h + 1) * z.shape[1]].T for h in range(z.shape[0])]
        parts.append(case.hooks[f"decoder.{layer}.hook_mlp_out"][POSITION])
    parts.append(x - sum(parts))
    U = w["shared.weight"] * config["d_model"] ** -0.5
    size = torch.sqrt((x**2).mean() + config["layer_norm_epsilon"])
    out["attribution.values"] = torch.stack([(part * w["decoder.final_layer_norm.weight"] / size) @ (U[case.token] - U[OTHER_TOKEN]) for part in parts])
    assert abs(out["attribution.values"].sum() - case.logits[POSITION, case.token] + case.logits[POSITION, OTHER_TOKEN]) < 1e-9


def gradients(case, out):
    means = [table.mean(0) for table in case.tables()]
    names = ["encoder.hook_embed", "decoder.hook_embed"]
    ends = [case.hooks[name] for name in names]

    def logit(rows):
        y = case.model.forward(case.source, case.tokens, {n: lambda value, r=r: r for n, r in zip(names, rows)})["logits"][POSITION]
        return y[case.token] - y[OTHER_TOKEN]

    def slopes(share):
        rows = [(mean + (end - mean) * share).detach().requires_grad_() for mean, end in zip(means, ends)]
        return torch.autograd.grad(logit(rows), rows)

    def along(share, ways):
        return torch.cat([(slope * way).sum(-1) for slope, way in zip(slopes(share), ways)])

    out["gradient_times_input"] = along(1.0, ends)
    nodes, weights = numpy.polynomial.legendre.leggauss(STEPS)  # from -1 to 1
    ways = [end - mean for end, mean in zip(ends, means)]
    out["integrated_gradients"] = sum(weight / 2 * along((node + 1) / 2, ways) for node, weight in zip(nodes, weights))
    out["baseline_logit"] = logit([mean + 0 * end for mean, end in zip(means, ends)]).detach()[None]
    gap = float(logit(ends)) - float(out["baseline_logit"])
    print("complete to", float(out["integrated_gradients"].sum()) - gap)


def flows(case, out):
    N, maps = case.S + case.T, []
    for site in case.sites:
        step = torch.eye(N, dtype=torch.float64)
        query, key = (case.S if site.startswith("decoder") else 0), (case.S if site.startswith("decoder") and site.endswith(".attn") else 0)
        pattern = case.hooks[site + ".hook_pattern"].mean(0)
        step[query:query + pattern.shape[0], key:key + pattern.shape[1]] += pattern
        maps.append(step / step.sum(-1, keepdim=True))
    rolled = torch.eye(N, dtype=torch.float64)
    for each in maps:
        rolled = each @ rolled
    out["flow.rollout"] = rolled[-1]
    capacity = {}
    for n, each in enumerate(maps):
        for above in range(N):
            capacity[(n + 1, above)] = {(n, below): float(each[above, below]) for below in range(N) if each[above, below] > 0}
    values = torch.tensor([maximum_flow(capacity, (len(maps), N - 1), (0, below)) for below in range(N)], dtype=torch.float64)
    out["flow.flow"] = values / values.sum()


def weighted(case, out):
    """Of the last site, which is cross-attention."""
    site, w = case.sites[-1], case.model.weights
    layer = site.split(".")[1]
    name = f"decoder.block.{layer}.layer.1.EncDecAttention.o" if "shared.weight" in w else f"model.decoder.layers.{layer}.encoder_attn.out_proj"
    pattern, v = case.hooks[site + ".hook_pattern"][HEAD], case.hooks[site + ".hook_v"][:, HEAD]
    D = v.shape[1]
    out["weighted.value"] = pattern * v.norm(dim=-1)
    out["weighted.norm"] = pattern * (v @ w[name + ".weight"][:, HEAD * D:(HEAD + 1) * D].T).norm(dim=-1)


def sweeps(case, out):
    """Effects on the logit of the last token's most likely successor."""
    token, last = int(case.logits[-1].argmax()), case.logits[-1]

    def without(head):
        def change(value):
            value = value.clone()
            value[:, head] = 0
            return value
        return change

    def logit(changes):
        return case.run(changes)[-1][token]

    counts = [case.hooks[site + ".hook_z"].shape[1] for site in case.sites]
    out["effects.heads"] = torch.zeros(len(case.sites), max(counts), dtype=torch.float64)
    for index, (site, count) in enumerate(zip(case.sites, counts)):
        for head in range(count):
            out["effects.heads"][index, head] = logit({site + ".hook_z": without(head)}) - last[token]
    out["effects.mlps"] = torch.stack([logit({block + ".hook_mlp_out": torch.zeros_like}) - last[token] for block in case.blocks])

    other_source = (case.source * 7 + 3) % len(case.tables()[0])
    other = case.model.run(other_source, case.tokens)
    target = int(other["logits"][-1].argmax())
    own, theirs = ((y[target] - y[token] if target != token else y[target]) for y in (last, other["logits"][-1]))

    def patched(name, row):
        def change(value):
            value = value.clone()
            value[row] = other[name][row]
            return value
        return change

    shares = torch.full((len(case.blocks), case.S + case.T), float("nan"), dtype=torch.float64)
    for index, block in enumerate(case.blocks):
        name, first = block + ".hook_resid_pre", 0 if block.startswith("encoder") else case.S
        for row in range(len(case.hooks[name])):
            y = case.run({name: patched(name, row)})[-1]
            shares[index, first + row] = ((y[target] - y[token] if target != token else y[target]) - own) / (theirs - own)
    out["patch.other_source"] = other_source.int()
    out["patch.shares"] = shares
    print("gap", float(theirs - own))


def main():
    torch.set_num_threads(1)
    for name in ("t5", "marian_two_tables"):
        case, out = Case(name), {}
        lens(case, out)
        if name == "t5":
            attribution(case, out)
        gradients(case, out)
        flows(case, out)
        weighted(case, out)
        sweeps(case, out)
        safetensors_file.write(HERE / name / "analysis.safetensors",
                               {n: t.detach().float() if t.is_floating_point() else t for n, t in out.items()})
        print(name, json.dumps({n: list(t.shape) for n, t in out.items()}))


if __name__ == "__main__":
    main()
