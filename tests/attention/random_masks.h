#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace attn::test {

/// An expression as text, beside the same as a plain function of cell, head and layer.
struct RandomMask {
    std::string text;
    std::function<bool(int64_t i, int64_t j, int head, int layer)> sees;
};

/// @param depth levels of operators at most; needless brackets and blanks are strewn in
RandomMask randomMask(std::mt19937& draws, int depth);

} // namespace attn::test
