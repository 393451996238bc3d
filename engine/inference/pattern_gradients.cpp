#include "engine/inference/pattern_gradients.h"

#include "engine/graph/op.h"
#include "engine/models/hook_names.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"

#include <array>

namespace attn {
namespace {

/// The tensors from which the gradient of a layer's pattern is computed.
struct Source {
    Tensor watched;                ///< the pattern [1,H,T,T], with windows [windows,H,places,places]; or z
    Tensor values;                 ///< v, for a fused kernel
    Tensor gates{};                ///< [H], if the kernel applies them
    bool byHead = true;            ///< z is [1,H,T,D] and v [1,G,T,D]; else [T,H,D] and [T,G,D]
    bool isOne = true;             ///< one sequence
    Tensor first{}, firstValues{}; ///< as watched and values, of the first rows, which read other values; or null
};

Source sourceOf(Graph& graph, const NodeRange& block, size_t layer) {
    Tensor first, firstValues;
    for (uint32_t id = block.first; id < block.end; ++id) {
        const Node& node = graph.node(id);
        if (!node.op) continue;
        const Tensor z{&graph, id, 0};
        if (node.op->name == "fused_attention")
            return {.watched = z, .values = node.inputs[2], .gates = node.inputs[5], .byHead = false};
        if (node.op->name != "block_attention") continue;
        if (z.shape()[2] == node.inputs[1].shape()[2])
            return {.watched = z, .values = node.inputs[2], .first = first, .firstValues = firstValues};
        first = z;
        firstValues = node.inputs[2];
    }
    const auto probe = graph.probes().find(attentionHook(layer, "pattern"));
    if (probe == graph.probes().end()) return {};
    const Tensor probed = probe->second.tensor;
    if (probed.shape().rank() == 4 || graph.isChanged(probe->first))
        return {.watched = probed, .values = {}, .isOne = false};
    // The probe is a view without the axis of sequences; the layer reads the tensor behind it.
    const Node& view = graph.node(probed.node);
    return {.watched = view.inputs.front(), .values = {}};
}

/// @param dz of source.watched  @param dFirst of source.first  @return [H,T,T]
Tensor ofPattern(const Source& source, Tensor dz, Tensor dFirst) {
    const Shape shape = dz.shape();
    if (!source.values) return source.isOne ? reshape(dz, {shape[1], shape[2], shape[3]}) : dz;
    if (dFirst) {
        const Tensor all = ofPattern({.watched = source.watched, .values = source.values}, dz, {}),
                     first = ofPattern({.watched = source.first, .values = source.firstValues}, dFirst, {});
        const int64_t g = first.shape()[1];
        return concatenate(std::array{first, slice(all, 1, g, all.shape()[1] - g)}, 1);
    }
    const auto byHead = [&](Tensor x) { // -> [heads,T,D]
        return source.byHead ? reshape(x, {x.shape()[1], x.shape()[2], x.shape()[3]}) : permute(x, {1, 0, 2});
    };
    const Tensor rows = byHead(dz);
    Tensor values = byHead(source.values);
    const int64_t H = rows.shape()[0], G = values.shape()[0], T = values.shape()[1], D = values.shape()[2];
    if (G != H) values = reshape(broadcast(reshape(values, {G, 1, T, D}), {G, H / G, T, D}), {H, T, D});
    const Tensor product = batchedMatmul(rows, values, {.transposeB = true}); // [H,T,D] . [H,D,T] -> [H,T,T]
    return source.gates ? multiply(product, reshape(source.gates, {H, 1, 1})) : product;
}

} // namespace

std::vector<Tensor> patternGradients(const ModelGraph& encoder, Tensor loss) {
    std::vector<Source> sources;
    std::vector<Tensor> watched;
    for (size_t layer = 0; layer < encoder.blocks.size(); ++layer) {
        sources.push_back(sourceOf(*encoder.graph, encoder.blocks[layer], layer));
        for (const Tensor each : {sources.back().watched, sources.back().first})
            if (each) watched.push_back(each);
    }
    const std::vector<Tensor> gradients = gradient(loss, watched, {.isForTraining = false});
    std::vector<Tensor> result;
    for (size_t at = 0; const Source& source : sources) {
        const Tensor flowing = source.watched ? gradients[at++] : Tensor(),
                     first = source.first ? gradients[at++] : Tensor();
        result.push_back(flowing ? ofPattern(source, flowing, first) : Tensor());
    }
    return result;
}

} // namespace attn
