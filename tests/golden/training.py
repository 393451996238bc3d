#!/usr/bin/python3
"""Trains the models of training/*.json in PyTorch and writes the loss of every step beside them.

usage: training.py build/release/bin/attention-cli [NAME...]

The program gives the initial weights and the batches (attention-cli train --export-batches); everything else, the forward pass
(reference.py), its gradient, clipping, AdamW or SGD and the schedule, is PyTorch's or written here.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch

import composed_reference
import encoder_reference
import etc_reference
import mixed_reference
import reference
import safetensors_file
import two_stream_reference
import vision_reference

HERE = pathlib.Path(__file__).parent / "training"


def stage_at(recipe, step):
    return step * recipe.get("window_stages", 1) // recipe["steps"]


def rate_at(recipe, step):
    return rate_in_one_stage(recipe, step) / 2 ** stage_at(recipe, step)


def rate_in_one_stage(recipe, step):
    if step < recipe["warm_up"]:
        return recipe["learning_rate"] * (step + 1) / (recipe["warm_up"] + 1)
    done = (step - recipe["warm_up"]) / (recipe["steps"] - recipe["warm_up"])
    low, high = recipe["final_learning_rate"], recipe["learning_rate"]
    return low + (high - low) * 0.5 * (1 + math.cos(math.pi * done))


def pixels_of(config, patches):
    """[patches, channels p p] -> [channels, height, width]"""
    size, patch, channels = config["image_size"], config["patch_size"], config["num_channels"]
    grid = patches.reshape(size // patch, size // patch, channels, patch, patch)
    return grid.permute(2, 0, 3, 1, 4).reshape(channels, size, size)


def classes_of(config, weights, tokens, types):
    """The readout of classes over one text: [1, labels], [T, labels], or [2, T] for the first and the last token of an answer."""
    if config["model_type"] == "gpt2":
        hooks = reference.gpt2(config, weights, tokens)
        last = hooks[f"blocks.{config['n_layer'] - 1}.hook_resid_post"][-1:]
        last = reference.layer_norm(last, weights["transformer.ln_f.weight"], weights["transformer.ln_f.bias"], config["layer_norm_epsilon"])
        return reference.linear(last, weights, "score")
    x = encoder_reference.bert(config, weights, tokens, types)[f"blocks.{config['num_hidden_layers'] - 1}.hook_resid_post"]
    kind = config["architectures"][0]
    if kind == "BertForTokenClassification":
        return reference.linear(x, weights, "classifier")
    if kind == "BertForQuestionAnswering":
        return reference.linear(x, weights, "qa_outputs").T
    pooled = torch.tanh(reference.linear(x[:1], weights, "bert.pooler.dense"))
    return reference.linear(pooled, weights, "classifier" if kind == "BertForSequenceClassification" else "cls.seq_relationship")


def padded(logits, rows, columns):
    """More rows and columns, which no target has."""
    return torch.nn.functional.pad(logits, (0, columns - logits.shape[1], 0, rows - logits.shape[0]), value=-1e30)


def pretraining_loss(config, weights, batches, step):
    """BERT's: the mean over the hidden tokens plus the mean over the pairs."""
    words, classes = [], []
    for tokens, types in zip(batches["inputs"][step].long(), batches["types"][step].long()):
        hooks = encoder_reference.bert(config, weights, tokens[tokens >= 0], types[tokens >= 0])
        words.append(padded(hooks["logits"], len(tokens), hooks["logits"].shape[1]))
        first = hooks[f"blocks.{config['num_hidden_layers'] - 1}.hook_resid_post"][:1]
        classes.append(reference.linear(torch.tanh(reference.linear(first, weights, "bert.pooler.dense")), weights, "cls.seq_relationship"))
    loss = lambda logits, targets: torch.nn.functional.cross_entropy(torch.cat(logits), targets[step].long().flatten(), ignore_index=-1)  # noqa: E731
    return loss(words, batches["targets"]) + loss(classes, batches["classes"])


def logits_of(config, weights, batches, step, divisor, precision):
    """[targets, choices] of one step's batch. divisor: how much narrower windows are than the config says."""
    if precision != "f32":
        return torch.cat([mixed_reference.gpt2_logits(config, weights, tokens, precision) for tokens in batches["inputs"][step].long()])
    if config["model_type"] == "attention-lab":
        if not config.get("encoder"):
            return torch.cat([composed_reference.decoder(config, weights, tokens) for tokens in batches["inputs"][step].long()])
        encode = lambda tokens, parents=None: composed_reference.encoder(config, weights, tokens, torch.zeros_like(tokens), divisor, parents)
        if "parents" in batches:
            rows = zip(batches["inputs"][step].long(), batches["parents"][step].tolist())
            return torch.cat([encode(tokens, parents) for tokens, parents in rows])
        return torch.cat([encode(tokens) for tokens in batches["inputs"][step].long()])
    if "types" in batches:  # texts of different lengths, with classes
        targets, rows = batches["targets"][step].shape[1], []
        for tokens, types in zip(batches["inputs"][step].long(), batches["types"][step].long()):
            logits = classes_of(config, weights, tokens[tokens >= 0], types[tokens >= 0])
            rows.append(padded(logits, targets, max(logits.shape[1], len(tokens) if logits.shape[0] == 2 else 0)))
        return torch.cat(rows)
    if "ranks" in batches:
        rows = zip(batches["inputs"][step].long(), batches["ranks"][step].long())
        return torch.cat([encoder_reference.xlnet_queries(config, weights, tokens, ranks) for tokens, ranks in rows])
    if config.get("prefix_lm"):  # a prefix ends where the targets begin
        prefixes = (batches["targets"][step] >= 0).int().argmax(-1) + 1
        rows = zip(batches["inputs"][step].long(), prefixes)
        return torch.cat([reference.gpt2(config, weights, tokens, prefix)["logits"] for tokens, prefix in rows])
    if config["model_type"] == "vit":
        model = vision_reference.VisionModel(config, weights, torch.float32)
        return torch.cat([model.run(pixels_of(config, patches))["logits"] for patches in batches["patches"][step]])
    if config["model_type"] == "bert":  # dynamic masking: the batches hold what is hidden
        encode = lambda tokens: encoder_reference.bert(config, weights, tokens, torch.zeros_like(tokens))["logits"]
        return torch.cat([encode(tokens) for tokens in batches["inputs"][step].long()])
    if config.get("is_encoder_decoder"):
        forward = two_stream_reference.FAMILIES[config["model_type"]]
        rows = zip(batches["sources"][step].long(), batches["inputs"][step].long())
        return torch.cat([forward(config, weights, source[source >= 0], tokens)["logits"] for source, tokens in rows])
    forward = getattr(reference, config["model_type"])
    return torch.cat([forward(config, weights, tokens)["logits"] for tokens in batches["inputs"][step].long()])


# As transformers' models for sequence classification.
LOSSES = {"multi_label_classification": torch.nn.BCEWithLogitsLoss(), "regression": torch.nn.MSELoss()}


def loss_of(config, weights, batches, step, smoothing, divisor, precision):
    if "whole" in batches:
        return etc_reference.loss(config, weights, batches, step)
    if config.get("architectures") == ["BertForPreTraining"]:
        return pretraining_loss(config, weights, batches, step)
    if config.get("problem_type") in LOSSES:  # targets are numbers, one for each label: [rows, labels]
        rows = zip(batches["inputs"][step].long(), batches["types"][step].long())
        logits = torch.cat([classes_of(config, weights, tokens[tokens >= 0], types[tokens >= 0]) for tokens, types in rows])
        return LOSSES[config["problem_type"]](logits, batches["targets"][step].to(logits.dtype))
    targets, logits = batches["targets"][step].long().flatten(), logits_of(config, weights, batches, step, divisor, precision)
    return torch.nn.functional.cross_entropy(logits, targets, ignore_index=-1, label_smoothing=smoothing)


def adapters_of(folder):
    """The low-rank adapters of a checkpoint in the layout of Hugging Face's PEFT: (tensor of the model, A, B), and what merges them."""
    config = json.loads((folder / "adapter_config.json").read_text())
    tensors = safetensors_file.read(folder / "adapter_model.safetensors")
    adapters = [(name.removeprefix("base_model.model.").replace("lora_A.weight", "weight"), a, tensors[name.replace("lora_A", "lora_B")])
                for name, a in tensors.items() if name.endswith("lora_A.weight")]
    scale = config["lora_alpha"] / config["r"]

    def merged(weights):
        delta = lambda a, b: scale * ((b @ a).T if config["fan_in_fan_out"] else b @ a)  # noqa: E731
        return weights | {name: weights[name] + delta(a, b) for name, a, b in adapters}

    return [tensor for _, a, b in adapters for tensor in (a, b)], merged


def train(cli, path):
    recipe = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        run, batches = pathlib.Path(folder) / "run", pathlib.Path(folder) / "batches.safetensors"
        command = [cli, "train", "--recipe", path, "--out", run, "--export-batches", batches]
        if recipe.get("text", "builtin:").partition(":")[0] != "builtin":
            command += ["--text", HERE / recipe["text"]]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        first = run / "checkpoints" / "step-000000"
        config = json.loads((first / "config.json").read_text())
        weights = safetensors_file.read(first / "model.safetensors")
        precision = recipe.get("precision", "f32")
        if config["model_type"] == "attention-lab" or precision != "f32" or config.get("problem_type") in LOSSES:
            weights = {name: tensor.double() for name, tensor in weights.items()}
        batches = safetensors_file.read(batches)
        trained, merged = list(weights.values()), lambda weights: weights
        if recipe.get("lora_rank"):
            trained, merged = adapters_of(first / "adapter")
    for tensor in trained:
        tensor.requires_grad_(True)
    is_vector = lambda w: w.dim() == 1 or w is weights.get("final_logits_bias")  # of shape [1, vocabulary]  # noqa: E731
    groups = [{"params": [w for w in trained if not is_vector(w)], "weight_decay": recipe["weight_decay"]},
              {"params": [w for w in trained if is_vector(w)], "weight_decay": 0.0}]
    if recipe.get("optimiser") == "sgd":
        optimiser = torch.optim.SGD(groups, lr=1, momentum=recipe["momentum"])
    else:
        optimiser = torch.optim.AdamW(groups, lr=1, betas=(recipe["beta1"], recipe["beta2"]), eps=recipe["epsilon"])
    losses, scale = [], 65536.0 if precision == "f16" else 1.0
    for step in range(recipe["steps"]):
        divisor = 2 ** (recipe.get("window_stages", 1) - 1 - stage_at(recipe, step))
        loss = loss_of(config, merged(weights), batches, step, recipe["smoothing"], divisor, precision)
        losses.append(round(loss.item(), 7))
        optimiser.zero_grad()
        (scale * loss).backward()
        if precision == "f16":
            if not all(tensor.grad.isfinite().all() for tensor in trained):
                scale /= 2  # and the update is left out
                continue
            for tensor in trained:
                tensor.grad /= scale
        torch.nn.utils.clip_grad_norm_(trained, recipe["clip"])
        for group in optimiser.param_groups:
            group["lr"] = rate_at(recipe, step)
        optimiser.step()
    (HERE / path.name.replace(".recipe.", ".losses.")).write_text(json.dumps(losses) + "\n")
    print(path.name, losses[0], "->", losses[-1])


for recipe in sorted(HERE.glob("*.recipe.json")):
    if len(sys.argv) < 3 or recipe.name.split(".")[0] in sys.argv[2:]:
        train(sys.argv[1], recipe)
