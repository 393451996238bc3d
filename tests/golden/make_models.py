#!/usr/bin/python3
"""Writes the small random models of tests/golden with their reference logits, patterns and other hooks, and cases.json.

Each case is one ModelBuilder below: the folder gets config.json and safetensors as Hugging Face writes them, with the tensors that
real files carry beside the weights, and golden.safetensors from reference.py. See README.md.
"""
import argparse
import json
import pathlib
import platform
import shutil

import numpy
import torch

import safetensors_file
from reference import Model, base_frequencies

HERE = pathlib.Path(__file__).resolve().parent
PROMPT, CONTINUATION, CONTEXT = 19, 24, 48
LIMIT_BYTES = 250_000


class Weights(dict):
    """Random tensors in file order. RandomState's stream is the same in every NumPy version."""

    def __init__(self, seed):
        self.random = numpy.random.RandomState(seed)

    def normal(self, name, *shape, std, mean=0.0):
        self[name] = torch.from_numpy(mean + std * self.random.standard_normal(shape)).float()

    def norm(self, name, width, bias=True):
        self.normal(name + ".weight", width, mean=1.0, std=0.3)
        if bias:
            self.normal(name + ".bias", width, std=0.2)

    def linear(self, name, inputs, outputs, gain=1.0, bias=True, transposed=False):
        """A map of unit-variance inputs to outputs of standard deviation `gain`; transposed is Conv1D's [in, out]."""
        self.normal(name + ".weight", *((inputs, outputs) if transposed else (outputs, inputs)), std=gain * inputs**-0.5)
        if bias:
            self.normal(name + ".bias", outputs, std=0.2)


def causal(dtype):
    return torch.ones(CONTEXT, CONTEXT).tril().reshape(1, 1, CONTEXT, CONTEXT).to(dtype)


def gpt2(seed, prefix="", lm_head=None, inner=None, tie=None, mask_dtype=torch.float32):
    """lm_head: None (absent), "tied" (a copy of wte) or "own"."""
    layers, heads, width, vocabulary = 2, 4, 32, 61
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "attn_pdrop": 0.1,
              "bos_token_id": 60, "embd_pdrop": 0.1, "eos_token_id": 60, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
              "n_ctx": CONTEXT, "n_embd": width, "n_head": heads, "n_inner": inner, "n_layer": layers, "n_positions": CONTEXT,
              "resid_pdrop": 0.1, "summary_type": "cls_index", "vocab_size": vocabulary}
    if tie is not None:
        config["tie_word_embeddings"] = tie
    w = Weights(seed)
    w.normal(prefix + "wte.weight", vocabulary, width, std=0.5)
    w.normal(prefix + "wpe.weight", CONTEXT, width, std=0.3)
    for layer in range(layers):
        at, hidden = f"{prefix}h.{layer}.", inner or 4 * width
        w.norm(at + "ln_1", width)
        w[at + "attn.bias"] = causal(mask_dtype)
        w[at + "attn.masked_bias"] = torch.tensor(-1e4)
        w.linear(at + "attn.c_attn", width, 3 * width, gain=1.4, transposed=True)
        w.linear(at + "attn.c_proj", width, width, gain=1.2, transposed=True)
        w.norm(at + "ln_2", width)
        w.linear(at + "mlp.c_fc", width, hidden, transposed=True)
        w.linear(at + "mlp.c_proj", hidden, width, gain=1.5, transposed=True)
    w.norm(prefix + "ln_f", width)
    if lm_head == "tied":
        w["lm_head.weight"] = w[prefix + "wte.weight"].clone()
    elif lm_head == "own":
        w.linear("lm_head", width, vocabulary, gain=2.5, bias=False)
    return config, w


def gpt_neo(seed):
    layers, heads, width, inner, vocabulary = 3, 4, 32, 64, 67
    config = {"architectures": ["GPTNeoForCausalLM"], "model_type": "gpt_neo", "activation_function": "gelu_new",
              "attention_dropout": 0, "attention_layers": ["global", "local", "global"],
              "attention_types": [[["global", "local"], 1], [["global"], 1]], "bos_token_id": 66, "embed_dropout": 0,
              "eos_token_id": 66, "hidden_size": width, "initializer_range": 0.02, "intermediate_size": inner,
              "layer_norm_epsilon": 1e-05, "max_position_embeddings": CONTEXT, "num_heads": heads, "num_layers": layers,
              "resid_dropout": 0, "vocab_size": vocabulary, "window_size": 4}
    w = Weights(seed)
    w.normal("transformer.wte.weight", vocabulary, width, std=0.5)
    w.normal("transformer.wpe.weight", CONTEXT, width, std=0.3)
    for layer in range(layers):
        at = f"transformer.h.{layer}."
        w.norm(at + "ln_1", width)
        w[at + "attn.attention.bias"] = causal(torch.bool if layer else torch.uint8)
        w[at + "attn.attention.masked_bias"] = torch.tensor(-1e9)
        for part, gain in (("k", 0.9), ("v", 1.2), ("q", 0.9)):
            w.linear(f"{at}attn.attention.{part}_proj", width, width, gain=gain, bias=False)
        w.linear(at + "attn.attention.out_proj", width, width, gain=1.2)
        w.norm(at + "ln_2", width)
        w.linear(at + "mlp.c_fc", width, inner)
        w.linear(at + "mlp.c_proj", inner, width, gain=1.5)
    w.norm("transformer.ln_f", width)
    return config, w


def gpt_neox(seed, parallel):
    layers, heads, width, inner, vocabulary, rotary = 2, 2, 32, 96, 96, 4
    config = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "bos_token_id": 0, "eos_token_id": 0,
              "hidden_act": "gelu", "hidden_size": width, "initializer_range": 0.02, "intermediate_size": inner,
              "layer_norm_eps": 1e-05, "max_position_embeddings": CONTEXT, "num_attention_heads": heads,
              "num_hidden_layers": layers, "rotary_emb_base": 10000, "rotary_pct": rotary / (width // heads),
              "tie_word_embeddings": False, "use_cache": True, "use_parallel_residual": parallel, "vocab_size": vocabulary}
    w = Weights(seed)
    w.normal("gpt_neox.embed_in.weight", vocabulary, width, std=0.7)
    for layer in range(layers):
        at = f"gpt_neox.layers.{layer}."
        w.norm(at + "input_layernorm", width)
        w.norm(at + "post_attention_layernorm", width)
        w[at + "attention.bias"] = causal(torch.bool)
        w[at + "attention.masked_bias"] = torch.tensor(-1e9)  # becomes -inf in a half-precision file, as in Pythia's
        w[at + "attention.rotary_emb.inv_freq"] = base_frequencies(10000, rotary).float()
        w.linear(at + "attention.query_key_value", width, 3 * width, gain=1.4)
        w.linear(at + "attention.dense", width, width, gain=1.2)
        w.linear(at + "mlp.dense_h_to_4h", width, inner)
        w.linear(at + "mlp.dense_4h_to_h", inner, width, gain=1.5)
    w.norm("gpt_neox.final_layer_norm", width)
    w.linear("embed_out", width, vocabulary, gain=2.5, bias=False)
    w["embed_out.weight"][-7:] *= 0.01  # padding rows, which training leaves small
    return config, w


def llama(seed, heads=4, groups=4, width=40, head_width=None, inner=72, vocabulary=71, lm_head=True, bias=(), rope_theta=10000.0, **config):
    """bias: which of "qkv", "o" and "mlp" have one; further keywords go into config.json."""
    layers = 2
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "bos_token_id": 1, "eos_token_id": 2,
              "hidden_act": "silu", "hidden_size": width, "initializer_range": 0.02, "intermediate_size": inner,
              "max_position_embeddings": CONTEXT, "num_attention_heads": heads, "num_hidden_layers": layers,
              "num_key_value_heads": groups, "rms_norm_eps": 1e-05, "tie_word_embeddings": not lm_head,
              "use_cache": True, "vocab_size": vocabulary, **config}
    if "rope_parameters" not in config:
        config["rope_theta"] = rope_theta
    if head_width:
        config["head_dim"] = head_width
    head_width = head_width or width // heads
    w = Weights(seed)
    if lm_head:
        w.linear("lm_head", width, vocabulary, gain=2.5, bias=False)
    w.normal("model.embed_tokens.weight", vocabulary, width, std=0.7 if lm_head else 0.5)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        w.norm(at + "input_layernorm", width, bias=False)
        w.linear(at + "mlp.down_proj", inner, width, gain=2.0, bias="mlp" in bias)
        w.linear(at + "mlp.gate_proj", width, inner, gain=1.2, bias="mlp" in bias)
        w.linear(at + "mlp.up_proj", width, inner, gain=1.2, bias="mlp" in bias)
        w.norm(at + "post_attention_layernorm", width, bias=False)
        w.linear(at + "self_attn.k_proj", width, groups * head_width, gain=1.4, bias="qkv" in bias)
        w.linear(at + "self_attn.o_proj", heads * head_width, width, gain=1.2, bias="o" in bias)
        w.linear(at + "self_attn.q_proj", width, heads * head_width, gain=1.4, bias="qkv" in bias)
        w.linear(at + "self_attn.v_proj", width, groups * head_width, gain=1.2, bias="qkv" in bias)
        w[at + "self_attn.rotary_emb.inv_freq"] = base_frequencies(rope_theta, head_width).float()
    w.norm("model.norm", width, bias=False)
    return config, w


def mistral(seed):
    return llama(seed, groups=2, architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=5, head_dim=None)


def qwen2(seed, slides):
    """Both kinds of real file: the window present but switched off, and used from max_window_layers on."""
    return llama(seed, groups=2, lm_head=slides, bias=("qkv",), architectures=["Qwen2ForCausalLM"], model_type="qwen2",
                 rope_theta=1000000.0, rms_norm_eps=1e-06, sliding_window=5, use_sliding_window=slides, max_window_layers=1)


LLAMA3 = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"}

# name -> (seed -> (config, weights)), how the file is written
CASES = {
    "gpt2": (lambda seed: gpt2(seed), {}),
    "gpt2_prefixed": (lambda seed: gpt2(seed, "transformer.", lm_head="tied", mask_dtype=torch.uint8), {"unaligned": True}),
    "gpt2_lm_head": (lambda seed: gpt2(seed, "transformer.", lm_head="own", inner=80, tie=False, mask_dtype=torch.bool), {}),
    "gpt_neo": (gpt_neo, {}),
    "gpt_neox": (lambda seed: gpt_neox(seed, parallel=True), {"dtype": torch.float16}),
    "gpt_neox_sequential": (lambda seed: gpt_neox(seed, parallel=False), {}),
    "llama": (lambda seed: llama(seed, lm_head=False, head_dim=None, rope_scaling=None, pretraining_tp=1), {}),
    "llama_gqa": (lambda seed: llama(seed, heads=6, groups=2, head_width=8, attention_bias=False, mlp_bias=False), {"dtype": torch.bfloat16}),
    "llama_mqa": (lambda seed: llama(seed, groups=1, bias=("qkv", "o", "mlp"), attention_bias=True, mlp_bias=True), {}),
    "llama_rope_llama3": (lambda seed: llama(seed, heads=3, groups=3, width=36, rope_scaling=LLAMA3), {}),
    "llama_rope_linear": (lambda seed: llama(seed, lm_head=False, tie_word_embeddings=False, rope_scaling={"type": "linear", "factor": 4.0}), {}),
    "llama_rope_parameters": (lambda seed: llama(seed, groups=2, rope_parameters={**LLAMA3, "rope_theta": 500000.0}, rope_theta=500000.0),
                              {"transformers": "5.0.0"}),
    "mistral": (mistral, {"shards": 2}),
    "qwen2": (lambda seed: qwen2(seed, slides=False), {}),
    "qwen2_sliding": (lambda seed: qwen2(seed, slides=True), {}),
}


def write_model(folder, config, weights, dtype=torch.float32, shards=1, unaligned=False, transformers="4.44.0"):
    """Writes the folder; unaligned puts every tensor at an odd address, which readers must expect."""
    dtype_key = "torch_dtype" if transformers < "5" else "dtype"
    config = {**config, dtype_key: str(dtype).removeprefix("torch."), "transformers_version": transformers}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    weights = {name: t.to(dtype) if t.dtype == torch.float32 and "inv_freq" not in name else t for name, t in weights.items()}
    if unaligned:
        weights = {"transformer.odd": torch.zeros(3, dtype=torch.uint8), **weights}
    if shards == 1:
        safetensors_file.write(folder / "model.safetensors", weights, pad=not unaligned)
        return
    names = list(weights)
    place = {name: f"model-{1 + i * shards // len(names):05}-of-{shards:05}.safetensors" for i, name in enumerate(names)}
    for file in sorted(set(place.values())):
        safetensors_file.write(folder / file, {name: weights[name] for name in names if place[name] == file})
    size = sum(t.numel() * t.element_size() for t in weights.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(place.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def prompt(vocabulary):
    """Both ends of the vocabulary, a repeated stretch, and the rest by chance."""
    tokens = numpy.random.RandomState(vocabulary).randint(0, vocabulary, PROMPT)
    tokens[3], tokens[5], tokens[11:15] = 0, vocabulary - 1, tokens[4:8]
    return tokens.tolist()


def spread(hooks):
    """Mean entropy of the attention rows after the first, as a share of the uniform row's: 1 is uniform, 0 one-hot."""
    shares = []
    for name, pattern in hooks.items():
        if name.endswith("hook_pattern"):
            entropy = -(pattern * pattern.clamp_min(1e-30).log()).sum(-1)
            shares.append((entropy / (pattern > 0).sum(-1).clamp_min(2).log())[:, 1:].mean())
    return float(torch.stack(shares).mean())


def write_case(name, folder, first_seed):
    """Takes the first seed whose greedy continuation is decided by a clear lead and is not a short loop."""
    build, options = CASES[name]
    for seed in range(first_seed, first_seed + 200):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_model(folder, *build(seed), **options)
        model = Model(folder)
        tokens = prompt(model.config["vocab_size"])
        greedy, lead = model.greedy(tokens, CONTINUATION)
        if lead > 0.02 and len(set(greedy)) >= 10:
            break
    else:
        raise SystemExit(f"{name}: no seed gives a clear greedy continuation")
    hooks = model.run(tokens)
    single = Model(folder, torch.float32).run(tokens)
    error = max(float((hooks[n] - single[n].double()).abs().where(hooks[n] > -1e29, torch.zeros(1, dtype=torch.float64)).max()) for n in hooks)
    golden = {"tokens": torch.tensor(tokens, dtype=torch.int32), "greedy": torch.tensor(greedy, dtype=torch.int32)}
    golden.update((n, t.float()) for n, t in hooks.items())
    safetensors_file.write(folder / "golden.safetensors", golden)

    size = sum(file.stat().st_size for file in folder.iterdir())
    peak = max(float(t[t > -1e29].abs().max()) for n, t in hooks.items() if n.endswith("attn_scores"))
    share = spread(hooks)
    print(f"{name:20} seed {seed:4} {size:7} bytes; entropy share {share:.2f}, largest score {peak:.1f}, "
          f"greedy lead {lead:.3f}, float32 differs by {error:.1e}")
    assert size < LIMIT_BYTES and share < 0.8 and error < 2e-5, name
    q, k = hooks["blocks.0.attn.hook_q"], hooks["blocks.0.attn.hook_k"]
    return {"name": name, "family": "llama" if model.config["model_type"] in ("mistral", "qwen2") else model.config["model_type"],
            "model_type": model.config["model_type"], "T": len(tokens), "L": sum(n.endswith("hook_pattern") for n in hooks),
            "H": q.shape[1], "G": k.shape[1], "D": q.shape[2], "C": hooks["hook_embed"].shape[1], "V": hooks["logits"].shape[1], "seed": seed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder to write into (default: beside this script)")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    cases = [write_case(name, out / name, 1000 * (i + 1)) for i, name in enumerate(CASES)]
    made = {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__}
    rows = ",\n".join("  " + json.dumps(case) for case in cases)
    (out / "cases.json").write_text(f'{{"made_with": {json.dumps(made)},\n "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
