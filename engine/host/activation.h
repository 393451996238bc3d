#pragma once

#include <cstdint>

namespace attn {

/// What a layer applies to each number of a product.
enum class Activation : uint8_t { None, GeluErf, GeluTanh, Silu, Relu };

} // namespace attn
