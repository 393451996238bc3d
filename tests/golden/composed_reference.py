"""Models with composed attention in plain torch operations, as an implementation independent of the engine.

encoder() takes (config, weights, tokens, types, divisor) and decoder() (config, weights, tokens) with the engine's names of tensors, as
files of the family attention-lab have them, and they return the logits of all tokens. Of the parts it knows what the cases of training/*.recipe.json use. `divisor` narrows windows.
"""
import re

import torch

from encoder_reference import norm
from parts import normal, sinusoid, tree_places
from reference import ACTIVATIONS


def part(text, slot, default):
    """("linformer", {"rank": 8.0}) of "normaliser=linformer(rank = 8)"; values without a name are numbered."""
    found = re.search(rf"\b{slot}=(\w+)(?:\(([^)]*)\))?", text)
    if not found:
        return default, {}
    values = [value.split("=") for value in (found[2] or "").split(",") if value]
    return found[1], {(value[0].strip() if len(value) == 2 else i): float(value[-1]) for i, value in enumerate(values)}


def visible(text, length, divisor):
    """[T,T]: what longformer(w, d, g) shows."""
    kind, values = part(text, "mask", "full")
    if kind == "full":
        return torch.ones(length, length, dtype=torch.bool)
    if re.search(r"\bmask=causal\b", text):
        return torch.ones(length, length, dtype=torch.bool).tril()
    assert kind == "longformer"
    width, dilation, globals_ = max(1, int(values[0]) // divisor), int(values[1]), int(values[2])
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    near = ((i - j).abs() < width * dilation) & ((i - j) % dilation == 0)
    return near | (i < globals_) | (j < globals_)


def places(length, rows, columns, leading, height=1, width=1):
    """The rows and columns of pixels after the leading tokens, [T] each, written block by block; and which tokens are pixels."""
    nth = torch.arange(length) - leading
    inside = (nth >= 0) & (nth < rows * columns)
    grid = torch.arange(rows * columns).reshape(rows // height, height, columns // width, width)
    place = grid.permute(0, 2, 1, 3).flatten()[nth.clamp(0, rows * columns - 1)]
    return place.div(columns, rounding_mode="floor"), place % columns, inside


def grid_terms(length, rows, columns, leading, height=1, width=1):
    """Of a picture after its leading tokens, which see and are seen by all: whether both are pixels; their rows and columns, each as
    the query's [T,1] and the key's [1,T]."""
    row, column, inside = places(length, rows, columns, leading, height, width)
    place = torch.arange(length) - leading
    free = (place < 0)[:, None] | (place < 0)[None, :]
    return free, inside[:, None] & inside[None, :], (row[:, None], row[None, :]), (column[:, None], column[None, :])


def term(name, numbers, length):
    """[T,T]: what a term of a mask shows of a picture that is written pixel by pixel."""
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    if name == "causal":
        return j <= i
    if name == "global":
        return (i < numbers[0]) | (j < numbers[0])
    if name == "blocks":
        return i // numbers[0] == j // numbers[0]
    if name == "strided":  # Child et al. 2019, section 4.3
        return (j <= i) & ((i - j <= numbers[0]) | ((i - j) % numbers[0] == 0))
    free, inside, (query_row, key_row), (query_column, key_column) = grid_terms(
        length, numbers[0], numbers[1], numbers[6 if name == "local2d" else 2], *(numbers[2:4] if len(numbers) == 8 and numbers[7] else ()))
    if name == "row":  # Ho et al. 2019, section 3
        return free | inside & (query_row == key_row)
    if name == "column":
        return free | inside & (query_column == key_column)
    if name == "axial":
        return free | inside & ((query_row == key_row) | (query_column == key_column))
    assert name == "local2d"  # Parmar et al. 2018, section 3.3
    height, width, up, side = numbers[2:6]
    top, left = query_row.div(height, rounding_mode="floor") * height, query_column.div(width, rounding_mode="floor") * width
    near = (key_row >= top - up) & (key_row < top + height) & (key_column >= left - side) & (key_column < left + width + side)
    return free | inside & near


def joined(expression, length):
    """[T,T] of "a(1) | b & ~c": & binds more tightly, and there are no brackets around terms."""
    shown = torch.zeros(length, length, dtype=torch.bool)
    for choice in expression.split("|"):
        every = torch.ones(length, length, dtype=torch.bool)
        for text in choice.split("&"):
            hides, name, numbers = re.fullmatch(r"\s*(~?)(\w+)(?:\(([^)]*)\))?\s*", text).groups()
            shown_by_term = term(name, [int(number) for number in (numbers or "").split(",") if number], length)
            every &= ~shown_by_term if hides else shown_by_term
        shown |= every
    return shown


def of_heads(text, length, heads):
    """[H,T,T]: what each head sees."""
    mask = text.partition("mask=")[2]
    if not mask.startswith("per_head("):
        return joined(mask, length).expand(heads, -1, -1)
    each = re.split(r",(?![^()]*\))", mask[len("per_head("):-1])  # commas outside of brackets
    return torch.stack([joined(each[head % len(each)], length) for head in range(heads)])


def turned(x):
    """Rotary positions over all features of x [T,H,D]: feature m is paired with m + D/2."""
    half = x.shape[-1] // 2
    angles = torch.arange(len(x), dtype=x.dtype)[:, None] * 10000 ** (-torch.arange(half, dtype=x.dtype) / half)
    cos, sin = torch.cos(angles)[:, None], torch.sin(angles)[:, None]
    return torch.cat((x[..., :half] * cos - x[..., half:] * sin, x[..., half:] * cos + x[..., :half] * sin), -1)


def softmax_of(q, k, v, seen):
    scores = torch.einsum("thd,shd->hts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("hts,shd->thd", torch.softmax(scores.masked_fill(~seen, -torch.inf), -1), v)


def mixed(text, w, x, at):
    """What a mixer of the stream makes of the rows x [T,C], or None."""
    kind, _ = part(text, "mixer", "attention")
    if kind == "fnet":
        return torch.fft.fft2(x).real
    if kind == "mlp_mixer":
        hidden = torch.nn.functional.gelu(w[at + "mixer.W_1"] @ x + w[at + "mixer.b_1"][:, None])
        return w[at + "mixer.W_2"] @ hidden + w[at + "mixer.b_2"][:, None]
    return None


def aft(kind, values, w, q, k, v, seen, at):
    """Zhai et al. 2021, equations 2 and 4. q, k, v [T,H,D]."""
    length, window, learned = len(q), int(values["window"]), w[at + "normaliser.w"]
    exists = (torch.arange(length)[None, :] - torch.arange(length)[:, None]).abs() < window
    bias = torch.zeros(q.shape[1], length, length, dtype=q.dtype)
    for t, s in exists.nonzero().tolist():
        bias[:, t, s] = learned[t, s - t + window - 1] if kind == "aft_local" else learned[:, s - t + window - 1]
    weight = torch.exp(bias)[..., None] * torch.exp(k).transpose(0, 1)[:, None] * seen[None, :, :, None]  # [H,T,S,D]
    mean = (weight * v.transpose(0, 1)[:, None]).sum(2) / weight.sum(2)
    return torch.sigmoid(q) * mean.transpose(0, 1)


def gated_features(values, w, x, q, k, v, at):
    """Peng et al. 2021, sections 3.1 and 3.2, token by token, with a gate that reads x [T,C]. q, k, v [T,H,D]."""
    sigma, length, heads, width = values.get("sigma", 1), *q.shape
    directions = torch.tensor(normal(0, (int(values.get("features", 64)) // 2, width), 1 / sigma))
    lengthened = lambda rows: rows / ((rows * rows).sum(-1, keepdim=True) + 1e-12).sqrt() if values.get("unit", 1) else rows  # noqa: E731
    r = w[at + "normaliser.r"].reshape(heads, width) if values.get("learned") else 1
    phi = lambda rows: torch.cat((torch.sin(rows @ directions.T), torch.cos(rows @ directions.T)), -1)  # noqa: E731
    q, k = r * lengthened(q), r * lengthened(k)
    keys = phi(k) * torch.exp((k * k).sum(-1, keepdim=True) / (2 * sigma**2))
    gate = torch.sigmoid(x @ w[at + "normaliser.w_g"].T + w[at + "normaliser.b_g"].reshape(heads))[..., None]  # [T,H,1]
    state, total, z = 0, 0, []
    for t in range(length):
        state = gate[t, ..., None] * state + (1 - gate[t, ..., None]) * keys[t][..., None] * v[t][:, None]  # [H,F,D]
        total = gate[t] * total + (1 - gate[t]) * keys[t]
        query = phi(q[t])
        z.append(torch.einsum("hf,hfd->hd", query, state) / (query * total).sum(-1, keepdim=True))
    return torch.stack(z)


def tree_softmax(q, k, v, places, clip, w, at):
    """Keys and values with rows for the places of two words in a tree [T,T] (Wang et al. 2019, section 3, as Shaw et al. 2018)."""
    index = torch.tensor(places).clamp(-clip, clip) + clip
    scores = torch.einsum("thd,tshd->hts", q, k[None] + w[at + "position.keys"][index][:, :, None])
    weights = torch.softmax(scores * q.shape[-1] ** -0.5, -1)
    return torch.einsum("hts,tshd->thd", weights, v[None] + w[at + "position.values"][index][:, :, None])


def attention(text, w, x, layer, heads, divisor, parents=None):
    """What the attention adds to the stream, [T,C]."""
    at = f"blocks.{layer}.attn."
    rows = mixed(text, w, x, at)
    return projected(text, w, x, layer, heads, divisor, parents) @ w[at + "W_O"].T + w[at + "b_O"] if rows is None else rows


def projected(text, w, x, layer, heads, divisor, parents=None):
    at = f"blocks.{layer}.attn."
    project = lambda name: (x @ w[f"{at}W_{name}"].T + w[f"{at}b_{name}"]).reshape(len(x), heads, -1)  # noqa: E731
    turn = turned if part(text, "position", "none")[0] == "rope" else lambda rows: rows
    q, k, v = project("Q"), project("K"), project("V")
    kind, values = part(text, "normaliser", "softmax")
    if part(text, "position", "none")[0] == "dependency_tree":
        clip = int(part(text, "position", "none")[1].get("clip", 4))
        return tree_softmax(q, k, v, tree_places(parents)[1], clip, w, at).reshape(len(x), -1)
    if kind == "rfa":
        return gated_features(values, w, x, q, k, v, at).reshape(len(x), -1)
    if kind == "linformer":
        shared = int(values.get("shared", 0))
        first = {2: "blocks.0.attn."}.get(shared, at) + "normaliser."
        e = w[first + "E"]
        f = e if shared > 0 else w[first + "F"]
        rank = int(values["rank"])  # files hold the matrices of all heads below each other
        e, f = (m.reshape(-1, rank, m.shape[-1]).expand(heads, -1, -1) for m in (e, f))  # [H,rank,S]
        k, v = torch.einsum("hrs,shd->rhd", e, k), torch.einsum("hrs,shd->rhd", f, v)
        return softmax_of(q, k, v, torch.ones(len(q), len(k), dtype=torch.bool)).reshape(len(x), -1)
    if kind == "xcit":
        unit = lambda rows: torch.nn.functional.normalize(rows.permute(1, 2, 0), dim=-1)  # noqa: E731
        scores = unit(q) @ unit(k).transpose(1, 2) * w[at + "normaliser.temperature"][:, None, None] / values.get("temperature", 1)
        return torch.einsum("hde,the->thd", torch.softmax(scores, -1), v).reshape(len(x), -1)
    seen = of_heads(text, len(x), heads) if "causal &" in text or "& causal" in text else visible(text, len(x), divisor)
    if kind in ("aft_local", "aft_conv"):
        return aft(kind, values, w, q, k, v, seen, at).reshape(len(x), -1)
    z = softmax_of(turn(q), turn(k), v, seen)
    kind, values = part(text, "projections", "one")
    if kind == "global":  # as transformers' LongformerSelfAttention: query_global, key_global, value_global
        count = int(values.get("g", 1))
        rows = softmax_of(turn(project("Q_global"))[:count], turn(project("K_global")), project("V_global"), seen[:count])
        z = torch.cat((rows, z[count:]))
    return z.reshape(len(x), -1)


def named(w):
    """With the names that norm() reads."""
    names = {name.removesuffix(".w") + ".weight" if name.endswith(".w") else name: tensor for name, tensor in w.items()}
    return {name.removesuffix(".b") + ".bias" if name.endswith(".b") else name: tensor for name, tensor in names.items()}


def axial_decoder(config, w, names, embedding):
    """Ho et al. 2019, section 3.3, over [class, pixel, ...]: token t stands for pixel t - 1, and its row predicts pixel t. The outer
    decoder's picture [rows,columns,C] moves down by one row; the embedding already stands one pixel further right."""
    epsilon, heads, act = config["norm_epsilon"], config["heads"], ACTIVATIONS[config["activation"]]
    numbers = part(config["attention"][0], "residual", "")[1]
    rows, columns, outer_layers, leading = (int(numbers.get(name, initial)) for name, initial in (("rows", 4), ("cols", 4), ("outer", 2), ("leading", 0)))
    assert leading == 1 and len(embedding) == 1 + rows * columns
    x = embedding
    for layer, text in enumerate(config["attention"]):
        if layer == outer_layers:
            picture = x[1:].reshape(rows, columns, -1)
            below = torch.cat((torch.zeros_like(picture[:1]), picture[:-1])).reshape(rows * columns, -1)
            x = embedding + torch.cat((below, x[1 + (rows - 1) * columns:][:1]))  # the last token predicts no pixel
        at = f"blocks.{layer}."
        x = x + attention(text, w, norm(x, names, at + "ln1", epsilon), layer, heads, 1)
        hidden = act(norm(x, names, at + "ln2", epsilon) @ w[at + "mlp.W_in"].T + w[at + "mlp.b_in"])
        x = x + hidden @ w[at + "mlp.W_out"].T + w[at + "mlp.b_out"]
    return norm(x, names, "ln_final", epsilon) @ w["embed.W_E"].T


def decoder(config, w, tokens):
    """Norms before the sublayers; or two reversible streams (Kitaev et al. 2020, equation 9) that begin as the embedding, of which the
    mean is read. The backward pass keeps all."""
    epsilon, heads, names = config["norm_epsilon"], config["heads"], named(w)
    x = w["embed.W_E"][tokens]
    kind, numbers = part(config["attention"][0], "position", "none")
    if kind == "learned":
        x = x + w["blocks.0.attn.position.table"][: len(x)]
    if kind == "learned_2d":
        row, column, inside = places(len(x), *(int(numbers.get(name, 1)) for name in ("rows", "columns", "leading", "block_height", "block_width")))
        x = x + inside[:, None] * torch.cat((w["blocks.0.attn.position.rows"][row], w["blocks.0.attn.position.columns"][column]), -1)
    if part(config["attention"][0], "residual", "pre_norm")[0] == "axial":
        return axial_decoder(config, w, names, x)
    if part(config["attention"][0], "residual", "pre_norm")[0] == "pre_norm":
        act = ACTIVATIONS[config["activation"]]
        for layer, text in enumerate(config["attention"]):
            at = f"blocks.{layer}."
            x = x + attention(text, w, norm(x, names, at + "ln1", epsilon), layer, heads, 1)
            hidden = act(norm(x, names, at + "ln2", epsilon) @ w[at + "mlp.W_in"].T + w[at + "mlp.b_in"])
            x = x + hidden @ w[at + "mlp.W_out"].T + w[at + "mlp.b_out"]
        return norm(x, names, "ln_final", epsilon) @ w["embed.W_E"].T
    first = second = x
    for layer, text in enumerate(config["attention"]):
        at = f"blocks.{layer}."
        assert part(text, "residual", "")[0] == "reversible" and part(text, "feed_forward", "")[0] == "relu"
        first = first + attention(text, w, norm(second, names, at + "ln1", epsilon), layer, heads, 1)
        hidden = torch.relu(norm(first, names, at + "ln2", epsilon) @ w[at + "mlp.W_in"].T + w[at + "mlp.b_in"])
        second = second + hidden @ w[at + "mlp.W_out"].T + w[at + "mlp.b_out"]
    return norm((first + second) / 2, names, "ln_final", epsilon) @ w["embed.W_E"].T


def encoder(config, w, tokens, types, divisor=1, parents=None):
    """parents: of a text with a tree, for each word the number of the one above it, from 1; 0 for the root."""
    epsilon, act, heads = config["norm_epsilon"], ACTIVATIONS[config["activation"]], config["heads"]
    names = named(w)
    x = norm(w["embed.W_E"][tokens] + w["token_type_embed.W_token_type"][types], names, "embed.ln", epsilon)
    for layer, text in enumerate(config["attention"]):
        if layer == 0 and part(text, "position", "none")[0] == "learned":
            x = x + w["blocks.0.attn.position.table"][: len(x)]
        if layer == 0 and parents is not None:
            x = x + torch.tensor(sinusoid(tree_places(parents)[0], x.shape[1]))
        at = f"blocks.{layer}."
        x = norm(x + attention(text, w, x, layer, heads, divisor, parents), names, at + "ln1", epsilon)
        hidden = act(x @ w[at + "mlp.W_in"].T + w[at + "mlp.b_in"])
        x = norm(x + hidden @ w[at + "mlp.W_out"].T + w[at + "mlp.b_out"], names, at + "ln2", epsilon)
    if "classifier.W" in w:
        return x @ w["classifier.W"].T + w["classifier.b"]
    hidden = norm(act(x @ w["mlm_head.W"].T + w["mlm_head.b"]), names, "mlm_head.ln", epsilon)
    return hidden @ w["embed.W_E"].T + w["unembed.b_U"]
