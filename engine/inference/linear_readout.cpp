#include "engine/inference/linear_readout.h"

#include "engine/core/error.h"
#include "engine/models/model_builder.h"
#include "engine/ops/ops.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace attn {
namespace {

/// The final norm of rows of the stream, with its divisor held. @param x [N,C]
Tensor heldNorm(const StreamSpec& config, Tensor x) {
    if (!config.finalNorm || config.norm == &kNoNormPart) return x;
    Graph& graph = *x.graph;
    const int64_t C = x.shape().columns();
    const std::string name = config.named("ln_final");
    const bool centres = config.norm == &kLayerNormPart;
    if (centres) x = binary(x, reduce(x, Reduction::Mean, {1}), Binary::Subtract);
    const Tensor variance = affine(reduce(unary(x, Unary::Square), Reduction::Mean, {1}), 1, config.normEpsilon);
    const Tensor held = stopGradient(unary(variance, Unary::ReciprocalSquareRoot));
    x = binary(binary(x, held, Binary::Multiply), reshape(graph.parameter(name + ".w", {C}), {1, C}), Binary::Multiply);
    return centres ? binary(x, reshape(graph.parameter(name + ".b", {C}), {1, C}), Binary::Add) : x;
}

void requireLinear(const ModelSpec& config, bool isOneStream) {
    const AttentionSpec& last = config.layers.back().spec;
    if (isOneStream && !last.blockPart(Slot::Norm) && !last.blockPart(Slot::Residual)) return;
    throw Error({.what =
                     "this model's logits cannot be split into contributions: its final norm is not a layer norm or "
                     "RMS norm of a single residual stream",
                 .where = config.name,
                 .hint = "use the logit lens or the input gradients"});
}

Tensor readoutOfText(const ModelSpec& config, Tensor stream, Tensor row) {
    const bool isOfClasses =
        config.readout() == TextReadout::TextClass && !isEncoder(config); // an encoder has a pooler
    const bool isPostNorm = config.residual->block->isPostNorm;
    const bool readsLinearly = isPostNorm && config.readout() == TextReadout::MaskedToken &&
                               !config.tokenReadout().hasMaskedHead; // as XLNet does
    const bool isLinear = config.readout() == TextReadout::NextToken || isOfClasses || readsLinearly;
    if (isPostNorm || !isLinear)
        throw Error(
            {.what = fmt::format("this model's logits cannot be split into contributions: {}{}{}",
                                 isPostNorm ? "norms stand between its sublayers" : "",
                                 isPostNorm && !isLinear ? ", and " : "", isLinear ? "" : "its readout is not linear"),
             .where = config.name,
             .hint = "use the logit lens or the input gradients"});
    requireLinear(config, stream.shape().columns() == config.modelWidth);
    Graph& graph = *stream.graph;
    const Tensor rows = heldNorm(config, take(stream, row));
    if (isOfClasses)
        return matmul(rows,
                      graph.parameter("classifier.W", {std::ssize(config.classReadout().labels), config.modelWidth}));
    const ReadoutSpec& readout = config.tokenReadout();
    MatmulOptions out{.scale = readout.scale};
    if (readout.unembedBias) out.bias = graph.parameter("unembed.b_U", {config.tokens.vocabulary});
    return matmul(rows,
                  graph.parameter(readout.tiedEmbedding ? "embed.W_E" : "unembed.W_U",
                                  {config.tokens.vocabulary, config.modelWidth}),
                  out);
}

Tensor readoutOfPicture(const ModelSpec& config, Tensor stream) {
    const ReadoutSpec& readout = config.classReadout();
    if (readout.classes == 0)
        throw Error({.what = "this model has no classifier",
                     .where = config.name,
                     .hint = "open a model with a classifier; this one only gives features and patterns"});
    requireLinear(config, true);
    Graph& graph = *stream.graph;
    const auto pooled = [&](Tensor rows) {
        const Tensor first = config.patches.clsToken ? slice(rows, 0, 0, 1) : Tensor();
        if (readout.pooling == PatchPooling::Cls) return first;
        const int64_t P = config.patches.prefix();
        const Tensor mean = reduce(slice(rows, 0, P, rows.shape()[0] - P), Reduction::Mean, {0});
        return readout.pooling == PatchPooling::Mean ? mean : concatenate(std::array{first, mean}, -1);
    };
    const auto head = [&](Tensor x, const std::string& name) {
        return matmul(x, graph.parameter(name + ".W_H", {readout.classes, x.shape().columns()}),
                      {.bias = graph.parameter(name + ".b_H", {readout.classes})});
    };
    const Tensor rows = readout.normAfterPooling ? stream : heldNorm(config, stream);
    const Tensor read = pooled(rows);
    const Tensor own = head(readout.normAfterPooling ? heldNorm(config, read) : read, "head");
    if (!readout.distillationHead) return own;
    return affine(add(own, head(slice(rows, 0, 1, 1), "distillation_head")), 0.5, 0);
}

} // namespace

Tensor linearReadout(const ModelSpec& config, Tensor stream, Tensor row) {
    return config.axis == AxisKind::Patches ? readoutOfPicture(config, stream) : readoutOfText(config, stream, row);
}

} // namespace attn
