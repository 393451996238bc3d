"""GPT-2 in mixed precision (Micikevicius et al. 2018, arXiv:1710.03740), in float64 with every rounding to 16 bits written out.

An activation is rounded where it is kept, and the gradient that reaches it where it is read. Sums in between are not rounded.
"""
import torch

KINDS = {"f16": torch.float16, "bf16": torch.bfloat16}


def rounded(x, kind):
    return x.to(KINDS[kind]).to(x.dtype)


class Keep(torch.autograd.Function):
    """Rounds an activation, and on the way back the sum of all gradients that reach it."""

    @staticmethod
    def forward(ctx, x, kind):
        ctx.kind = kind
        return rounded(x, kind)

    @staticmethod
    def backward(ctx, d):
        return rounded(d, ctx.kind), None


class Narrowed(torch.autograd.Function):
    """A matrix as products read it. Its gradient has 32 bits."""

    @staticmethod
    def forward(ctx, w, kind):
        return rounded(w, kind)

    @staticmethod
    def backward(ctx, d):
        return d, None


class Gelu(torch.autograd.Function):
    """The argument is kept rounded, for the slope; the gradient of the argument is rounded after the product with the slope."""

    @staticmethod
    def forward(ctx, a, kind):
        ctx.kind = kind
        ctx.save_for_backward(rounded(a, kind))
        return rounded(torch.nn.functional.gelu(a, approximate="tanh"), kind)

    @staticmethod
    def backward(ctx, d):
        with torch.enable_grad():
            a = ctx.saved_tensors[0].detach().requires_grad_()
            slope, = torch.autograd.grad(torch.nn.functional.gelu(a, approximate="tanh").sum(), a)
        return rounded(d * slope, ctx.kind), None


class Attention(torch.autograd.Function):
    """FlashAttention's backward pass (Dao et al. 2022, algorithm 4): the result of the forward pass, as it was kept, gives the
    row sums of pattern times gradient. q, k, v: [H,T,D]"""

    @staticmethod
    def forward(ctx, q, k, v, kind):
        scores = q @ k.mT * q.shape[-1] ** -0.5
        pattern = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf).softmax(-1)
        z = rounded(pattern @ v, kind)
        ctx.kind = kind
        ctx.save_for_backward(q, k, v, pattern, z)
        return z

    @staticmethod
    def backward(ctx, d):
        q, k, v, pattern, z = ctx.saved_tensors
        d = rounded(d, ctx.kind)
        of_scores = pattern * (d @ v.mT - (d * z).sum(-1, keepdim=True)) * q.shape[-1] ** -0.5
        return of_scores @ k, of_scores.mT @ q, pattern.mT @ d, None


def gpt2_logits(config, weights, tokens, kind):
    w = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    keep = lambda x: Keep.apply(x, kind)  # noqa: E731
    matrix = lambda name: Narrowed.apply(w[name + ".weight"], kind)  # noqa: E731
    linear = lambda x, name: x @ matrix(name) + w[name + ".bias"]  # noqa: E731
    norm = lambda x, name: keep(torch.nn.functional.layer_norm(  # noqa: E731
        x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"]))
    heads = lambda x: keep(x).reshape(len(tokens), config["n_head"], -1).transpose(0, 1)  # noqa: E731
    x = keep(w["wte.weight"][tokens]) + keep(w["wpe.weight"][:len(tokens)])
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."
        q, k, v = (heads(part) for part in linear(norm(x, at + "ln_1"), at + "attn.c_attn").split(config["n_embd"], -1))
        z = Attention.apply(q, k, v, kind).transpose(0, 1).reshape(len(tokens), -1)
        x = keep(linear(z, at + "attn.c_proj") + x)
        hidden = Gelu.apply(linear(norm(x, at + "ln_2"), at + "mlp.c_fc"), kind)
        x = keep(linear(hidden, at + "mlp.c_proj") + x)
    return keep(norm(x, "ln_f") @ matrix("wte").T)
