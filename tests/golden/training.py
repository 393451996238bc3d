#!/usr/bin/python3
"""Trains the models of training/*.json in PyTorch and writes the loss of every step beside them.

usage: training.py build/release/bin/attention-cli

The program gives the initial weights and the batches (attention-cli train --export-batches); everything else, the forward pass
(reference.py), its gradient, clipping, AdamW and the schedule, is PyTorch's or written here.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch

import reference
import safetensors_file

HERE = pathlib.Path(__file__).parent / "training"


def rate_at(recipe, step):
    if step < recipe["warm_up"]:
        return recipe["learning_rate"] * (step + 1) / (recipe["warm_up"] + 1)
    done = (step - recipe["warm_up"]) / (recipe["steps"] - recipe["warm_up"])
    low, high = recipe["final_learning_rate"], recipe["learning_rate"]
    return low + (high - low) * 0.5 * (1 + math.cos(math.pi * done))


def train(cli, path):
    recipe = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        run, batches = pathlib.Path(folder) / "run", pathlib.Path(folder) / "batches.safetensors"
        subprocess.run([cli, "train", "--recipe", path, "--out", run, "--export-batches", batches], check=True, stdout=subprocess.DEVNULL)
        first = run / "checkpoints" / "step-000000"
        config = json.loads((first / "config.json").read_text())
        weights = safetensors_file.read(first / "model.safetensors")
        batches = safetensors_file.read(batches)
    for tensor in weights.values():
        tensor.requires_grad_(True)
    groups = [{"params": [w for w in weights.values() if w.dim() > 1], "weight_decay": recipe["weight_decay"]},
              {"params": [w for w in weights.values() if w.dim() == 1], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1, betas=(recipe["beta1"], recipe["beta2"]), eps=recipe["epsilon"])
    forward = getattr(reference, config["model_type"])
    losses = []
    for step in range(recipe["steps"]):
        inputs, targets = batches["inputs"][step].long(), batches["targets"][step].long()
        logits = torch.stack([forward(config, weights, tokens)["logits"] for tokens in inputs])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, label_smoothing=recipe["smoothing"])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), recipe["clip"])
        for group in optimiser.param_groups:
            group["lr"] = rate_at(recipe, step)
        optimiser.step()
        losses.append(round(loss.item(), 7))
    (HERE / path.name.replace(".recipe.", ".losses.")).write_text(json.dumps(losses) + "\n")
    print(path.name, losses[0], "->", losses[-1])


for recipe in sorted(HERE.glob("*.recipe.json")):
    train(sys.argv[1], recipe)
