"""ETC and its training on hidden segments in plain torch operations, as an implementation independent of the engine.

The model is BERT's block around ETC's attention: labels of pairs of tokens (Ainslie et al. 2020, arXiv:2004.08483, section 3) and a
global token that sees only its own segment. Weights have the engine's names, as in its files. Everything is written pair by pair from
the paper's definitions: which piece a pair belongs to, its label, and whether it is visible.
"""
import re

import torch

from reference import ACTIVATIONS, layer_norm

CPC_SHARE = 0.2


def numbers_of(config, name):
    (attention,) = set(config["attention"])
    return [int(number) for number in re.findall(r"\d+", re.search(rf"{name}\(([^)]*)\)", attention).group(1))]


class Structure:
    """The pairs of tokens of one row: g global tokens, then g segments of n tokens."""

    def __init__(self, config, length):
        self.g, self.n, self.clip = numbers_of(config, "position=etc")
        g, radius, n = numbers_of(config, "mask=etc_hard")
        assert (g, n) == (self.g, self.n)
        segment = [t if t < g else (t - g) // n for t in range(length)]
        kinds = {"g2g": [], "g2l": [], "l2g": [], "l2l": []}
        self.seen = torch.zeros(length, length, dtype=torch.bool)
        self.alone = torch.zeros(length, length, dtype=torch.bool)
        for i in range(length):
            for j in range(length):
                own = segment[i] == segment[j]
                self.alone[i, j] = own
                piece = ("g" if i < g else "l") + "2" + ("g" if j < g else "l")
                if piece in ("g2g", "l2l"):
                    label = max(-self.clip, min(self.clip, j - i)) + self.clip
                    self.seen[i, j] = piece == "g2g" or abs(i - j) <= radius
                else:
                    label = int(own)
                    self.seen[i, j] = piece == "l2g" or own
                kinds[piece].append((i, j, label))
        self.pieces = {piece: torch.tensor(pairs).T for piece, pairs in kinds.items()}

    def scores(self, q, k, w, at):
        """q . (k + a) / sqrt(D) for every pair. q, k [T,H,D]; Returns [H,T,T]."""
        scores = torch.einsum("thd,shd->hts", q, k)
        for piece, (i, j, label) in self.pieces.items():
            vectors = w[f"{at}position.{piece}"].reshape(q.shape[1], -1, q.shape[2])[:, label]  # [H labels,D] -> [H,pairs,D]
            scores = scores.index_put((torch.arange(q.shape[1])[:, None], i[None], j[None]), (q[i].transpose(0, 1) * vectors).sum(-1), accumulate=True)
        return scores * q.shape[-1] ** -0.5


def encode(config, w, structure, tokens, seen):
    """The rows after the last layer, [T,C]."""
    epsilon, act, heads = config["norm_epsilon"], ACTIVATIONS[config["activation"]], config["heads"]
    norm = lambda x, name: layer_norm(x, w[name + ".w"], w[name + ".b"], epsilon)
    linear = lambda x, at, name: x @ w[f"{at}W_{name}"].T + w[f"{at}b_{name}"]
    x = norm(w["embed.W_E"][tokens] + w["token_type_embed.W_token_type"][0], "embed.ln")
    for layer in range(len(config["attention"])):
        at = f"blocks.{layer}."
        q, k, v = (linear(x, at + "attn.", name).reshape(len(tokens), heads, -1) for name in "QKV")
        pattern = torch.softmax(structure.scores(q, k, w, at + "attn.").masked_fill(~seen, -1e30), -1)
        z = torch.einsum("hts,shd->thd", pattern, v).reshape(len(tokens), -1)
        x = norm(x + linear(z, at + "attn.", "O"), at + "ln1")
        x = norm(x + linear(act(linear(x, at + "mlp.", "in")), at + "mlp.", "out"), at + "ln2")
    return x


def loss(config, w, batches, step):
    """Of hidden tokens and of hidden segments, whose global tokens must agree with the segments read alone."""
    structure, logits, globals_, summaries = None, [], [], []
    for tokens, whole in zip(batches["inputs"][step].long(), batches["whole"][step].long()):
        structure = structure or Structure(config, len(tokens))
        x = encode(config, w, structure, tokens, structure.seen)
        hidden = ACTIVATIONS[config["activation"]](x @ w["mlm_head.W"].T + w["mlm_head.b"])
        hidden = layer_norm(hidden, w["mlm_head.ln.w"], w["mlm_head.ln.b"], config["norm_epsilon"])
        logits.append(hidden @ w["embed.W_E"].T + w["unembed.b_U"])
        globals_.append(x[: structure.g])
        summaries.append(encode(config, w, structure, whole, structure.seen & structure.alone)[: structure.g])
    words = torch.nn.functional.cross_entropy(torch.cat(logits), batches["targets"][step].long().flatten(), ignore_index=-1)
    agreement = torch.cat(globals_) @ torch.cat(summaries).T * config["width"] ** -0.5
    hidden = batches["hidden"][step].long().flatten().nonzero().flatten()
    segments = torch.nn.functional.cross_entropy(agreement[hidden], hidden)
    return (1 - CPC_SHARE) * words + CPC_SHARE * segments
