#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/attention/part.h"

#include <string>

namespace attn::cli {

/// A part in the notation of compositions, with names instead of numbers: "window(w)", "permuted_blocks(b, order...)".
inline std::string partForm(const Part& part) {
    std::string form(part.id);
    for (size_t i = 0; i < part.params.size(); ++i) form += (i == 0 ? "(" : ", ") + std::string(part.params[i].id);
    if (!part.params.empty()) form += part.takesList ? "...)" : ")";
    return form;
}

/// Reads a composition, or a JSON file with one. @throws Error that describes the mistake
AttentionSpec readSpec(const std::string& specOrFile);

} // namespace attn::cli
