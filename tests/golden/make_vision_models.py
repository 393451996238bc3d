#!/usr/bin/python3
"""Writes the small random vision models of tests/golden with their reference logits, patterns and other hooks, and vision_cases.json;
and vision_pictures.safetensors: pictures resized by Pillow and grids interpolated by torch. See README.md.
"""
import argparse
import json
import pathlib
import platform
import shutil

import numpy
import PIL
import PIL.Image
import torch

import safetensors_file
from make_models import Weights
from swin_reference import SwinModel
from vision_reference import VisionModel

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_BYTES = 250_000
FILTERS = {"nearest": PIL.Image.NEAREST, "lanczos": PIL.Image.LANCZOS, "bilinear": PIL.Image.BILINEAR, "bicubic": PIL.Image.BICUBIC}


def picture(height, width, seed):
    """Soft colours, a hard edge and some noise: [height, width, 3] of 0..255."""
    random = numpy.random.RandomState(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / (3 + c) + c) * numpy.cos(y / (4 + c)) for c in range(3)]
    pixels = numpy.stack(planes, -1) + 25 * random.standard_normal((height, width, 3))
    pixels[height // 3:height // 2, width // 4:width // 2] = (250, 10, 60)
    return numpy.clip(numpy.round(pixels), 0, 255).astype(numpy.uint8)


def body(w, prefix, patch, channels, width, inner, layers, positions, dino=False, gated=False):
    """The tensors that Hugging Face's vision families share, in their names."""
    w.normal(prefix + "embeddings.cls_token", 1, 1, width, std=0.7)
    w.normal(prefix + "embeddings.position_embeddings", 1, positions, width, std=0.5)
    w.normal(prefix + "embeddings.patch_embeddings.projection.weight", width, channels, patch, patch, std=1.5 * (channels * patch * patch) ** -0.5)
    w.normal(prefix + "embeddings.patch_embeddings.projection.bias", width, std=0.2)
    for layer in range(layers):
        at = f"{prefix}encoder.layer.{layer}."
        w.norm(at + ("norm1" if dino else "layernorm_before"), width)
        for part, gain in (("query", 1.5), ("key", 1.5), ("value", 1.2)):
            w.linear(at + "attention.attention." + part, width, width, gain=gain)
        w.linear(at + "attention.output.dense", width, width, gain=1.2)
        w.norm(at + ("norm2" if dino else "layernorm_after"), width)
        if gated:
            w.linear(at + "mlp.weights_in", width, 2 * inner, gain=1.2)
            w.linear(at + "mlp.weights_out", inner, width, gain=1.5)
        else:
            w.linear(at + ("mlp.fc1" if dino else "intermediate.dense"), width, inner)
            w.linear(at + ("mlp.fc2" if dino else "output.dense"), inner, width, gain=1.5)
        if dino:
            w.normal(at + "layer_scale1.lambda1", width, mean=0.6, std=0.3)
            w.normal(at + "layer_scale2.lambda1", width, mean=0.6, std=0.3)
    w.norm(prefix + "layernorm", width)


def hf_config(kind, architecture, image, patch, width, heads, layers, **more):
    return {"architectures": [architecture], "model_type": kind, "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu",
            "hidden_dropout_prob": 0.0, "hidden_size": width, "image_size": image, "initializer_range": 0.02, "layer_norm_eps": 1e-6,
            "num_attention_heads": heads, "num_channels": 3, "num_hidden_layers": layers, "patch_size": patch, "qkv_bias": True, **more}


def labels(count):
    return {"id2label": {str(i): f"thing {i}" for i in range(count)}, "label2id": {f"thing {i}": i for i in range(count)}}


def vit(seed):
    config = hf_config("vit", "ViTForImageClassification", 16, 4, 24, 3, 2, intermediate_size=48, layer_norm_eps=1e-12, encoder_stride=16, **labels(7))
    w = Weights(seed)
    body(w, "vit.", 4, 3, 24, 48, 2, 17)
    w.linear("classifier", 24, 7, gain=2.5)
    return config, w, {"do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
                       "image_processor_type": "ViTImageProcessor", "resample": 2, "rescale_factor": 1 / 255, "size": {"height": 16, "width": 16}}


def vit_features(seed):
    config = hf_config("vit", "ViTModel", 16, 4, 24, 2, 2, intermediate_size=48, num_channels=1, qkv_bias=False)
    w = Weights(seed)
    body(w, "", 4, 1, 24, 48, 2, 17)
    for name in [name for name in w if name.endswith(("query.bias", "key.bias", "value.bias"))]:
        del w[name]
    w.linear("pooler.dense", 24, 24)
    return config, w, {"do_normalize": True, "do_resize": True, "image_mean": [0.1307], "image_std": [0.3081], "resample": 0,
                       "feature_extractor_type": "ViTFeatureExtractor", "size": 20}


def deit(seed):
    config = hf_config("deit", "DeiTForImageClassificationWithTeacher", 16, 4, 24, 3, 2, intermediate_size=48, **labels(6))
    w = Weights(seed)
    body(w, "deit.", 4, 3, 24, 48, 2, 18)
    w.normal("deit.embeddings.distillation_token", 1, 1, 24, std=0.7)
    w.linear("cls_classifier", 24, 6, gain=2.5)
    w.linear("distillation_classifier", 24, 6, gain=2.5)
    return config, w, {"crop_size": {"height": 16, "width": 16}, "do_center_crop": True, "do_normalize": True, "do_rescale": True, "do_resize": True,
                       "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "image_processor_type": "DeiTFeatureExtractor",
                       "resample": 3, "rescale_factor": 1 / 255, "size": {"height": 19, "width": 19}}


def dinov2(seed, registers=0, image=24, crop=16, gated=False, head=True):
    kind = "dinov2_with_registers" if registers else "dinov2"
    name = "Dinov2WithRegisters" if registers else "Dinov2"
    config = hf_config(kind, name + ("ForImageClassification" if head else "Model"), image, 4, 24, 3, 2, mlp_ratio=4 if gated else 2,
                       layerscale_value=1.0, use_swiglu_ffn=gated, **(labels(5) if head else {}))
    if registers:
        config["num_register_tokens"] = registers
    w = Weights(seed)
    prefix = kind + "." if head else ""
    body(w, prefix, 4, 3, 24, 64 if gated else 48, 2, 1 + (image // 4) ** 2, dino=True, gated=gated)
    w.normal(prefix + "embeddings.mask_token", 1, 24, std=0.1)
    if registers:
        w.normal(prefix + "embeddings.register_tokens", 1, registers, 24, std=0.7)
    if head:
        w.linear("classifier", 48, 5, gain=2.5)
    return config, w, {"crop_size": {"height": crop, "width": crop}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
                       "do_rescale": True, "do_resize": True, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
                       "image_processor_type": "BitImageProcessor", "resample": 3, "rescale_factor": 1 / 255, "size": {"shortest_edge": crop + 2}}


def timm(seed, distilled=False, registers=0, average=False, scales=False):
    width, inner, layers = 24, 48, 2
    config = {"architecture": "vit_tiny_patch4_16", "num_classes": 6, "num_features": width, "global_pool": "avg" if average else "token",
              "model_args": {"num_heads": 3},
              "pretrained_cfg": {"input_size": [3, 16, 16], "mean": [0.5, 0.4, 0.6], "std": [0.5, 0.25, 0.3], "interpolation": "bicubic",
                                 "crop_pct": 0.9, "crop_mode": "center", "num_classes": 6, "first_conv": "patch_embed.proj", "classifier": "head"}}
    w = Weights(seed)
    w.normal("cls_token", 1, 1, width, std=0.7)
    if distilled:
        w.normal("dist_token", 1, 1, width, std=0.7)
    if registers:
        w.normal("reg_token", 1, registers, width, std=0.7)
    w.normal("pos_embed", 1, 16 if registers else 18 if distilled else 17, width, std=0.5)
    w.normal("patch_embed.proj.weight", width, 3, 4, 4, std=1.5 * 48**-0.5)
    w.normal("patch_embed.proj.bias", width, std=0.2)
    for layer in range(layers):
        at = f"blocks.{layer}."
        w.norm(at + "norm1", width)
        w.linear(at + "attn.qkv", width, 3 * width, gain=1.5)
        w.linear(at + "attn.proj", width, width, gain=1.2)
        if scales:
            w.normal(at + "ls1.gamma", width, mean=0.6, std=0.3)
            w.normal(at + "ls2.gamma", width, mean=0.6, std=0.3)
        w.norm(at + "norm2", width)
        w.linear(at + "mlp.fc1", width, inner)
        w.linear(at + "mlp.fc2", inner, width, gain=1.5)
    w.norm("fc_norm" if average else "norm", width)
    w.linear("head", width, 6, gain=2.5)
    if distilled:
        w.linear("head_dist", width, 6, gain=2.5)
    return config, w, None


def swin(seed, image=(16, 16), window=4, absolute=False, grey=False):
    width, depths, heads, patch, channels = 16, [2, 2], [2, 4], 2, 1 if grey else 3
    config = {"architectures": ["SwinForImageClassification"], "model_type": "swin", "depths": depths, "embed_dim": width, "hidden_act": "gelu",
              "hidden_size": 2 * width, "image_size": image[0] if image[0] == image[1] else list(image), "layer_norm_eps": 1e-5, "mlp_ratio": 2.0,
              "num_channels": channels, "num_heads": heads, "num_layers": len(depths), "patch_size": patch, "qkv_bias": True,
              "use_absolute_embeddings": absolute, "window_size": window, **labels(5)}
    w = Weights(seed)
    w.normal("swin.embeddings.patch_embeddings.projection.weight", width, channels, patch, patch, std=1.5 * (channels * patch**2) ** -0.5)
    w.normal("swin.embeddings.patch_embeddings.projection.bias", width, std=0.2)
    w.norm("swin.embeddings.norm", width)
    if absolute:
        w.normal("swin.embeddings.position_embeddings", 1, image[0] // patch * (image[1] // patch), width, std=0.5)
    rows, columns = image[0] // patch, image[1] // patch
    for stage, depth in enumerate(depths):
        size = width << stage
        side = min(window, rows, columns)
        for block in range(depth):
            at = f"swin.encoder.layers.{stage}.blocks.{block}."
            w.norm(at + "layernorm_before", size)
            for part in ("query", "key", "value"):
                w.linear(at + "attention.self." + part, size, size, gain=1.5)
            w.normal(at + "attention.self.relative_position_bias_table", (2 * side - 1) ** 2, heads[stage], std=0.8)
            w.linear(at + "attention.output.dense", size, size, gain=1.2)
            w.norm(at + "layernorm_after", size)
            w.linear(at + "intermediate.dense", size, 2 * size)
            w.linear(at + "output.dense", 2 * size, size, gain=1.5)
        if stage + 1 < len(depths):
            w.norm(f"swin.encoder.layers.{stage}.downsample.norm", 4 * size)
            w.linear(f"swin.encoder.layers.{stage}.downsample.reduction", 4 * size, 2 * size)
            del w[f"swin.encoder.layers.{stage}.downsample.reduction.bias"]
            rows, columns = (rows + 1) // 2, (columns + 1) // 2
    w.norm("swin.layernorm", width << (len(depths) - 1))
    w.linear("classifier", width << (len(depths) - 1), 5, gain=2.5)
    return config, w, {"do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5] * channels, "image_std": [0.25] * channels,
                       "image_processor_type": "ViTImageProcessor", "resample": 3, "rescale_factor": 1 / 255,
                       "size": {"height": image[0], "width": image[1]}}


# These cases hold every hook; the others those that tell whether their own peculiarities were read right.
WHOLE = ("vit", "dinov2_registers")
FEW = ("hook_embed", "hook_pos_embed", "hook_merged", "hook_resid_post", "hook_pattern", "hook_normalized", "hook_pooled", "logits")

# Of these the gradient of one class's logit by every layer's pattern is kept too, and the relevance made of it.
GRADIENTS = {"vit": 2, "deit": 4, "dinov2_registers": 1, "timm_registers": 3}

# name -> (seed -> (config, weights, preprocessor_config), dtype, extents of the picture, engine's family)
CASES = {
    "vit": (vit, torch.float32, (23, 31), "vit"),
    "vit_features": (vit_features, torch.float32, (37, 26), "vit"),
    "deit": (deit, torch.float32, (40, 28), "deit"),
    "dinov2_swiglu": (lambda seed: dinov2(seed, gated=True, head=False), torch.float16, (29, 33), "dinov2"),
    "dinov2_registers": (lambda seed: dinov2(seed, registers=3, crop=16), torch.float32, (35, 50), "dinov2_with_registers"),
    "timm_vit": (timm, torch.float32, (33, 33), "timm_vit"),
    "timm_deit": (lambda seed: timm(seed, distilled=True), torch.float32, (25, 40), "timm_vit"),
    "timm_registers": (lambda seed: timm(seed, registers=2, average=True, scales=True), torch.float32, (21, 17), "timm_vit"),
    "swin": (swin, torch.float32, (27, 22), "swin"),
    "swin_padded": (lambda seed: swin(seed, image=(14, 18), window=3, absolute=True, grey=True), torch.float16, (30, 31), "swin"),
}


def reference(config, *arguments):
    return (SwinModel if config.get("model_type") == "swin" else VisionModel)(config, *arguments)


def center_crop(pixels, height, width, rounds):
    """transformers' center_crop: the border of a smaller picture is black. torchvision's rounds halves to even."""
    top, left = (round(cut / 2) if rounds else cut // 2 for cut in (pixels.shape[0] - height, pixels.shape[1] - width))
    result = numpy.zeros((height, width, 3), numpy.uint8)
    for y in range(height):
        for x in range(width):
            if 0 <= y + top < pixels.shape[0] and 0 <= x + left < pixels.shape[1]:
                result[y, x] = pixels[y + top, x + left]
    return result


def prepared(pixels, config, preprocessor):
    """[channels, height, width], as transformers' processors or timm's evaluation transform make it."""
    is_timm = preprocessor is None
    if is_timm:
        settings = config["pretrained_cfg"]
        side = settings["input_size"][1]
        edge = {"shortest_edge": int(side / settings["crop_pct"])}
        preprocessor = {"size": edge, "crop_size": {"height": side, "width": side}, "resample": 3,
                        "image_mean": settings["mean"], "image_std": settings["std"]}
    image = PIL.Image.fromarray(pixels)
    size = preprocessor["size"]
    if isinstance(size, int):
        size = {"height": size, "width": size}
    if "shortest_edge" in size:
        edge, short = size["shortest_edge"], min(image.size)
        width, height = (int(edge * side / short) if side != short else edge for side in image.size)
    else:
        height, width = size["height"], size["width"]
    image = image.resize((width, height), preprocessor["resample"])
    pixels = numpy.asarray(image)
    if "crop_size" in preprocessor:
        pixels = center_crop(pixels, preprocessor["crop_size"]["height"], preprocessor["crop_size"]["width"], is_timm)
    if config.get("num_channels", 3) == 1:
        pixels = numpy.asarray(PIL.Image.fromarray(pixels).convert("L"))[:, :, None]
    values = pixels.astype(numpy.float64) * preprocessor.get("rescale_factor", 1 / 255)
    values = (values - numpy.array(preprocessor["image_mean"])) / numpy.array(preprocessor["image_std"])
    return torch.from_numpy(values.transpose(2, 0, 1).copy())


def write_case(name, folder, seed):
    build, dtype, extents, family = CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config, weights, preprocessor = build(seed)
    weights = {n: t.to(dtype) for n, t in weights.items()}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    if preprocessor is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor, indent=2, sort_keys=True) + "\n")
    safetensors_file.write(folder / "model.safetensors", weights)
    pixels = picture(*extents, seed)
    values = prepared(pixels, config, preprocessor)
    hooks = reference(config, weights).run(values)
    single = reference(config, weights, torch.float32).run(values)
    error = max(float((hooks[n] - single[n].double()).abs().max()) for n in hooks)
    golden = {"image": torch.from_numpy(pixels.astype(numpy.float16)), "pixels": values.float()}  # whole numbers to 255: exact
    golden.update((n, t.float()) for n, t in hooks.items() if name in WHOLE or n.endswith(FEW))
    safetensors_file.write(folder / "golden.safetensors", golden)
    if name in GRADIENTS:
        write_gradients(folder / "gradients.safetensors", VisionModel(config, weights), values, GRADIENTS[name])
    size = sum(file.stat().st_size for file in folder.iterdir())
    pattern = hooks["blocks.1.attn.hook_pattern"]
    peak = float(pattern.max(-1).values.mean())
    print(f"{name:18} {size:7} bytes; mean peak of the last patterns {peak:.2f}, float32 differs by {error:.1e}")
    assert size < LIMIT_BYTES and error < 2e-5 and peak > 2 / pattern.shape[-1], name
    return {"name": name, "family": family, "T": len(hooks["hook_embed"]), "H": pattern.shape[-3], "C": hooks["hook_embed"].shape[1],
            "classes": hooks["logits"].shape[1] if "logits" in hooks else 0, "seed": seed}


def write_gradients(path, model, values, label):
    """d logit / d pattern by autograd, and Chefer et al. 2021, arXiv:2103.15679, equations 5 and 6: R = R + mean(relu(gradient * A)) R."""
    for weight in model.weights.values():
        weight.requires_grad_()  # so that patterns have gradients
    hooks = model.run(values)
    patterns = [hooks[f"blocks.{layer}.attn.hook_pattern"] for layer in range(model.names["layers"])]
    gradients = torch.autograd.grad(hooks["logits"][0, label], patterns)
    relevance = torch.eye(patterns[0].shape[-1], dtype=patterns[0].dtype)
    for pattern, gradient in zip(patterns, gradients):
        relevance = relevance + (gradient * pattern).clamp(min=0).mean(0) @ relevance
    tensors = {f"blocks.{layer}.attn.pattern_gradient": gradient.detach().float() for layer, gradient in enumerate(gradients)}
    safetensors_file.write(path, {"class": torch.tensor([float(label)]), **tensors, "relevance": relevance.detach().float()})


def write_pictures(path):
    """Every filter, smaller and larger and both at once; grids up, down and of another ratio."""
    tensors = {}
    source = picture(29, 22, 5)
    tensors["source"] = torch.from_numpy(source.astype(numpy.float16))
    for name, code in FILTERS.items():
        for height, width in ((12, 12), (50, 41), (29, 9), (64, 22), (1, 3)):
            resized = numpy.asarray(PIL.Image.fromarray(source).resize((width, height), code))
            tensors[f"{name}.{height}x{width}"] = torch.from_numpy(resized.astype(numpy.float16))
    random = numpy.random.RandomState(9)
    grid = torch.from_numpy(random.standard_normal((5, 7, 3))).float()
    tensors["grid"] = grid
    for height, width in ((5, 7), (9, 7), (3, 3), (12, 5)):
        for antialias in (False, True):
            result = torch.nn.functional.interpolate(grid.double().permute(2, 0, 1)[None], size=(height, width), mode="bicubic",
                                                     align_corners=False, antialias=antialias)
            tensors[f"grid{'.antialias' if antialias else ''}.{height}x{width}"] = result[0].permute(1, 2, 0).float()
    safetensors_file.write(path, tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="folder to write into (default: beside this script)")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    cases = [write_case(name, out / name, 100 * (i + 1)) for i, name in enumerate(CASES)]
    write_pictures(out / "vision_pictures.safetensors")
    made = {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__, "pillow": PIL.__version__}
    rows = ",\n".join("  " + json.dumps(case) for case in cases)
    (out / "vision_cases.json").write_text(f'{{"made_with": {json.dumps(made)},\n "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
