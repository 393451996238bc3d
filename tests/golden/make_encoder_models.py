#!/usr/bin/python3
"""Writes the small random encoders of tests/golden with their reference logits, patterns and other hooks, and encoder_cases.json.

See README.md. The layers are also compared with torch.nn.TransformerEncoderLayer, which shares no code with encoder_reference.py.
"""
import argparse
import json
import pathlib
import platform
import shutil

import numpy
import torch

import safetensors_file
from encoder_reference import BERT, DISTILBERT, Encoder
from make_models import Weights, spread

HERE = pathlib.Path(__file__).resolve().parent
LAYERS, HEADS, WIDTH, INNER, CONTEXT, LENGTH, LIMIT_BYTES = 2, 3, 24, 40, 20, 13, 120_000
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "on", "mat", "ran", "a", "##s", "##ing", ".", ",", "?",
         "who", "did", "sit", "it", "red", "big", "##ger", "and", "not", "is", "was", "he", "she", "they", "play", "##ed", "home", "to", "in"]

# A byte-level vocabulary: "\u0120" stands for a space.
PIECES = ["<s>", "<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyzTW.,?", "\u0120", "he", "\u0120t", "\u0120the", "Th", "The", "at",
          "\u0120c", "\u0120cat", "<mask>"]
MERGES = ["h e", "\u0120 t", "\u0120t he", "T h", "Th e", "a t", "\u0120 c", "\u0120c at"]


def layers(w, at, names):
    for layer in range(LAYERS):
        block = at + names["layer"].format(layer)
        for part, gain in zip(names["qkv"], (1.6, 1.6, 1.2)):
            w.linear(block + part, WIDTH, WIDTH, gain=gain)
        w.linear(block + names["o"], WIDTH, WIDTH, gain=1.2)
        w.norm(block + names["norm1"], WIDTH)
        w.linear(block + names["in"], WIDTH, INNER)
        w.linear(block + names["out"], INNER, WIDTH, gain=1.5)
        w.norm(block + names["norm2"], WIDTH)


def bert(seed, prefix="bert.", head="tied", pooler=True, old_names=False, types=2, act="gelu", **more):
    """head: None, "tied" (with a copy of the table), "implied" (without it) or "own"."""
    config = {"architectures": ["BertForPreTraining" if head else "BertModel"], "model_type": "bert", "attention_probs_dropout_prob": 0.1,
              "hidden_act": act, "hidden_dropout_prob": 0.1, "hidden_size": WIDTH, "initializer_range": 0.02, "intermediate_size": INNER,
              "layer_norm_eps": 1e-12, "max_position_embeddings": CONTEXT, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
              "pad_token_id": 0, "type_vocab_size": types, "vocab_size": len(WORDS), **more}
    w = Weights(seed)
    w[prefix + "embeddings.position_ids"] = torch.arange(CONTEXT).reshape(1, -1)
    w.normal(prefix + "embeddings.word_embeddings.weight", len(WORDS), WIDTH, std=0.6)
    w.normal(prefix + "embeddings.position_embeddings.weight", CONTEXT, WIDTH, std=0.4)
    w.normal(prefix + "embeddings.token_type_embeddings.weight", types, WIDTH, std=0.4)
    w.norm(prefix + "embeddings.LayerNorm", WIDTH)
    layers(w, prefix, BERT)
    if pooler:
        w.linear(prefix + "pooler.dense", WIDTH, WIDTH)
    if head:
        w.normal("cls.predictions.decoder.bias" if head == "own" else "cls.predictions.bias", len(WORDS), std=0.3)
        w.linear("cls.predictions.transform.dense", WIDTH, WIDTH, gain=1.5)
        w.norm("cls.predictions.transform.LayerNorm", WIDTH)
        w.linear("cls.seq_relationship", WIDTH, 2)
    if head == "tied":
        w["cls.predictions.decoder.weight"] = w[prefix + "embeddings.word_embeddings.weight"].clone()
    elif head == "own":
        w.normal("cls.predictions.decoder.weight", len(WORDS), WIDTH, std=0.6)
    if old_names:
        for name in [name for name in w if "LayerNorm" in name]:
            w[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = w.pop(name)
    return config, w


def roberta(seed, kind="roberta", prefix="roberta.", head="tied", **more):
    """head: None, "tied" (with a copy of the table) or "own", whose bias is only the decoder's."""
    config = {"architectures": ["RobertaForMaskedLM" if head else "RobertaModel"], "model_type": kind, "attention_probs_dropout_prob": 0.1,
              "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": WIDTH,
              "initializer_range": 0.02, "intermediate_size": INNER, "layer_norm_eps": 1e-5, "max_position_embeddings": CONTEXT + 2,
              "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "pad_token_id": 1, "type_vocab_size": 1,
              "vocab_size": len(PIECES), **more}
    w = Weights(seed)
    w.normal(prefix + "embeddings.word_embeddings.weight", len(PIECES), WIDTH, std=0.6)
    w.normal(prefix + "embeddings.position_embeddings.weight", CONTEXT + 2, WIDTH, std=0.4)
    w.normal(prefix + "embeddings.token_type_embeddings.weight", 1, WIDTH, std=0.4)
    w.norm(prefix + "embeddings.LayerNorm", WIDTH)
    layers(w, prefix, BERT)
    if head:
        w.linear("lm_head.dense", WIDTH, WIDTH, gain=1.5)
        w.norm("lm_head.layer_norm", WIDTH)
        w.normal("lm_head.decoder.bias" if head == "own" else "lm_head.bias", len(PIECES), std=0.3)
    if head == "tied":
        w["lm_head.decoder.weight"] = w[prefix + "embeddings.word_embeddings.weight"].clone()
    elif head == "own":
        w.normal("lm_head.decoder.weight", len(PIECES), WIDTH, std=0.6)
    return config, w


def distilbert(seed, prefix="distilbert.", head=True, **more):
    config = {"architectures": ["DistilBertForMaskedLM" if head else "DistilBertModel"], "model_type": "distilbert", "activation": "gelu",
              "attention_dropout": 0.1, "dim": WIDTH, "dropout": 0.1, "hidden_dim": INNER, "initializer_range": 0.02,
              "max_position_embeddings": CONTEXT, "n_heads": HEADS, "n_layers": LAYERS, "pad_token_id": 0, "sinusoidal_pos_embds": False,
              "tie_weights_": True, "vocab_size": len(WORDS), **more}
    w = Weights(seed)
    w.normal(prefix + "embeddings.word_embeddings.weight", len(WORDS), WIDTH, std=0.6)
    w.normal(prefix + "embeddings.position_embeddings.weight", CONTEXT, WIDTH, std=0.4)
    w.norm(prefix + "embeddings.LayerNorm", WIDTH)
    layers(w, prefix, DISTILBERT)
    if head:
        w.linear("vocab_transform", WIDTH, WIDTH, gain=1.5)
        w.norm("vocab_layer_norm", WIDTH)
        w["vocab_projector.weight"] = w[prefix + "embeddings.word_embeddings.weight"].clone()
        w.normal("vocab_projector.bias", len(WORDS), std=0.3)
    return config, w


def xlnet(seed, prefix="transformer.", head="tied", d_head=8, **more):
    """head: None, "tied" (with a copy of the table) or "own"."""
    config = {"architectures": ["XLNetLMHeadModel" if head else "XLNetModel"], "model_type": "xlnet", "attn_type": "bi", "bi_data": False,
              "clamp_len": -1, "d_head": d_head, "d_inner": INNER, "d_model": WIDTH, "dropout": 0.1, "ff_activation": "gelu",
              "initializer_range": 0.02, "layer_norm_eps": 1e-12, "mem_len": None, "n_head": HEADS, "n_layer": LAYERS, "reuse_len": None,
              "same_length": False, "untie_r": True, "vocab_size": len(WORDS), **more}
    w = Weights(seed)
    w.normal(prefix + "mask_emb", 1, 1, WIDTH, std=0.4)
    w.normal(prefix + "word_embedding.weight", len(WORDS), WIDTH, std=0.6)
    for layer in range(LAYERS):
        at = f"{prefix}layer.{layer}."
        for part, gain in (("q", 1.2), ("k", 1.2), ("v", 1.2), ("o", 1.2), ("r", 0.9)):
            w.normal(at + "rel_attn." + part, WIDTH, HEADS, d_head, std=gain * WIDTH**-0.5 * (2 if part in "qk" else 1))
        for part in ("r_r_bias", "r_s_bias", "r_w_bias"):
            w.normal(at + "rel_attn." + part, HEADS, d_head, std=0.6)
        w.normal(at + "rel_attn.seg_embed", 2, HEADS, d_head, std=0.4)
        w.norm(at + "rel_attn.layer_norm", WIDTH)
        w.norm(at + "ff.layer_norm", WIDTH)
        w.linear(at + "ff.layer_1", WIDTH, INNER)
        w.linear(at + "ff.layer_2", INNER, WIDTH, gain=1.5)
    if head:
        w.normal("lm_loss.bias", len(WORDS), std=0.3)
    if head == "tied":
        w["lm_loss.weight"] = w[prefix + "word_embedding.weight"].clone()
    elif head == "own":
        w.normal("lm_loss.weight", len(WORDS), WIDTH, std=0.6)
    return config, w


# name -> (seed -> (config, weights)), dtype of the file, where its tokenizer is
CASES = {
    "bert": (lambda seed: bert(seed), torch.float32, "vocab.txt"),
    "bert_old_names": (lambda seed: bert(seed, head="implied", pooler=False, old_names=True), torch.float16, None),
    "bert_no_head": (lambda seed: bert(seed, prefix="", head=None, types=3), torch.float32, None),
    "bert_untied": (lambda seed: bert(seed, head="own", act="gelu_new", tie_word_embeddings=False, layer_norm_eps=1e-5), torch.float32, None),
    "distilbert": (lambda seed: distilbert(seed), torch.float32, "tokenizer.json"),
    "distilbert_no_head": (lambda seed: distilbert(seed, prefix="", head=False, sinusoidal_pos_embds=True), torch.float32, None),
    "roberta": (lambda seed: roberta(seed), torch.float32, "byte-level"),
    "xlm_roberta_untied": (lambda seed: roberta(seed, kind="xlm-roberta", prefix="", head="own", tie_word_embeddings=False), torch.float16, None),
    "xlnet": (lambda seed: xlnet(seed), torch.float32, None),
    "xlnet_no_head": (lambda seed: xlnet(seed, prefix="", head=None, d_head=6), torch.float16, None),
}


def tokenizer_json():
    special = [{"id": WORDS.index(t), "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for t in WORDS[:5]]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {token: i for i, token in enumerate(WORDS)}}}


def byte_level_json():
    special = [{"id": PIECES.index(t), "content": t, "single_word": False, "lstrip": t == "<mask>", "rstrip": False, "normalized": False,
                "special": True} for t in (*PIECES[:4], "<mask>")]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                      "fuse_unk": False, "vocab": {piece: i for i, piece in enumerate(PIECES)}, "merges": MERGES}}


def check_against_torch(model, hooks):
    """torch.nn's own layers, from the reference's first hook_resid_pre to its last hook_resid_post."""
    names = DISTILBERT if model.config["model_type"] == "distilbert" else BERT
    prefix = names["layer"].split(".")[0]
    w = {name[name.index(prefix):].replace("gamma", "weight").replace("beta", "bias"): t for name, t in model.weights.items() if prefix in name}
    act = {"gelu": torch.nn.functional.gelu, "gelu_new": lambda x: torch.nn.functional.gelu(x, approximate="tanh")}
    x = hooks["blocks.0.hook_resid_pre"][None]
    for layer in range(LAYERS):
        at = names["layer"].format(layer)
        theirs = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0, act[model.config.get("hidden_act", "gelu")],
                                                  1e-12 if prefix == "transformer" else model.config["layer_norm_eps"], batch_first=True,
                                                  norm_first=False, dtype=torch.float64)
        theirs.load_state_dict({
            **{f"self_attn.in_proj_{kind}": torch.cat([w[f"{at}{part}.{kind}"] for part in names["qkv"]]) for kind in ("weight", "bias")},
            **{f"{their}.{kind}": w[f"{at}{names[ours]}.{kind}"] for kind in ("weight", "bias")
               for their, ours in (("self_attn.out_proj", "o"), ("linear1", "in"), ("linear2", "out"), ("norm1", "norm1"), ("norm2", "norm2"))}})
        with torch.no_grad():
            x = theirs(x)
    difference = float((x[0] - hooks[f"blocks.{LAYERS - 1}.hook_resid_post"]).abs().max())
    assert difference < 1e-10, difference


def write_case(name, folder, seed):
    build, dtype, tokenizer = CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config, weights = build(seed)
    config = {**config, "torch_dtype": str(dtype).removeprefix("torch."), "transformers_version": "4.44.0"}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    safetensors_file.write(folder / "model.safetensors", {n: t.to(dtype) if t.is_floating_point() else t for n, t in weights.items()})
    if tokenizer == "vocab.txt":
        (folder / tokenizer).write_text("\n".join(WORDS) + "\n")
        (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "mask_token": "[MASK]"}) + "\n")
    elif tokenizer:
        text = byte_level_json() if tokenizer == "byte-level" else tokenizer_json()
        (folder / "tokenizer.json").write_text(json.dumps(text, indent=1) + "\n")

    random = numpy.random.RandomState(seed)
    tokens = random.randint(5, min(len(WORDS), config["vocab_size"]), LENGTH)
    cls, mask, sep = (0, config["vocab_size"] - 1, 2) if "roberta" in name else (2, 4, 3)
    tokens[0], tokens[3], tokens[7], tokens[-1] = cls, mask, sep, sep
    tokens[5] = tokens[9]
    types = numpy.arange(LENGTH) // 8 * (config.get("type_vocab_size", 2) > 1)
    model = Encoder(folder)
    hooks = model.run(tokens, types)
    if config["model_type"] != "xlnet":
        check_against_torch(model, hooks)
    single = Encoder(folder, torch.float32).run(tokens, types)
    error = max(float((hooks[n] - single[n].double()).abs().max()) for n in hooks)
    golden = {"tokens": torch.from_numpy(tokens).int(), "token_types": torch.from_numpy(types).int()}
    golden.update((n, t.float()) for n, t in hooks.items())
    safetensors_file.write(folder / "golden.safetensors", golden)
    size, share = sum(file.stat().st_size for file in folder.iterdir()), spread(hooks)
    print(f"{name:20} {size:7} bytes; entropy share {share:.2f}, float32 differs by {error:.1e}")
    assert size < LIMIT_BYTES and share < 0.85 and error < 2e-5, name
    return {"name": name, "family": config["model_type"].removeprefix("xlm-"), "T": LENGTH, "L": LAYERS, "H": HEADS, "C": WIDTH, "V": config["vocab_size"], "seed": seed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder to write into (default: beside this script)")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    cases = [write_case(name, out / name, 100 + i) for i, name in enumerate(CASES)]
    made = {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__}
    rows = ",\n".join("  " + json.dumps(case) for case in cases)
    (out / "encoder_cases.json").write_text(f'{{"made_with": {json.dumps(made)},\n "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
