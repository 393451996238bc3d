#include "engine/models/block_builder.h"

#include "engine/attention/block/block_flow.h"
#include "engine/attention/execution.h"
#include "engine/models/hook_names.h"
#include "engine/ops/training_ops.h"

namespace attn {

const Part* BlockBuilder::named(size_t layer, Slot slot) const {
    return layer < settings_.layers.size() ? settings_.layers[layer].spec.blockPart(slot) : nullptr;
}

const BlockHooks& BlockBuilder::hooks(size_t layer, Slot slot) const {
    static constexpr BlockHooks kNone;
    const Part* part = named(layer, slot);
    if (!part) part = slot == Slot::Norm ? settings_.norm : slot == Slot::Residual ? settings_.residual : nullptr;
    return part ? *part->block : kNone;
}

PartValues BlockBuilder::valuesOf(size_t layer, Slot slot) const {
    return named(layer, slot) ? settings_.layers[layer].spec.values(slot) : PartValues({}, {});
}

Tensor BlockBuilder::dropped(Tensor x) { return settings_.dropout > 0 ? dropout(x, settings_.dropout, dropouts++) : x; }

void BlockBuilder::widen() {
    settings_.modelWidth *= 2;
    settings_.feedForward.width *= 2;
}

BlockFlow BlockBuilder::blockFlow(size_t layer, Slot slot, const std::string& weights) {
    return {.graph = graph_,
            .weights = weights,
            .width = settings_.modelWidth,
            .epsilon = settings_.normEpsilon,
            .layer = static_cast<int64_t>(layer),
            .hasBias = settings_.feedForward.bias,
            .needsGradients = settings_.needsGradients,
            .parameters = named(layer, slot) ? partTensors.parameters : ownParameters_,
            .recomputed = &partTensors.recomputed};
}

Tensor BlockBuilder::norm(Tensor x, size_t layer, const std::string& weights, const std::string& name) {
    BlockFlow flow = blockFlow(layer, Slot::Norm, weights);
    return hooks(layer, Slot::Norm).map(flow, valuesOf(layer, Slot::Norm), name, x);
}

Tensor BlockBuilder::finalNorm(Tensor x) {
    const size_t last = settings_.layers.empty() ? 0 : settings_.layers.size() - 1;
    if (!settings_.finalNorm || (named(last, Slot::Residual) && hooks(last, Slot::Residual).isPostNorm)) return x;
    return norm(x, last, {}, inStack(settings_.stack, "ln_final"));
}

Tensor BlockBuilder::spread(Tensor x) const {
    const int64_t streams = hooks(0, Slot::Residual).streams;
    return streams == 1 ? x : concatenate(std::vector<Tensor>(static_cast<size_t>(streams), x), -1);
}

Tensor BlockBuilder::gather(Tensor x) const {
    const int64_t rows = x.shape()[0], C = settings_.modelWidth, streams = x.shape().columns() / C;
    return streams == 1 ? x : reshape(reduce(reshape(x, {rows, streams, C}), Reduction::Mean, {1}), {rows, C});
}

Tensor BlockBuilder::layerScale(size_t layer, const std::string& weights, const char* name) {
    if (!hooks(layer, Slot::Residual).scalesOutput) return {};
    constexpr InitialValue kInitial{InitialValue::Kind::Constant, 0.1}; // of models with up to 18 layers
    return blockFlow(layer, Slot::Residual, weights).parameter(name, {settings_.modelWidth}, kInitial);
}

std::string BlockBuilder::nameOf(size_t layer) const { return blockName(static_cast<int64_t>(layer), settings_.stack); }

template <class Build> Sublayer BlockBuilder::sublayer(Build build) {
    return [this, build](Tensor in, Tensor residual) {
        const SublayerNodes nodes = build(in, residual);
        if (!residual) return dropped(nodes.added);
        return settings_.dropout > 0 ? add(residual, dropped(nodes.added)) : nodes.output;
    };
}

Sublayer BlockBuilder::attention(const LayerAttention& attention, size_t layer, AttentionSite& site) {
    return sublayer([this, &attention, layer, &site](Tensor in, Tensor residual) {
        site.input = in;
        site.residual = residual ? residual : in;
        const AttentionNodes nodes = siteAttention(attention, site, static_cast<int64_t>(layer), partTensors);
        updates.insert(updates.end(), nodes.updates.begin(), nodes.updates.end());
        return SublayerNodes{nodes.added, nodes.output};
    });
}

Tensor BlockBuilder::block(size_t layer, Tensor x, AttentionSite site, const AttentionSite& cross) {
    const uint32_t first = graph_.size();
    const std::string own = nameOf(layer), prefix = site.prefix.empty() ? own : site.prefix;
    const std::string weights = hooks(layer, Slot::Layers).sharesWeights ? nameOf(0) : own;
    if (prefix != own) site.gates = own + ".attn";
    site.prefix = prefix + ".attn";
    site.weights = weights + ".attn";
    site.stackWeights = nameOf(0) + ".attn";
    if (settings_.sharesPositions) site.positionWeights = nameOf(0) + ".attn";
    site.positions = settings_.positions;
    if (hasHooks(settings_.layers[layer].spec, Stage::Inputs)) x = withInputs(layer, site, x);
    x = graph_.probe(x, prefix + ".hook_resid_pre", "TC");
    site.outputScale = layerScale(layer, weights, "scale1");

    const BlockHooks& residual = hooks(layer, Slot::Residual);
    const PartValues values = valuesOf(layer, Slot::Residual);
    BlockFlow flow = blockFlow(layer, Slot::Residual, weights);
    flow.sequence = site.sequence;
    const auto normed = [&](const char* name) {
        return [this, layer, &weights, name](Tensor in) { return norm(in, layer, weights, name); };
    };
    if (residual.before) x = residual.before(flow, values, x);
    const Tensor input = x;
    x = residual.join(flow, values, "gate1", x, normed("ln1"), attention(settings_.layers[layer], layer, site));
    if (!settings_.cross.empty()) {
        x = graph_.probe(x, prefix + ".hook_resid_mid", "TC");
        AttentionSite other = cross;
        other.queryPosition = site.queryPosition;
        other.sequence = site.sequence;
        other.prefix = other.weights = prefix + ".cross_attn";
        x = residual.join(flow, values, "gate_cross", x, normed("ln_cross"),
                          attention(settings_.cross[layer], layer, other));
    }
    if (residual.between) x = add(x, dropped(residual.between(flow, values, "local", normed("ln3")(x))));
    if (hasFeedForward(layer)) {
        const char* const middle = settings_.cross.empty() ? ".hook_resid_mid" : ".hook_resid_mid_cross";
        if (!residual.isParallel) x = graph_.probe(x, prefix + middle, "TC");
        const auto ofInput = [&](Tensor in) { return normed("ln2")(residual.isParallel ? input : in); };
        x = residual.join(flow, values, "gate2", x, ofInput, feedForward(layer, prefix, weights));
    }
    x = graph_.probe(x, prefix + ".hook_resid_post", "TC");
    if (prefix == own) blocks.push_back({first, graph_.size()});
    return x;
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
    return settings_.feedForward.width > 0 || named(layer, Slot::FeedForward) != nullptr;
}

Sublayer BlockBuilder::feedForward(size_t layer, const std::string& prefix, const std::string& weights) {
    return sublayer([this, layer, prefix, weights](Tensor in, Tensor residual) -> SublayerNodes {
        const std::string probe = prefix + ".hook_mlp_out";
        const Tensor factors = layerScale(layer, weights, "scale2");
        BlockFlow flow = blockFlow(layer, Slot::FeedForward, weights);
        const auto network = hooks(layer, Slot::FeedForward).network;
        const FeedForwardSpec spec =
            network ? network(flow, valuesOf(layer, Slot::FeedForward)) : settings_.feedForward;
        const FeedForwardWeights own(flow, spec, "mlp");
        if (spec.chunks == 1)
            return joinStream(hiddenLayer(flow, spec, own, in), own.out, own.outBias, factors, residual, probe);
        Tensor added = attn::feedForward(flow, spec, own, in);
        if (factors) added = binary(added, factors, Binary::Multiply);
        added = graph_.probe(added, probe, "TC");
        return {added, residual ? add(residual, added) : Tensor()};
    });
}

} // namespace attn
