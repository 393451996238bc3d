#include "engine/models/block_builder.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/models/hook_names.h"
#include "engine/ops/training_ops.h"

namespace attn {

const BlockHooks* BlockBuilder::hooksOf(size_t layer, Slot slot) const {
    const Part* part = settings_.layers[layer].spec.blockPart(slot);
    return part ? part->block : nullptr;
}

Tensor BlockBuilder::dropped(Tensor x) { return settings_.dropout > 0 ? dropout(x, settings_.dropout, dropouts++) : x; }

void BlockBuilder::widen() {
    settings_.modelWidth *= 2;
    settings_.feedForward.width *= 2;
}

BlockFlow BlockBuilder::blockFlow(const std::string& weights) {
    return {.graph = graph_,
            .weights = weights,
            .width = settings_.modelWidth,
            .epsilon = settings_.normEpsilon,
            .hasBias = settings_.feedForward.bias,
            .parameters = partTensors.parameters,
            .recomputed = &partTensors.recomputed};
}

Tensor BlockBuilder::mapped(size_t layer, Slot slot, const std::string& weights, const std::string& name, Tensor x) {
    BlockFlow flow = blockFlow(weights);
    return hooksOf(layer, slot)->map(flow, settings_.layers[layer].spec.values(slot), name, x);
}

Tensor BlockBuilder::norm(Tensor x, size_t layer, const std::string& weights, const std::string& name) {
    if (hooksOf(layer, Slot::Norm)) return mapped(layer, Slot::Norm, weights, name, x);
    return plainNorm(x, weights.empty() ? name : weights + "." + name);
}

Tensor BlockBuilder::plainNorm(Tensor x, const std::string& name) {
    const int64_t C = settings_.modelWidth;
    if (settings_.norm == NormKind::None) return x;
    const Tensor w = graph_.parameter(name + ".w", {C});
    if (settings_.norm == NormKind::RmsNorm) return rmsNorm(x, w, settings_.normEpsilon);
    return layerNorm(x, w, graph_.parameter(name + ".b", {C}), settings_.normEpsilon);
}

Tensor BlockBuilder::finalNorm(Tensor x) {
    const bool hasLayers = !settings_.layers.empty();
    const size_t last = settings_.layers.size() - 1;
    const BlockHooks* residual = hasLayers ? hooksOf(last, Slot::Residual) : nullptr;
    if (!settings_.finalNorm || (residual && residual->isPostNorm)) return x;
    const std::string name = settings_.stack == "blocks" ? "ln_final" : settings_.stack + ".ln_final";
    return hasLayers ? norm(x, last, {}, name) : plainNorm(x, name);
}

Tensor BlockBuilder::spread(Tensor x) const {
    const BlockHooks* residual = settings_.layers.empty() ? nullptr : hooksOf(0, Slot::Residual);
    if (!residual || residual->streams == 1) return x;
    return concatenate(std::vector<Tensor>(static_cast<size_t>(residual->streams), x), -1);
}

Tensor BlockBuilder::gather(Tensor x) const {
    const int64_t rows = x.shape()[0], C = settings_.modelWidth, streams = x.shape().columns() / C;
    return streams == 1 ? x : reshape(reduce(reshape(x, {rows, streams, C}), Reduction::Mean, {1}), {rows, C});
}

Tensor BlockBuilder::layerScale(const std::string& weights, const char* name) {
    return settings_.layerScale ? graph_.parameter(weights + "." + name, {settings_.modelWidth}) : Tensor();
}

std::string BlockBuilder::nameOf(size_t layer) const { return blockName(static_cast<int64_t>(layer), settings_.stack); }

AttentionNodes BlockBuilder::attend(const LayerAttention& attention, size_t layer, AttentionSite& site, Tensor input,
                                    Tensor residual) {
    site.input = input;
    site.residual = residual;
    const AttentionNodes nodes = siteAttention(attention, site, static_cast<int64_t>(layer), partTensors);
    updates.insert(updates.end(), nodes.updates.begin(), nodes.updates.end());
    return nodes;
}

Tensor BlockBuilder::block(size_t layer, Tensor x, AttentionSite site, const AttentionSite& cross) {
    const uint32_t first = graph_.size();
    const std::string own = nameOf(layer), prefix = site.prefix.empty() ? own : site.prefix;
    const bool isShared = hooksOf(layer, Slot::Layers) && hooksOf(layer, Slot::Layers)->sharesWeights;
    const std::string weights = isShared ? nameOf(0) : own;
    if (prefix != own) site.gates = own + ".attn";
    site.prefix = prefix + ".attn";
    site.weights = weights + ".attn";
    site.stackWeights = nameOf(0) + ".attn";
    if (settings_.sharesPositions) site.positionWeights = nameOf(0) + ".attn";
    site.positions = settings_.positions;
    if (hasHooks(settings_.layers[layer].spec, Stage::Inputs)) x = withInputs(layer, site, x);
    x = graph_.probe(x, prefix + ".hook_resid_pre", "TC");
    site.outputScale = layerScale(weights, "scale1");

    Tensor result;
    if (const BlockHooks* residual = hooksOf(layer, Slot::Residual)) {
        result = joined(layer, *residual, prefix, site, weights, x);
    } else {
        const auto normed = [&](bool applies, Tensor in, const char* name) {
            return applies ? norm(in, layer, weights, name) : in;
        };
        const bool after = settings_.postNorm, before = !after;
        const auto attended = [&](const LayerAttention& attention, AttentionSite& of, Tensor in, const char* name) {
            const AttentionNodes nodes = attend(attention, layer, of, normed(before, in, name), in);
            const Tensor sum = settings_.dropout > 0 ? add(in, dropped(nodes.added)) : nodes.output;
            return normed(after, sum, name);
        };
        result = attended(settings_.layers[layer], site, x, "ln1");
        if (!settings_.cross.empty()) {
            result = graph_.probe(result, prefix + ".hook_resid_mid", "TC");
            AttentionSite other = cross;
            other.queryPosition = site.queryPosition;
            other.sequence = site.sequence;
            other.prefix = other.weights = prefix + ".cross_attn";
            result = attended(settings_.cross[layer], other, result, "ln_cross");
        }
        if (hasFeedForward(layer)) {
            const char* const middle = settings_.cross.empty() ? ".hook_resid_mid" : ".hook_resid_mid_cross";
            if (!settings_.parallelResidual) result = graph_.probe(result, prefix + middle, "TC");
            const Tensor input = normed(before, settings_.parallelResidual ? x : result, "ln2");
            const SublayerNodes fed = feedForward(layer, prefix, weights, input, result);
            result = settings_.dropout > 0 ? add(result, dropped(fed.added)) : fed.output;
            result = normed(after, result, "ln2");
        }
    }
    result = graph_.probe(result, prefix + ".hook_resid_post", "TC");
    if (prefix == own) blocks.push_back({first, graph_.size()});
    return result;
}

/// A layer whose residual is a composed part.
Tensor BlockBuilder::joined(size_t layer, const BlockHooks& residual, const std::string& prefix, AttentionSite& site,
                            const std::string& weights, Tensor x) {
    const auto normed = [&](const char* name) {
        return [this, layer, &weights, name](Tensor in) { return norm(in, layer, weights, name); };
    };
    BlockFlow flow = blockFlow(weights);
    flow.sequence = site.sequence;
    flow.layer = static_cast<int64_t>(layer);
    const PartValues values = settings_.layers[layer].spec.values(Slot::Residual);
    if (residual.before) x = residual.before(flow, values, x);
    x = residual.join(flow, values, "gate1", x, normed("ln1"),
                      [&](Tensor in) { return dropped(attend(settings_.layers[layer], layer, site, in, in).added); });
    if (residual.between) x = add(x, dropped(residual.between(flow, values, "local", normed("ln3")(x))));
    if (!hasFeedForward(layer)) return x;
    x = graph_.probe(x, prefix + ".hook_resid_mid", "TC");
    return residual.join(flow, values, "gate2", x, normed("ln2"),
                         [&](Tensor in) { return dropped(feedForward(layer, prefix, weights, in).added); });
}

/// Adds the inputs of the position part to every residual stream of the layer's input.
Tensor BlockBuilder::withInputs(size_t layer, AttentionSite& site, Tensor x) {
    const int64_t C = settings_.modelWidth;
    std::vector<Tensor> streams;
    bool isChanged = false;
    for (int64_t begin = 0; begin < x.shape().columns(); begin += C) {
        site.input = x.shape().columns() == C ? x : slice(x, -1, begin, C);
        streams.push_back(attentionInputs(settings_.layers[layer], site, static_cast<int64_t>(layer), partTensors));
        isChanged = isChanged || streams.back() != site.input;
    }
    if (!isChanged) return x;
    return streams.size() == 1 ? streams.front() : concatenate(streams, -1);
}

bool BlockBuilder::hasFeedForward(size_t layer) const {
    return settings_.feedForward.width > 0 || hooksOf(layer, Slot::FeedForward) != nullptr;
}

SublayerNodes BlockBuilder::feedForward(size_t layer, const std::string& prefix, const std::string& weights,
                                        Tensor input, Tensor residual) {
    const std::string probe = prefix + ".hook_mlp_out";
    const Tensor factors = layerScale(weights, "scale2");
    if (hooksOf(layer, Slot::FeedForward)) {
        Tensor added = mapped(layer, Slot::FeedForward, weights, "mlp", input);
        if (factors) added = binary(added, factors, Binary::Multiply);
        added = graph_.probe(added, probe, "TC");
        return {added, residual ? add(residual, added) : Tensor()};
    }
    const FeedForwardSpec& spec = settings_.feedForward;
    const int64_t C = settings_.modelWidth;
    const auto parameter = [&](const char* name, Shape shape) {
        return graph_.parameter(weights + ".mlp." + name, std::move(shape));
    };
    const auto bias = [&](const char* name, int64_t width) {
        return spec.bias ? std::optional(parameter(name, {width})) : std::nullopt;
    };
    Tensor hidden;
    const Tensor weightIn = parameter("W_in", {spec.width, C});
    if (spec.gated) {
        const bool isSwiglu = spec.activation == Activation::Silu;
        const Tensor gate = matmul(input, parameter("W_gate", {spec.width, C}),
                                   {.bias = bias("b_gate", spec.width),
                                    .activation = isSwiglu ? Activation::None : spec.activation,
                                    .keepsArgument = !isSwiglu && settings_.mayTrain});
        const Tensor up = matmul(input, weightIn, {.bias = bias("b_in", spec.width)});
        hidden = isSwiglu ? swiglu(gate, up) : binary(gate, up, Binary::Multiply);
    } else {
        hidden = matmul(
            input, weightIn,
            {.bias = bias("b_in", spec.width), .activation = spec.activation, .keepsArgument = settings_.mayTrain});
    }
    const Tensor weightOut = parameter("W_out", {C, spec.width});
    return joinStream(hidden, weightOut, bias("b_out", C), factors, residual, probe);
}

} // namespace attn
