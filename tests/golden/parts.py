"""Checks every part of attention against its paper's equations in NumPy and float64.

    parts.py CLI [PATTERN]

Runs `attention-cli attend` on random queries, keys and values, reads the numbers that it has learned or drawn, computes the
output again from the equations, and compares. Ends with 77 where NumPy is missing.
"""
import itertools
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

HEADS, TOKENS, WIDTH = 2, 12, 8
TOLERANCE = 2e-4  # exponentials and sums in single precision


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        values = np.ascontiguousarray(values, dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Run:
    """One run of the program: its inputs, results and numbers in float64."""

    def __init__(self, cli, spec, folder, deviation=1.0, tokens=TOKENS, heads=HEADS, groups=None, layer=0):
        random, groups = np.random.default_rng(len(spec)), groups or heads
        inputs = {"q": random.standard_normal((heads, tokens, WIDTH)) * deviation,
                  "k": random.standard_normal((groups, tokens, WIDTH)) * deviation,
                  "v": random.standard_normal((groups, tokens, WIDTH))}
        source, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.npz")
        write_safetensors(source, inputs)
        subprocess.run([cli, "attend", "--spec", spec, "--input", source, "--out", target, "--seed", "3", "--layer", str(layer)],
                       check=True, stderr=subprocess.DEVNULL)
        results = {name: values.astype(np.float64) for name, values in np.load(target).items()}
        self.output = results["output"]
        self.pattern = results.get("pattern")
        self.numbers = {name.split(".", 1)[1]: values for name, values in results.items()
                        if name.startswith(("learned.", "drawn."))}
        self.q, self.k, self.v = (np.repeat(inputs[name].astype(np.float32).astype(np.float64), heads // len(inputs[name]), 0)
                                  for name in "qkv")
        self.T, self.layer = tokens, layer
        self.i, self.j = np.arange(tokens)[:, None], np.arange(tokens)[None, :]
        self.causal = self.j <= self.i

    def __getitem__(self, name):
        return self.numbers[name]


def softmax(x, axis=-1):
    x = np.exp(x - x.max(axis, keepdims=True))
    return x / x.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unit(x, axis=-1):
    return x / np.sqrt((x * x).sum(axis, keepdims=True) + 1e-12)


def dots(q, k):
    return q @ np.swapaxes(k, -1, -2)


def attend(scores, mask, v):
    """Softmax over the visible keys; zeros for a query that sees none."""
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0))
    total = weights.sum(-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)) @ v


def plain(run, scores=None, mask=None, q=None, k=None):
    q, k = run.q if q is None else q, run.k if k is None else k
    scores = dots(q, k) / np.sqrt(WIDTH) if scores is None else scores
    mask = run.causal if mask is None else mask
    return attend(scores, np.broadcast_to(mask, scores.shape), run.v)


def sinusoid(positions, width, base=10000.0):
    feature = np.arange(width)
    angle = np.asarray(positions, dtype=np.float64)[..., None] * base ** (-(feature // 2 * 2) / width)
    return np.where(feature % 2 == 0, np.sin(angle), np.cos(angle))


# ---- heads, projections, scores, outputs ------------------------------------------------------------------------------------


def shared_query_key(run):
    scores = dots(run.q, unit(run.q)) / np.sqrt(WIDTH) - 1e5 * np.eye(run.T)
    return plain(run, scores)


def talking_heads(run):
    scores = np.einsum("hg,gts->hts", run["heads.scores"], dots(run.q, run.k) / np.sqrt(WIDTH))
    weights = softmax(np.where(run.causal, scores, -1e30))
    return np.einsum("hg,gts->hts", run["heads.weights"], weights) @ run.v


def random_synthesizer(run, places):
    return softmax(run["score.R"][:, places][:, :, places]) @ run.v


def additive(run):
    hidden = np.tanh((run.q @ np.swapaxes(run["score.W"], -1, -2))[:, :, None] +
                     (run.k @ np.swapaxes(run["score.U"], -1, -2))[:, None])
    return plain(run, np.einsum("htsd,hd->hts", hidden, run["score.v"].reshape(HEADS, -1)))


def cosine(run, scale):
    return plain(run, scale * dots(unit(run.q), unit(run.k)))


def learned_cosine(run):
    return cosine(run, np.exp(np.minimum(run["score.log_scale"] + np.log(10), np.log(100))))


# ---- positions -------------------------------------------------------------------------------------------------------------


def added(run, rows):
    return plain(run, q=run.q + rows, k=run.k + rows)


def on_grid(run, rows, columns, leading, height=1, width=1):
    """The rows and columns of the patches, [T] each, written block by block; and 0 for leading tokens, which have no place, [T,1]."""
    order = block_by_block(rows, columns, height, width)[np.maximum(np.arange(run.T) - leading, 0)]
    return order // columns, order % columns, (np.arange(run.T) >= leading)[:, None]


def sinusoidal_2d(run, *grid):
    row, column, is_patch = on_grid(run, *grid)
    return added(run, is_patch * np.concatenate([sinusoid(row, WIDTH // 2), sinusoid(column, WIDTH // 2)], -1))


def learned_2d(run, *grid):
    row, column, is_patch = on_grid(run, *grid)
    return added(run, is_patch * np.concatenate([run["position.rows"][row], run["position.columns"][column]], -1))


def shaw(run, clip):
    index = np.clip(run.j - run.i, -clip, clip) + clip
    keys, values = run["position.keys"][index], run["position.values"][index]  # [T,S,D]
    scores = (dots(run.q, run.k) + np.einsum("htd,tsd->hts", run.q, keys)) / np.sqrt(WIDTH)
    weights = softmax(np.where(run.causal, scores, -1e30))
    return weights @ run.v + np.einsum("hts,tsd->htd", weights, values)


def transformer_xl(run):
    distance = sinusoid(run.i - run.j, WIDTH)  # r_{i-j}
    rows = np.einsum("hde,tse->htsd", run["position.W_R"], distance)
    u, v = run["position.u"], run["position.v"]
    scores = dots(run.q + u, run.k) + np.einsum("htd,htsd->hts", run.q + v, rows)
    return plain(run, scores / np.sqrt(WIDTH))


def t5_buckets(relative, bidirectional, buckets=32, most=128):
    """As in the paper's code: relative is key minus query."""
    result, n = np.zeros_like(relative), -relative
    if bidirectional:
        buckets //= 2
        result = result + (n < 0) * buckets
        n = np.abs(n)
    else:
        n = np.maximum(n, 0)
    exact = buckets // 2
    far = exact + (np.log(np.maximum(n, 1) / exact) / np.log(most / exact) * (buckets - exact)).astype(int)
    return result + np.where(n < exact, n, np.minimum(far, buckets - 1))


def biased(run, bias, mask=None):
    return plain(run, dots(run.q, run.k) / np.sqrt(WIDTH) + bias, mask)


def t5(run, bidirectional):
    bias = run["position.buckets"][t5_buckets(run.j - run.i, bidirectional)]
    return biased(run, np.moveaxis(bias, -1, 0), np.ones_like(run.causal) if bidirectional else None)


def rope(run, interleaved, base=10000.0):
    frequency = base ** (-np.arange(WIDTH // 2) * 2 / WIDTH)
    angle = np.arange(run.T)[:, None] * frequency

    def turned(x):
        first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :WIDTH // 2], x[..., WIDTH // 2:])
        a, b = first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)
        return np.stack([a, b], -1).reshape(x.shape) if interleaved else np.concatenate([a, b], -1)

    return plain(run, q=turned(run.q), k=turned(run.k))


def alibi(run):
    slope = 2.0 ** (-8 * np.arange(1, HEADS + 1) / HEADS)
    return biased(run, -slope[:, None, None] * (run.i - run.j))


def distance_aware(run):
    alpha, beta = run["position.alpha"][:, :, None], run["position.beta"][:, :, None]
    factor = (1 + np.exp(beta)) / (1 + np.exp(beta - alpha * np.abs(run.i - run.j)))
    return plain(run, np.maximum(dots(run.q, run.k), 0) / np.sqrt(WIDTH) * factor)


def grid_of(run, columns, leading):
    place = np.arange(run.T) - leading
    row, column = place // columns, place % columns
    return place >= 0, row[:, None] - row[None], column[:, None] - column[None]


def grid_bias(run, columns, reach, leading):
    is_patch, rows, across = grid_of(run, columns, leading)
    index = (np.clip(rows, -reach, reach) + reach) * (2 * reach + 1) + np.clip(across, -reach, reach) + reach
    bias = np.moveaxis(run["position.grid_bias"][index], -1, 0)
    return biased(run, np.where(is_patch[:, None] & is_patch[None], bias, 0), np.ones_like(run.causal))


def log_bias(run, rows, columns, leading):
    is_patch, down, across = grid_of(run, columns, leading)

    def spaced(offset, most):
        share = 8 * offset / most
        return np.sign(share) * np.log2(1 + np.abs(share)) / np.log2(8)

    inputs = np.stack([spaced(down, rows - 1), spaced(across, columns - 1)], -1)
    units = np.maximum(inputs @ run["position.W_1"].T + run["position.b_1"][0], 0)
    bias = 16 * sigmoid(np.moveaxis(units @ run["position.W_2"].T, -1, 0))
    return biased(run, np.where(is_patch[:, None] & is_patch[None], bias, 0), np.ones_like(run.causal))


def tupe(run, reach, has_cls):
    positions = run["position.table"][:run.T]
    of_query, of_key = (np.einsum("tc,hdc->htd", positions, run[name]) for name in ("position.U_Q", "position.U_K"))
    term = dots(of_query, of_key) / np.sqrt(2 * WIDTH)
    if reach:
        term = term + np.moveaxis(run["position.diagonals"][np.clip(run.j - run.i, -reach, reach) + reach], -1, 0)
    if has_cls:
        term[:, :, 0] = run["position.theta_2"][:, 0]
        term[:, 0, :] = run["position.theta_1"][:, 0]
    return plain(run, dots(run.q, run.k) / np.sqrt(2 * WIDTH) + term, np.ones_like(run.causal))


def tree_places(heads):
    """Wang et al. 2019, section 3, from the paths of words to the root: depths [N] and relative positions [N,N]."""
    paths = []  # of each word: itself, then upwards
    for word in range(len(heads)):
        path = [word]
        while heads[path[-1]]:
            path.append(heads[path[-1]] - 1)
        paths.append(path)
    depth = np.array([len(path) - 1 for path in paths])
    relative = np.zeros((len(heads), len(heads)), dtype=int)
    for i, j in itertools.product(range(len(heads)), repeat=2):
        if i in paths[j] or j in paths[i]:
            relative[i, j] = depth[i] - depth[j]
        else:
            relative[i, j] = (1 if i > j else -1) * (depth[i] + depth[j])
    return depth, relative


def dependency_tree(run, heads, clip, has_depth, leading):
    """Shaw's keys and values for the places of words in a tree."""
    depth, places = tree_places(heads)
    relative, known = np.zeros((run.T, run.T), dtype=int), np.zeros((run.T, run.T), dtype=bool)
    words = slice(leading, leading + len(heads))
    inside = relative[words, words].shape[0]
    relative[words, words] = places[:inside, :inside]
    known[words, words] = True
    index = np.clip(relative, -clip, clip) + clip
    keys, values = (np.where(known[..., None], run[name][index], 0) for name in ("position.keys", "position.values"))
    rows = np.zeros((run.T, WIDTH))
    count = min(len(heads), run.T - leading)
    if has_depth:
        rows[leading:leading + count] = sinusoid(depth[:count], WIDTH)
    q, k = run.q + rows, run.k + rows
    weights = softmax((dots(q, k) + np.einsum("htd,tsd->hts", q, keys)) / np.sqrt(WIDTH))
    return weights @ run.v + np.einsum("hts,tsd->htd", weights, values)


# ---- normalisers and mixers --------------------------------------------------------------------------------------------------


def by_features(run, a, b, mask=None, normalised=True):
    weights = dots(a, b) * (run.causal if mask is None else mask)
    if normalised:
        weights = weights / weights.sum(-1, keepdims=True)
    return weights @ run.v


def linear(run):
    phi = lambda x: np.where(x > 0, x + 1, np.exp(x))
    return by_features(run, phi(run.q), phi(run.k))


def favor(run):
    w = run["normaliser.w"]

    def phi(x):
        x = x * WIDTH ** -0.25
        return np.exp(x @ w.T - (x * x).sum(-1, keepdims=True) / 2)

    return by_features(run, phi(run.q), phi(run.k))


def rfa(run, sigma, is_unit):
    w = run["normaliser.w"]

    def phi(x):
        return np.concatenate([np.sin(x @ w.T), np.cos(x @ w.T)], -1)

    if is_unit:
        return by_features(run, phi(unit(run.q)), phi(unit(run.k)))
    return by_features(run, phi(run.q), phi(run.k) * np.exp((run.k ** 2).sum(-1, keepdims=True) / (2 * sigma ** 2)))


def gated_features(q, k, v, w, gate):
    """The recurrence of random feature attention (section 3.2), token by token. w: directions, gate: [heads, tokens]."""
    phi = lambda x: np.concatenate([np.sin(unit(x) @ w.T), np.cos(unit(x) @ w.T)], -1) * len(w) ** -0.5
    out = np.zeros_like(v)
    for h in range(HEADS):
        state, total = np.zeros((2 * len(w), v.shape[-1])), np.zeros(2 * len(w))
        for t in range(v.shape[1]):
            g, key, query = gate[h, t], phi(k[h, t]), phi(q[h, t])
            state = g * state + (1 - g) * np.outer(key, v[h, t])
            total = g * total + (1 - g) * key
            out[h, t] = query @ state / (query @ total)
    return out


def rfa_gate(run):
    gate = sigmoid((run.k * run["normaliser.w_g"]).sum(-1) + run["normaliser.b_g"][..., 0])
    return gated_features(run.q, run.k, run.v, run["normaliser.w"], gate)


def efficient(run):
    return by_features(run, softmax(run.q), softmax(run.k, 1), np.ones_like(run.causal), False)


def efficient_running(run):
    keys = np.exp(run.k)
    return by_features(run, softmax(run.q) / np.cumsum(keys, 1), keys, normalised=False)


def xcit(run):
    q, k = unit(run.q, 1), unit(run.k, 1)
    factor = run["normaliser.temperature"][:, None, None]  # the paper's code multiplies, too
    return np.einsum("hde,hte->htd", softmax(np.einsum("htd,hte->hde", q, k) * factor), run.v)


def aft(run, bias):
    """bias [T,S], or [H,T,S]."""
    weight = np.exp(run.k[:, None] + np.broadcast_to(bias, (HEADS, run.T, run.T))[..., None]) * run.causal[None, :, :, None]
    return sigmoid(run.q) * (weight * run.v[:, None]).sum(2) / weight.sum(2)


def aft_factors(run, window):
    """Section 3.1: w = u v^T; section 3.2: 0 outside of the window."""
    w = run["normaliser.u"] @ run["normaliser.v"].T
    return aft(run, np.where(abs(run.j - run.i) < window, w, 0))


def aft_window(run, window, by_head):
    """AFT-local, w by query and distance, and AFT-conv, w by head and distance."""
    column = np.clip(run.j - run.i + window - 1, 0, 2 * window - 2)
    w = run["normaliser.w"]
    return aft(run, np.where(abs(run.j - run.i) < window, w[:, column] if by_head else w[run.i, column], 0))


def linformer(run):
    k, v = run["normaliser.E"] @ run.k, run["normaliser.F"] @ run.v
    return softmax(dots(run.q, k) / np.sqrt(WIDTH)) @ v


def erf(x):
    return np.vectorize(math.erf)(x)


def mlp_mixer(run):
    hidden = np.einsum("us,hsd->hud", run["mixer.W_1"], run.v) + run["mixer.b_1"].reshape(1, -1, 1)
    return np.einsum("tu,hud->htd", run["mixer.W_2"], hidden / 2 * (1 + erf(hidden / math.sqrt(2)))) + run["mixer.b_2"].reshape(1, -1, 1)


def fast_weights(run):
    out = np.zeros_like(run.v)
    for h in range(HEADS):
        state = np.zeros((WIDTH, WIDTH))
        for t in range(run.T):
            state += np.outer(run.k[h, t], run.v[h, t])
            out[h, t] = run.q[h, t] @ state
    return out


def delta_rule(run):
    def phi(x):
        r = np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1)
        products = r * np.roll(r, 1, -1)
        return products / (products.sum(-1, keepdims=True) + 1e-6)

    rate = sigmoid((run.k * run["mixer.w_beta"]).sum(-1) + run["mixer.b_beta"][:, :, 0])
    out = np.zeros_like(run.v)
    for h in range(HEADS):
        state = np.zeros((2 * WIDTH, WIDTH))
        for t in range(run.T):
            key = phi(run.k[h, t])
            state += rate[h, t] * np.outer(key, run.v[h, t] - key @ state)
            out[h, t] = phi(run.q[h, t]) @ state
    return out


def rnn(run):
    h, out = np.zeros(WIDTH), []
    for x in run.v[0]:
        h = np.tanh(run["mixer.W_x"] @ x + run["mixer.W_h"] @ h + run["mixer.b_h"])
        out.append(h)
    return np.stack(out)[None]


def lstm(run):
    h, c, out = np.zeros(WIDTH), np.zeros(WIDTH), []
    for x in run.v[0]:
        i, f, g, o = (w @ x + r @ h + run[f"mixer.b_{gate}"]
                      for w, r, gate in zip(np.split(run["mixer.W_x"], 4), np.split(run["mixer.W_h"], 4), "ifgo"))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out)[None]


def gru(run):
    h, out = np.zeros(WIDTH), []
    for x in run.v[0]:
        r, z, n = (w @ x + run[f"mixer.b_{gate}"] for w, gate in zip(np.split(run["mixer.W_x"], 3), "rzn"))
        of_r, of_z, of_n = (w @ h for w in np.split(run["mixer.W_h"], 3))
        z = sigmoid(z + of_z)
        h = (1 - z) * np.tanh(n + sigmoid(r + of_r) * (of_n + run["mixer.b_s"])) + z * h
        out.append(h)
    return np.stack(out)[None]


# ---- memories ------------------------------------------------------------------------------------------------------------------


def segments(run, length):
    back = run.i // length - run.j // length
    return plain(run, mask=run.causal & (back >= 0) & (back <= 1))


def nearest(run, length, neighbours):
    scores = dots(run.q, run.k) / np.sqrt(WIDTH)
    same, stored = run.i // length == run.j // length, run.j // length < run.i // length
    local = attend(scores, np.broadcast_to(run.causal & same, scores.shape), run.v)
    kept = np.zeros_like(scores, dtype=bool)
    for h, t in itertools.product(range(HEADS), range(run.T)):
        candidates = np.flatnonzero(stored[t])
        kept[h, t, candidates[np.argsort(-scores[h, t, candidates])][:neighbours]] = True
    gate = sigmoid(run["memory.gate"])
    return gate * attend(scores, kept, run.v) + (1 - gate) * local


# ---- masks: what query i sees of key j ------------------------------------------------------------------------------------------


def grid_mask(rule, rows, columns, leading=0):
    def visible(i, j):
        p, q = i - leading, j - leading
        inside = (p < rows * columns) & (q < rows * columns)
        return (p < 0) | (q < 0) | (inside & rule(p // columns, p % columns, q // columns, q % columns))
    return visible


def block_by_block(rows, columns, height, width):
    """[rows columns]: the place of each patch of a picture, counted row by row, in the order of its blocks."""
    return np.arange(rows * columns).reshape(rows // height, height, columns // width, width).transpose(0, 2, 1, 3).ravel()


def grid_mask_by_block(rule, rows, columns, height, width, leading=0):
    """grid_mask() of a picture that is written block by block."""
    place = np.concatenate([np.arange(leading), leading + block_by_block(rows, columns, height, width)])
    by_rows = grid_mask(rule, rows, columns, leading)
    in_picture = lambda token: np.concatenate([place, np.arange(len(place), 64)])[token]
    return lambda i, j: by_rows(in_picture(i), in_picture(j))


def within_span(q, k, v, reach, ramp):
    """Causal attention whose weights fall to 0 over `ramp` tokens beyond the span of each query, [heads, tokens or 1]."""
    i, j = np.arange(q.shape[-2])[:, None], np.arange(q.shape[-2])[None, :]
    factor = np.clip((ramp + reach[:, :, None] - np.abs(i - j)) / ramp, 0, 1) * (j <= i)
    weights = factor * np.exp(dots(q, k) / np.sqrt(q.shape[-1]))
    return weights / weights.sum(-1, keepdims=True) @ v


def adaptive_span(run, span, ramp):
    return within_span(run.q, run.k, run.v, span * np.clip(run["mask.span"] + 0.5, 0, 1), ramp)


def dynamic_span(run, span, ramp):
    logits = np.einsum("htd,hd->ht", run.q, run["mask.v"][:, 0]) + run["mask.offset"]
    return within_span(run.q, run.k, run.v, span * sigmoid(logits), ramp)


def local_p(run, reach):
    """Luong et al. 2015, section 3.2, on causal attention: S is the number of keys that a query sees."""
    shares = sigmoid(np.einsum("hu,htu->ht", run["mask.v_p"][:, 0], np.tanh(np.einsum("hud,htd->htu", run["mask.W_p"], run.q))))
    distance = run.j - ((run.i.T + 1) * shares)[:, :, None]
    scores = np.where(run.causal & (np.abs(distance) <= reach), dots(run.q, run.k) / np.sqrt(run.q.shape[-1]), -1e30)
    return softmax(scores) * np.exp(-distance ** 2 / (2 * (reach / 2) ** 2)) @ run.v


def longformer(w, d, g):
    return lambda i, j: ((np.abs(i - j) < w * d) & ((i - j) % d == 0)) | (i < g) | (j < g)


def rank(order):
    """XLNet: the place of a token in the order; tokens behind its end follow in their own order."""
    return lambda i: np.array([order.index(token) if token in order else token for token in i.ravel()]).reshape(i.shape)


def ranked(order, rule):
    return lambda i, j: rule(rank(order)(i), rank(order)(j))


def segment(i, count=2, length=5):
    """ETC: the segment of a token; the global tokens of all segments come first."""
    return np.where(i < count, i, (i - count) // length)


def drawn_keys(run, fixed, block, count):
    """A mask with random keys: checks that it holds the fixed part and at most `count` drawn blocks a row, and uses it."""
    seen = run.pattern[0] > 0
    assert (seen | ~fixed).all(), "a cell of the fixed part is hidden"
    extra = (seen & ~fixed).reshape(run.T, -1, block).any(-1).sum(-1)
    assert (extra <= count).all() and extra.max() == count, "a row has another number of random blocks"
    return plain(run, mask=seen)


def big_bird(run):
    block = lambda x: x // 2
    near, wide = np.abs(block(run.i) - block(run.j)) <= 1, (block(run.i) < 1) | (block(run.j) < 1)
    return drawn_keys(run, near | wide, 2, 1)


def random_keys(run):
    return drawn_keys(run, np.zeros_like(run.causal), 1, 3)


MASKS = {
    "xlnet(2, 0, 3, 1)": ranked([2, 0, 3, 1], lambda a, b: b <= a),
    "xlnet_query(2, 0, 3, 1)": ranked([2, 0, 3, 1], lambda a, b: b < a),
    "summary(4, 1) | window(1)": lambda i, j: ((j <= i) & (j % 4 >= 3)) | (i == j),
    "permuted_blocks(4, 1, 2, 0)": lambda i, j: j // 4 == np.array([1, 2, 0])[i // 4],
    "g2g(3) | window(1)": lambda i, j: ((i < 3) & (j < 3)) | (i == j),
    "g2l(3) | window(1)": lambda i, j: ((i < 3) & (j >= 3)) | (i == j),
    "l2g(3) | window(1)": lambda i, j: ((i >= 3) & (j < 3)) | (i == j),
    "l2l(3, 2) | window(1)": lambda i, j: ((i >= 3) & (j >= 3) & (np.abs(i - j) <= 2)) | (i == j),
    "g2l_hard(2, 5) | window(1)": lambda i, j: ((i < 2) & (j >= 2) & (segment(i) == segment(j))) | (i == j),
    "etc_hard(2, 1, 5)": lambda i, j: (j < 2) | np.where(i < 2, segment(i) == segment(j), np.abs(i - j) <= 1),
    "own_segment(2, 5)": lambda i, j: segment(i) == segment(j),
    "painted(12, 0, 144)": lambda i, j: i >= 0,
    "full": lambda i, j: i >= 0,
    "causal": lambda i, j: j <= i,
    "prefix(5)": lambda i, j: (j <= i) | (j < 5),
    "window(3)": lambda i, j: np.abs(i - j) < 3,
    "dilated(3, 2)": lambda i, j: (np.abs(i - j) < 6) & ((i - j) % 2 == 0),
    "longformer(2, 2, 1)": longformer(2, 2, 1),
    "global(2)": lambda i, j: (i < 2) | (j < 2),
    "strided(4)": lambda i, j: (j <= i) & ((i - j <= 4) | ((i - j) % 4 == 0)),
    "fixed(4, 1)": lambda i, j: (j <= i) & ((i // 4 == j // 4) | (j % 4 >= 3)),
    "blocks(4)": lambda i, j: i // 4 == j // 4,
    "local1d(4, 2)": lambda i, j: (j >= i // 4 * 4 - 2) & (j < (i // 4 + 1) * 4),
    "etc(2, 1)": lambda i, j: (i < 2) | (j < 2) | (np.abs(i - j) <= 1),
    "row(3, 4)": grid_mask(lambda a, b, c, d: a == c, 3, 4),
    "column(3, 4)": grid_mask(lambda a, b, c, d: b == d, 3, 4),
    "axial(2, 4, 1)": grid_mask(lambda a, b, c, d: (a == c) | (b == d), 2, 4, 1),
    "shifted(4, 3, 2, 1)": grid_mask(lambda a, b, c, d: ((a + 1) // 2 == (c + 1) // 2) & ((b + 1) // 2 == (d + 1) // 2), 4, 3),
    "local2d(2, 6, 2, 3, 1, 1, 1, 1)": grid_mask_by_block(
        lambda a, b, c, d: (c >= a // 2 * 2 - 1) & (c < a // 2 * 2 + 2) & (d >= b // 3 * 3 - 1) & (d < b // 3 * 3 + 4), 2, 6, 2, 3, 1),
    "local2d(4, 4, 2, 2, 1, 0, 0, 1) & causal": lambda i, j: (j <= i) & grid_mask_by_block(
        lambda a, b, c, d: (c >= a // 2 * 2 - 1) & (c < a // 2 * 2 + 2) & (b // 2 == d // 2), 4, 4, 2, 2)(i, j),
    "local2d(4, 3, 2, 3, 1, 0)": grid_mask(lambda a, b, c, d: (c >= a // 2 * 2 - 1) & (c < a // 2 * 2 + 2) & (b // 3 == d // 3), 4, 3),
}


def mask_case(rule):
    return lambda run: plain(run, mask=np.broadcast_to(rule(run.i, run.j), run.causal.shape))


CASES = {
    "heads=single, projections=one, position=none, score=scaled_dot, normaliser=softmax, memory=none, output=plain, "
    "mixer=attention, mask=causal": (plain, {"heads": 1}),
    "heads=multi_head(2), mask=causal": plain,
    "heads=multi_query(2), mask=causal": (plain, {"groups": 1}),
    "heads=grouped_query(2, 1), mask=causal": (plain, {"groups": 1}),
    "heads=shared_query_key(2), mask=causal": shared_query_key,
    "heads=talking(2), mask=causal": talking_heads,
    "output=talking": lambda run: np.einsum("hg,gtd->htd", run["output.mix"], plain(run)),
    "output=gated": lambda run: plain(run) * sigmoid(run.q @ np.swapaxes(run["output.W_G"], -1, -2) + run["output.b_G"]),
    "score=dot": lambda run: plain(run, dots(run.q, run.k)),
    "score=additive": additive,
    "score=bilinear": lambda run: plain(run, np.einsum("htd,hde,hse->hts", run.q, run["score.W"], run.k)),
    "score=cosine(0.1)": lambda run: cosine(run, 10),
    "score=learned_cosine": learned_cosine,
    "score=random_synthesizer(16)": lambda run: plain(run, run["score.R"][:, :run.T, :run.T]),
    "score=random_synthesizer(5), mask=full": lambda run: random_synthesizer(run, np.minimum(np.arange(run.T), 4)),
    "position=sinusoidal": lambda run: added(run, sinusoid(np.arange(run.T), WIDTH)),
    "position=universal": (lambda run: added(run, sinusoid(np.arange(run.T) + 1, WIDTH) + sinusoid(run.layer + 1, WIDTH)), {"layer": 2}),
    "position=learned(64)": lambda run: added(run, run["position.table"][:run.T]),
    "position=learned(64, 1)": (lambda run: added(run, run["position.table"][:run.T]), {"layer": 1}),
    "position=sinusoidal_2d(4, leading = 1)": lambda run: sinusoidal_2d(run, 4, 4, 1),
    "position=learned_2d(3, 4, 1)": lambda run: learned_2d(run, 3, 4, 1),
    "position=learned_2d(4, 4, 1, 2, 2)": lambda run: learned_2d(run, 4, 4, 1, 2, 2),
    "position=sinusoidal_2d(4, leading = 1, block_height = 2, block_width = 2)": lambda run: sinusoidal_2d(run, 4, 4, 1, 2, 2),
    "position=shaw(3)": lambda run: shaw(run, 3),
    "position=transformer_xl": transformer_xl,
    "position=t5": lambda run: t5(run, False),
    "position=t5, mask=full": lambda run: t5(run, True),
    "position=toeplitz(4)": lambda run: biased(run, np.moveaxis(run["position.diagonals"][np.clip(run.j - run.i, -4, 4) + 4], -1, 0)),
    "position=rope": lambda run: rope(run, False),
    "position=rope(interleaved = 1)": lambda run: rope(run, True),
    "position=alibi": alibi,
    "position=distance_aware": distance_aware,
    "position=grid_bias(3, 4, 2), mask=full": lambda run: grid_bias(run, 4, 2, 0),
    "position=grid_bias(3, 4, 2, 1), mask=full": (lambda run: grid_bias(run, 4, 2, 1), {"tokens": 13}),
    "position=log_bias(3, 4, leading = 1), mask=full": (lambda run: log_bias(run, 3, 4, 1), {"tokens": 13}),
    "position=dependency_tree, mask=full": lambda run: dependency_tree(run, [2, 3, 0, 5, 3, 8, 8, 5], 4, True, 0),
    "position=dependency_tree(clip = 2, depth = 0, leading = 2, tree = 0, 1, 1, 2, 4, 4, 3), mask=full":
        lambda run: dependency_tree(run, [0, 1, 1, 2, 4, 4, 3], 2, False, 2),
    "position=tupe, mask=full": lambda run: tupe(run, 0, True),
    "position=tupe(reach = 3, cls = 0), mask=full": lambda run: tupe(run, 3, False),
    "normaliser=linear": linear,
    "normaliser=favor": favor,
    "normaliser=rfa": lambda run: rfa(run, 1, True),
    "normaliser=rfa(64, 2, unit = 0)": lambda run: rfa(run, 2, False),
    "normaliser=rfa(gate = 1)": rfa_gate,
    "normaliser=efficient, mask=full": efficient,
    "normaliser=efficient_running": efficient_running,
    "normaliser=xcit, mask=full": xcit,
    "normaliser=aft": lambda run: aft(run, run["normaliser.w"]),
    "normaliser=aft_local(4)": lambda run: aft_window(run, 4, False),
    "normaliser=aft(factors = 128)": lambda run: aft_factors(run, run.T),
    "normaliser=aft_local(4, factors = 5)": lambda run: aft_factors(run, 4),
    "normaliser=aft_conv(3)": lambda run: aft_window(run, 3, True),
    "normaliser=aft_simple": lambda run: aft(run, np.zeros((run.T, run.T))),
    "normaliser=linformer(4), mask=full": linformer,
    "heads=single, mixer=fnet, mask=full": (lambda run: np.fft.fft2(run.v).real, {"heads": 1, "tokens": 30}),
    "heads=single, mixer=mlp_mixer(32), mask=full": (mlp_mixer, {"heads": 1}),
    "mixer=fast_weights": fast_weights,
    "mixer=delta_rule": delta_rule,
    "heads=single, mixer=rnn": (rnn, {"heads": 1}),
    "heads=single, mixer=lstm": (lstm, {"heads": 1}),
    "heads=single, mixer=gru": (gru, {"heads": 1}),
    "memory=segments(4)": lambda run: segments(run, 4),
    "memory=nearest(4, 2)": lambda run: nearest(run, 4, 2),
    "mask=causal & adaptive_span(8, 4, 0)": lambda run: adaptive_span(run, 8, 4),
    "mask=causal & dynamic_span(8, 4, 0)": lambda run: dynamic_span(run, 8, 4),
    "mask=causal & local_p(3)": lambda run: local_p(run, 3),
    "mask=bigbird(2, 3, 1, 1, 5)": big_bird,
    "mask=random(3, 1)": random_keys,
    **{f"mask={mask}": mask_case(rule) for mask, rule in MASKS.items()},
}
# States carry over from chunk to chunk of 64 tokens.
LONG = ["normaliser=linear", "normaliser=favor", "normaliser=rfa(gate = 1)", "normaliser=efficient_running", "mixer=delta_rule"]


# ---- the block around attention: whole models, from tokens to logits ---------------------------------------------------------------


class Model:
    """A model of two layers, after a few steps of training, and its logits in float64."""

    tokens, width, hidden = [1, 2, 3, 5, 8, 13, 21], 16, 32

    def __init__(self, cli, spec, folder):
        run, file = os.path.join(folder, "run"), os.path.join(folder, "logits.npz")
        shutil.rmtree(run, ignore_errors=True)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([cli, "train", "--task", "copy", "--layers", "2", "--width", str(self.width), "--heads", str(HEADS),
                        "--attention", spec + ("" if "mask=" in spec else ", mask=causal"), "--steps", "5", "--batch", "4", "--out", run], **quiet)
        subprocess.run([cli, "capture", run, "--tokens", ",".join(map(str, self.tokens)), "--hooks", "logits", "--out", file], **quiet)
        self.output = np.load(file)["logits"].astype(np.float64)
        self.span = [float(number) for number in re.findall(r"\d+", spec.partition("dynamic_span(")[2])[:2]]
        self.weights = read_safetensors(os.path.join(run, "model.safetensors"))
        # The directions depend on the seed and the head width alone.
        same = f"heads=multi_head({HEADS}), normaliser=rfa, mask=causal"
        self.directions = Run(cli, same, folder)["normaliser.w"] if "rfa" in spec else None

    def linear(self, x, name, letter):
        return x @ self.weights[f"{name}.W_{letter}"].T + self.weights[f"{name}.b_{letter}"]

    def attention(self, x, block):
        def heads(letter):
            return np.swapaxes(self.linear(x, f"{block}.attn", letter).reshape(len(x), HEADS, -1), 0, 1)

        def numbers(weights, offset):  # of each head for each row that queries, keys and values are made of
            own = lambda name: self.weights[f"{block}.attn.{name}"]
            return own(weights) @ x.T + own(offset).reshape(HEADS, 1)

        q, k, v = map(heads, "QKV")
        if self.span:
            z = within_span(q, k, v, self.span[0] * sigmoid(numbers("mask.v", "mask.offset")), self.span[1])
        elif self.directions is not None:
            z = gated_features(q, k, v, self.directions, sigmoid(numbers("normaliser.w_g", "normaliser.b_g")))
        else:
            z = softmax(np.where(np.tri(len(x), dtype=bool), dots(q, k) / np.sqrt(q.shape[-1]), -1e30)) @ v
        return self.linear(np.swapaxes(z, 0, 1).reshape(len(x), -1), f"{block}.attn", "O")

    def logits(self, norm, feed_forward, residual, blocks=("blocks.0", "blocks.1")):
        w = self.weights
        embedding = w["embed.W_E"]
        if norm is fix_norm:
            embedding = unit(embedding)
        x = embedding[self.tokens] * (math.sqrt(self.width) if norm is fix_norm else 1)
        streams = (x, x)
        for block in blocks:
            layers = [(lambda y: self.attention(y, block), "1"), (lambda y: feed_forward(self, y, f"{block}.mlp"), "2")]
            if residual is parallel:
                x = x + sum(sublayer(norm(w, x, f"{block}.ln{number}")) for sublayer, number in layers)
                continue
            for sublayer, number in layers:
                normed = lambda y: norm(w, y, f"{block}.ln{number}")
                if residual is reversible:
                    streams = streams[1], streams[0] + sublayer(normed(streams[1]))
                else:
                    x = residual(w, x, sublayer, normed, f"{block}.gate{number}")
        if residual is reversible:
            x = (streams[0] + streams[1]) / 2
        if residual is not post_norm:
            x = norm(w, x, "ln_final")
        return x @ embedding.T


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + length:][slice(*entry["data_offsets"])], dtype="<f4").reshape(entry["shape"]).astype(np.float64)
            for name, entry in header.items()}


def layer_norm(w, x, name, epsilon=1e-5):
    x = x - x.mean(-1, keepdims=True)
    return w[name + ".w"] * x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) + w[name + ".b"]


def rms_norm(w, x, name):
    return w[name + ".w"] * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def scale_norm(w, x, name):
    radius = w[name + ".g"] * math.sqrt(x.shape[-1])  # the file holds the radius divided by sqrt(C)
    return radius * x / np.sqrt((x * x).sum(-1, keepdims=True))


def fix_norm(w, x, name):
    return scale_norm(w, x, name)


def relu(model, x, name):
    return model.linear(np.maximum(model.linear(x, name, "in"), 0), name, "out")


def gelu(model, x, name):
    u = model.linear(x, name, "in")
    return model.linear(u * 0.5 * (1 + erf(u / math.sqrt(2))), name, "out")


def swiglu(model, x, name):
    gate = model.linear(x, name, "gate")
    return model.linear(gate * sigmoid(gate) * model.linear(x, name, "in"), name, "out")


def no_norm(w, x, name):
    return x


def no_residual(w, x, sublayer, normed, gate):
    return sublayer(normed(x))


def pre_norm(w, x, sublayer, normed, gate):
    return x + sublayer(normed(x))


def post_norm(w, x, sublayer, normed, gate):
    return normed(x + sublayer(x))


def residual_post_norm(w, x, sublayer, normed, gate):
    return x + normed(sublayer(x))


def gru_gate(w, x, sublayer, normed, gate):
    y = np.maximum(sublayer(normed(x)), 0)
    of = lambda letter, value: value @ w[f"{gate}.{letter}"].T
    r, z = sigmoid(of("W_r", y) + of("U_r", x)), sigmoid(of("W_z", y) + of("U_z", x) - w[f"{gate}.b_g"] - 2)
    return (1 - z) * x + z * np.tanh(of("W_g", y) + of("U_g", r * x))


def layer_scale(w, x, sublayer, normed, gate):
    return x + w[gate.replace("gate", "scale")] * sublayer(normed(x))


def parallel(*_):
    raise AssertionError("handled by Model.logits")


def reversible(*_):
    raise AssertionError("handled by Model.logits")


BLOCKS = {
    "norm=layer_norm, feed_forward=gelu(2), residual=pre_norm, layers=stacked": (layer_norm, gelu, pre_norm),
    "norm=layer_norm, feed_forward=gelu(2), residual=pre_norm, layers=shared": (layer_norm, gelu, pre_norm, ["blocks.0"] * 2),
    "norm=rms_norm, feed_forward=swiglu(2), residual=pre_norm": (rms_norm, swiglu, pre_norm),
    "norm=scale_norm, feed_forward=relu(2), residual=post_norm": (scale_norm, relu, post_norm),
    "norm=fix_norm, feed_forward=relu(2), residual=pre_norm": (fix_norm, relu, pre_norm),
    "norm=layer_norm, feed_forward=gelu(2, 2), residual=residual_post_norm": (layer_norm, gelu, residual_post_norm),
    "norm=none, feed_forward=relu(2), residual=pre_norm": (no_norm, relu, pre_norm),
    "norm=layer_norm, feed_forward=relu(2), residual=none": (layer_norm, relu, no_residual),
    "norm=layer_norm, feed_forward=relu(2), residual=gru_gate": (layer_norm, relu, gru_gate),
    "norm=layer_norm, feed_forward=gelu(2), residual=reversible": (layer_norm, gelu, reversible),
    "norm=layer_norm, feed_forward=gelu(2), residual=parallel": (layer_norm, gelu, parallel),
    "norm=rms_norm, feed_forward=relu(2), residual=layer_scale": (rms_norm, relu, layer_scale),
    "norm=layer_norm, feed_forward=gelu(2), residual=pre_norm, mask=causal & dynamic_span(4, 3, 0.01)": (layer_norm, gelu, pre_norm),
    "norm=layer_norm, feed_forward=gelu(2), residual=pre_norm, normaliser=rfa(gate = 1)": (layer_norm, gelu, pre_norm),
}


# ---- how matrices begin ------------------------------------------------------------------------------------------------------------


def uniform(seed, count):
    """Philox4x32-10 (Salmon et al. 2011) with counters 0 to count - 1: numbers in [0, 1) of 53 bits."""
    low = np.uint64(0xffffffff)
    counter = [np.arange(count, dtype=np.uint64), *(np.zeros(count, dtype=np.uint64) for _ in range(3))]
    key = [np.uint64(seed & 0xffffffff), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [(b >> np.uint64(32)) ^ counter[1] ^ key[0], b & low, (a >> np.uint64(32)) ^ counter[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return ((counter[0] << np.uint64(32) | counter[1]) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def stream_seed(seed, name):
    """FNV-1a."""
    value = 14695981039346656037
    for byte in name.encode():
        value = (value ^ byte) * 1099511628211 % 2 ** 64
    return seed ^ value


def normal(seed, shape, deviation=1.0):
    u = uniform(seed, 2 * math.prod(shape))
    return deviation * (np.sqrt(-2 * np.log(1 - u[::2])) * np.cos(2 * np.pi * u[1::2])).reshape(shape)


def orthogonal(seed, shape):
    count, width = sorted(shape)
    rows = normal(seed, (count, width))
    for i in range(count):  # Gram and Schmidt
        for j in range(i):
            rows[i] -= rows[i] @ rows[j] * rows[j]
        rows[i] /= np.linalg.norm(rows[i])
    return rows if shape[0] <= shape[1] else rows.T


LAYERS, DEVIATION = 3, 0.05
RULES = {
    "init=scaled_normal": lambda seed, shape, writes: normal(seed, shape, DEVIATION / math.sqrt(2 * LAYERS if writes else 1)),
    "init=normal": lambda seed, shape, writes: normal(seed, shape, DEVIATION),
    "init=xavier": lambda seed, shape, writes: math.sqrt(6 / sum(shape)) * (2 * uniform(seed, math.prod(shape)).reshape(shape) - 1),
    "init=kaiming": lambda seed, shape, writes: normal(seed, shape, math.sqrt(2 / shape[1])),
    "init=orthogonal": lambda seed, shape, writes: orthogonal(seed, shape),
    "init=zero_residual": lambda seed, shape, writes: normal(seed, shape, 0 if writes else DEVIATION),
}


def initial_matrices(cli, rule, folder):
    """The largest error of a rule in the matrices of a model that has not been trained."""
    run = os.path.join(folder, "run")
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run([cli, "train", "--task", "copy", "--layers", str(LAYERS), "--width", "16", "--heads", "2", "--steps", "0", "--seed", "5", "--attention", "norm=layer_norm, mask=causal",
                    "--init", rule.split("=")[1], "--initial-deviation", str(DEVIATION), "--out", run],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found, expected = [], []
    for name, values in read_safetensors(os.path.join(run, "model.safetensors")).items():
        if values.ndim == 2:
            found.append(values.ravel())
            expected.append(RULES[rule](stream_seed(5, name), values.shape, name.endswith(("attn.W_O", "mlp.W_out"))).ravel())
    return np.concatenate(found), np.concatenate(expected)


# ---- patches of pictures -----------------------------------------------------------------------------------------------------------


def local_patches(cli, spec, folder):
    """El-Nouby et al. 2021, section 3.3: the residual stream before the feed-forward layer, from that after attention."""
    run, file, picture = (os.path.join(folder, name) for name in ("run", "stream.npz", "picture.ppm"))
    shutil.rmtree(run, ignore_errors=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([cli, "train", "--task", "shapes", "--layers", "2", "--width", "16", "--heads", "2", "--attention", spec, "--steps", "5",
                    "--batch", "4", "--out", run], **quiet)
    pixels = np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    with open(picture, "wb") as target:
        target.write(b"P6\n32 32\n255\n" + pixels.tobytes())
    subprocess.run([cli, "capture", run, "--image", picture, "--hooks", "blocks.*", "--out", file], **quiet)
    hooks, w = np.load(file), read_safetensors(os.path.join(run, "model.safetensors"))
    found, expected = [], []
    for block in ("blocks.0", "blocks.1"):
        x = hooks[f"{block}.hook_resid_pre"].astype(np.float64) + hooks[f"{block}.hook_attn_out"].astype(np.float64)
        side = math.isqrt(len(x) - 1)

        def convolve(grid, number):
            framed = np.pad(grid, ((1, 1), (1, 1), (0, 0)))
            kernel = w[f"{block}.local.K_{number}"].reshape(3, 3, -1)
            return w[f"{block}.local.b_{number}"] + sum(kernel[i, j] * framed[i:i + side, j:j + side] for i in range(3) for j in range(3))

        hidden = convolve(layer_norm(w, x, f"{block}.ln3", 1e-6)[1:].reshape(side, side, -1), 1)
        hidden = layer_norm(w, hidden * 0.5 * (1 + erf(hidden / math.sqrt(2))), f"{block}.local.ln", 1e-6)
        x[1:] += convolve(hidden, 2).reshape(side * side, -1)
        found.append(hooks[f"{block}.hook_resid_mid"].astype(np.float64))
        expected.append(x)
    return np.stack(found), np.stack(expected)


PICTURES = {"residual=local_patches(rows = 4, cols = 4)": local_patches}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    cli, wanted = sys.argv[1], re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    cases = [(spec, case if isinstance(case, tuple) else (case, {})) for spec, case in CASES.items()]
    cases += [(spec, (CASES[spec], {"tokens": 150})) for spec in LONG]
    cases += [(spec, (CASES[spec], {"deviation": 6})) for spec in LONG if "linear" not in spec and "running" not in spec]
    bad = 0

    def report(spec, found, expected):
        error = np.abs(found - expected).max() / max(1, np.abs(expected).max())
        print(f"{error:8.1e}  {spec}" + ("" if error <= TOLERANCE else "  WRONG"), flush=True)
        return not error <= TOLERANCE

    with tempfile.TemporaryDirectory() as folder:
        for spec, (equations, options) in cases:
            if not wanted.search(spec):
                continue
            full = ("" if "heads=" in spec else f"heads=multi_head({HEADS}), ") + spec + ("" if "mask=" in spec else ", mask=causal")
            run = Run(cli, full, folder, **options)
            bad += report(full + "".join(f", {name} {value}" for name, value in options.items()), run.output, equations(run))
        for spec, parts in BLOCKS.items():
            if wanted.search(spec):
                model = Model(cli, spec, folder)
                bad += report(spec, model.output, model.logits(*parts))
        for spec, check in [*((rule, initial_matrices) for rule in RULES), *PICTURES.items()]:
            if wanted.search(spec):
                bad += report(spec, *check(cli, spec, folder))
    print(f"{bad} of {len(cases) + len(BLOCKS) + len(RULES) + len(PICTURES)} differ")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
