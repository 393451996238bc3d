#include "engine/training/precision.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

namespace attn {
namespace {

constexpr Citation kPaper{"Micikevicius et al.", 2018, "Mixed Precision Training", "section 3", "arXiv:1710.03740"};
constexpr std::string_view kCommand = "./dev bench precision";

} // namespace

std::span<const Precision> precisions() {
    static constexpr std::array kAll{
        Precision{.dtype = DType::F32,
                  .id = "f32",
                  .title = "32 bits",
                  .purpose = "Every number has 32 bits: about seven decimal digits. Nothing is rounded further.",
                  .approximation = {},
                  .difference = {},
                  .result = {},
                  .command = {},
                  .source = kPaper},
        Precision{
            .dtype = DType::BF16,
            .id = "bf16",
            .title = "16 bits (bfloat16)",
            .purpose = "The numbers that wait from the forward to the backward pass take half of the memory. "
                       "bfloat16 has the range of 32 bits, so that no gradient is too small for it.",
            .approximation = "Activations, their gradients and the matrices that products read are rounded to "
                             "about two and a half decimal digits. Parameters keep 32 bits, because a small "
                             "update would be rounded away.",
            .difference = "The paper has no bfloat16.",
            .result =
                "A model of four layers needs 16.0 instead of 25.4 MiB for a step, and its loss after 200 steps is the "
                "same to three digits.",
            .command = kCommand,
            .source = kPaper},
        Precision{
            .dtype = DType::F16,
            .id = "f16",
            .title = "16 bits (half)",
            .purpose = "The numbers that wait from the forward to the backward pass take half of the memory. Half "
                       "precision has three digits, but no number below 0.00000006. The loss is therefore "
                       "multiplied by a scale, which makes all gradients larger, and the gradients of the "
                       "parameters are divided by it again.",
            .approximation = "Activations, their gradients and the matrices that products read are rounded to "
                             "about three decimal digits. Parameters keep 32 bits. A step whose gradients exceed "
                             "65504 is left out, and the scale is halved.",
            .difference = "The paper also rounds the gradients of the parameters; here they keep 32 bits. The "
                          "scale starts at 65536 and doubles after 2000 good steps, as in PyTorch.",
            .result =
                "After 15 steps of a model of two layers, 16.7 % of the gradients that are not zero would become "
                "zero without a scale, and 0.05 % do with it. After 200 steps of a model of four layers, the loss is "
                "the same as with 32 bits to three digits.",
            .command = "./dev bench precision --layers 2 --width 64 --batch 32 --steps 15",
            .source = kPaper},
    };
    return kAll;
}

const Precision& precisionNamed(std::string_view id) {
    std::string all;
    for (const Precision& each : precisions()) {
        if (each.id == id) return each;
        all += fmt::format("{}{}", all.empty() ? "" : ", ", each.id);
    }
    throw Error({.what = fmt::format("there is no \"{}\"", id),
                 .where = "recipe: precision",
                 .hint = fmt::format("choose one of: {}", all)});
}

const Precision& precisionOf(DType dtype) {
    const auto found = std::ranges::find(precisions(), dtype, &Precision::dtype);
    assert(found != precisions().end());
    return *found;
}

} // namespace attn
