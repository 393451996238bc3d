#!/usr/bin/python3
"""Writes attention/*.safetensors: attentions that choose their keys by content, in float64, after the algorithms of their papers.

They keep to the papers' steps (sort, cut into chunks, one softmax for each round, weights joined by the rounds' sums) where the engine
computes one softmax over the union, so that each checks the other. Random numbers are those of the files.
"""
import pathlib

import numpy as np
import torch

import safetensors_file

HERE = pathlib.Path(__file__).parent / "attention"


def softmax_rows(scores):
    """Softmax and logarithm of the sum over the last axis; zeros and -inf for rows that see nothing."""
    largest = np.maximum(scores.max(-1, keepdims=True), -1e300)
    e = np.exp(scores - largest)
    total = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return e / np.maximum(total, 1e-300), (np.log(total) + largest)[..., 0]


def reformer_head(q, v, rotations, chunk, causal):
    """LSH attention of one head: Kitaev et al. 2020, section 2 and appendix A. rotations: for each round, matrices [half, D] whose
    hashes together name a bucket."""
    length, width = q.shape
    k = q / np.sqrt((q * q).sum(-1, keepdims=True) + 1e-12)
    rounds = []
    for matrices in rotations:
        bucket = np.zeros(length, dtype=np.int64)
        for r in matrices:
            along = k @ r.T
            bucket = bucket * 2 * len(r) + np.concatenate((along, -along), -1).argmax(-1)  # h(x) = argmax [xR; -xR]
        order = np.lexsort((np.arange(length), bucket))
        rounds.append((bucket, order))
    # N(i,j): in how many rounds i meets j
    meets = []
    for bucket, order in rounds:
        of_chunk = np.empty(length, dtype=np.int64)
        of_chunk[order] = np.arange(length) // chunk
        step = of_chunk[:, None] - of_chunk[None, :]
        meets.append((bucket[:, None] == bucket[None, :]) & ((step == 0) | (step == 1)))
    count = np.sum(meets, 0)
    outputs, sums = [], []
    for bucket, order in rounds:
        o, z = np.zeros_like(v), np.zeros(length)
        for begin in range(0, length, chunk):
            own = order[begin:begin + chunk]
            keys = order[max(0, begin - chunk):begin + chunk]
            scores = q[own] @ k[keys].T / np.sqrt(width)
            scores = np.where(own[:, None] == keys[None, :], scores - 1e5, scores - np.log(np.maximum(count[np.ix_(own, keys)], 1)))
            hidden = bucket[own][:, None] != bucket[keys][None, :]
            if causal:
                hidden |= own[:, None] < keys[None, :]
            weights, z[own] = softmax_rows(np.where(hidden, -np.inf, scores))
            o[own] = weights @ v[keys]
        outputs.append(o)
        sums.append(z)
    share, _ = softmax_rows(np.stack(sums, -1))  # exp(z^(r) - z) of each round
    return sum(share[:, r, None] * o for r, o in enumerate(outputs))


def reformer():
    """`long` has more chunks than places in a chunk: two hashes name a bucket there."""
    random, tensors = np.random.RandomState(5), {}
    for name, length, halves in (("short", 45, (6,)), ("long", 100, (3, 3))):
        heads, width, rounds = 2, 6, 3
        q, v = random.normal(0, 2, (heads, length, width)).astype(np.float32), random.normal(0, 1, (heads, length, width)).astype(np.float32)
        tensors |= {f"{name}.q": q, f"{name}.v": v}
        rotations = [[random.normal(0, 1, (heads, half, width)).astype(np.float32) for half in halves] for _ in range(rounds)]
        tensors |= {f"{name}.rotation{r}_{i}": m for r, matrices in enumerate(rotations) for i, m in enumerate(matrices)}
        for mask in ("causal", "full"):
            tensors[f"{name}.{mask}"] = np.stack([
                reformer_head(q[h].astype(float), v[h].astype(float), [[m[h].astype(float) for m in matrices] for matrices in rotations],
                              8, mask == "causal") for h in range(heads)])
    return tensors


def layer_norm(x):
    """Layer norm without scale and bias: every row then has the length sqrt(D)."""
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True))


def routing_head(q, k, v, mu, causal, decay):
    """One head of Roy et al. 2021, algorithm 1: returns its rows and the centroids after an update. Rows that several clusters pick are
    averaged, and rows that none picks are their own value."""
    length, width = q.shape
    clusters, members = len(mu), -(-length // len(mu))
    q, k = layer_norm(q), layer_norm(k)
    on_sphere = mu / np.linalg.norm(mu, axis=-1, keepdims=True)
    q_prod, k_prod = on_sphere @ q.T, on_sphere @ k.T
    sums, picked = np.zeros_like(v), np.zeros(length)
    for c in range(clusters):
        q_idx = np.sort(np.argsort(-q_prod[c], kind="stable")[:members])
        k_idx = q_idx if causal else np.sort(np.argsort(-k_prod[c], kind="stable")[:members])
        scores = q[q_idx] @ k[k_idx].T / np.sqrt(width)
        if causal:
            scores = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
        sums[q_idx] += softmax_rows(scores)[0] @ v[k_idx]
        picked[q_idx] += 1
    rows = np.where(picked[:, None] > 0, sums / np.maximum(picked[:, None], 1), v)
    after = decay * mu
    for x, prod in ((q, q_prod), (k, k_prod)):
        nearest, x = prod.argmax(0), x / np.sqrt(width)
        for c in range(clusters):
            own = x[nearest == c]
            after[c] += (1 - decay) / 2 * (own.mean(0) if len(own) else mu[c])
    return rows, after


def window_head(q, k, v, window, causal):
    i, j = np.arange(len(q))[:, None], np.arange(len(q))[None, :]
    hidden = (np.abs(i - j) >= window) | (causal & (j > i))
    return softmax_rows(np.where(hidden, -np.inf, q @ k.T / np.sqrt(q.shape[1])))[0] @ v


def routing():
    """Three heads: one local, two routed."""
    random, tensors = np.random.RandomState(6), {}
    length, width, clusters = 30, 6, 4
    q, k, v = (random.normal(0, 1, (3, length, width)).astype(np.float32) for _ in "qkv")
    mu = random.normal(0, 1, (2, clusters, width)).astype(np.float32)
    tensors |= {"one.q": q, "one.k": k, "one.v": v, "centroids": mu}
    q, k, v, mu = (x.astype(float) for x in (q, k, v, mu))
    for mask in ("causal", "full"):
        heads = [window_head(q[0], k[0], v[0], 5, mask == "causal")]
        for h in (1, 2):
            rows, after = routing_head(q[h], k[h], v[h], mu[h - 1], mask == "causal", 0.75)
            heads.append(rows)
            tensors[f"after{h - 1}"] = after  # the same for both masks
        tensors[f"one.{mask}"] = np.stack(heads)
    return tensors


def memory_compressed():
    """Keys and values through torch's strided convolution (Liu et al. 2018, section 4.2.3). Under a causal mask a query sees the
    convolved rows that lie at or before it, and the tokens of its own block before that is complete."""
    random, tensors = np.random.RandomState(7), {}
    heads, length, width = 2, 20, 4
    q, k, v = (random.normal(0, 1, (heads, length, width)).astype(np.float32) for _ in "qkv")
    kernels = {name: random.normal(0, 0.3, (heads, width, 3 * width)).astype(np.float32) for name in "KV"}
    tensors |= {"one.q": q, "one.k": k, "one.v": v} | kernels
    q, k, v = (torch.tensor(x).double() for x in (q, k, v))
    kernels = {name: torch.tensor(x).double().reshape(heads, width, 3, width).permute(0, 1, 3, 2) for name, x in kernels.items()}
    for mask in ("causal", "full"):
        z = []
        for h in range(heads):
            convolve = lambda x, name: torch.nn.functional.conv1d(  # noqa: E731
                torch.nn.functional.pad(x.T[None], (0, -length % 3)), kernels[name][h], stride=3)[0].T
            keys, values = torch.cat((convolve(k[h], "K"), k[h])), torch.cat((convolve(v[h], "V"), v[h]))
            scores, blocks = q[h] @ keys.T / width ** 0.5, len(keys) - length
            for t in range(length):
                for j in range(len(keys)):
                    s = j - blocks
                    if mask == "full":
                        seen = s < 0
                    else:
                        seen = 3 * j + 2 <= t if s < 0 else (t + 1) // 3 * 3 <= s <= t
                    if not seen:
                        scores[t, j] = -torch.inf
            z.append(torch.softmax(scores, -1) @ values)
        tensors[f"one.{mask}"] = torch.stack(z).numpy()
    return tensors


for case in (reformer, routing, memory_compressed):
    safetensors_file.write(HERE / f"{case.__name__}.safetensors", {name: torch.tensor(t, dtype=torch.float32) for name, t in case().items()})
