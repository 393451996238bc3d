#pragma once

#include <cstdint>

namespace attn {

/// The function that a layer applies to each number of a product.
enum class Activation : uint8_t { None, GeluErf, GeluTanh, Silu, Relu };

} // namespace attn
