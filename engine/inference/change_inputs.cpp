#include "engine/inference/change_inputs.h"

#include "engine/core/bit_row.h"
#include "engine/models/model_builder.h"
#include "engine/models/structure.h"

#include <algorithm>

namespace attn {

void ChangeInputs::setRow(size_t row, std::span<const float> weights) const {
    const size_t at = row * stride();
    std::ranges::fill(kept.subspan(at, stride()), weights.empty() ? 1.0f : 0.0f);
    std::ranges::fill(added.subspan(at, stride()), 0.0f);
    std::ranges::copy(weights, added.begin() + static_cast<std::ptrdiff_t>(at));
}

void ChangeInputs::keepAll() const {
    std::ranges::fill(kept, 1.0f);
    std::ranges::fill(added, 0.0f);
}

std::optional<ChangeInputs> changeInputs(GpuExecutor& executor, const std::string& hook) {
    const std::string kept = decoder_names::kept(hook);
    if (!executor.hasInput(kept)) return {};
    return ChangeInputs{.kept = executor.input(kept),
                        .added = executor.input(decoder_names::added(hook)),
                        .shape = std::ranges::find(executor.plan().tensors, kept, &PlannedTensor::name)->type.shape};
}

void writeGatesOfFormed(GpuExecutor& executor, const Site& site, size_t tokens, std::span<const float> gates) {
    const auto z = changeInputs(executor, site.hook("z"));
    if (!z || executor.hasInput(site.inSite("gates"))) return;
    for (size_t row = 0; row < tokens * gates.size(); ++row)
        for (float& kept : z->kept.subspan(row * z->stride(), z->stride())) kept *= gates[row % gates.size()];
}

std::vector<int> seenPlaces(const AttentionSpec& spec, int layer, int head, int heads, int query, int places) {
    BitRow row;
    spec.mask.staticPart().row({.queries = places, .keys = places, .head = head, .heads = heads, .layer = layer}, query,
                               row);
    std::vector<int> keys(static_cast<size_t>(places), kHidden);
    row.forEach([&](int64_t key) { keys[static_cast<size_t>(key)] = static_cast<int>(key); });
    return keys;
}

} // namespace attn
