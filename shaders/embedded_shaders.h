#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// One compiled shader, named by its path below shaders/ without the extension, e.g. "ops/softmax".
struct EmbeddedShader {
    std::string_view name;
    bool texelInputs;                     ///< compiled with inputs as uniform texel buffers
    std::span<const std::uint32_t> spirv; ///< SPIR-V 1.5 words
};

/// All shaders of the program, in no particular order.
std::span<const EmbeddedShader> embeddedShaders();

} // namespace attn
