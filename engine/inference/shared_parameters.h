#pragma once

#include "engine/models/hook_names.h"
#include "engine/models/structure.h"
#include "engine/runtime/tensor_store.h"

namespace attn {

/// The name of a parameter of a layer: the layer's own, or that of the first if the layers share it.
inline std::string parameterName(const TensorStore& store, int64_t layer, std::string_view name) {
    std::string own = inBlock(layer, name);
    return store.contains(own) ? own : inBlock(0, name);
}

/// The same for a parameter of a site: "W_O" of "decoder.1.cross_attn".
inline std::string parameterName(const TensorStore& store, const ModelStructure& structure, int site,
                                 std::string_view name) {
    std::string own = structure.sites.at(static_cast<size_t>(site)).inSite(name);
    return store.contains(own) ? own : structure.sites.front().inSite(name);
}

} // namespace attn
