#pragma once

#include <cstdint>
#include <vector>

namespace attn {

class ConfigReader;

/// How a family sets sliding windows in config.json.
struct WindowFields {
    /// "use_sliding_window" switches them on, and "max_window_layers" and "layer_types" say in which layers, as in
    /// Qwen2; else every layer has the window, as in Mistral.
    bool byLayer = false;
};

/// The window of each layer in tokens, with the query's own: 0 for a layer that sees all earlier tokens.
/// @throws Error naming the field that is unusable
std::vector<int64_t> windowsByLayer(const ConfigReader& read, const WindowFields& fields, int64_t layers);

} // namespace attn
