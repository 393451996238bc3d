#pragma once

#include "engine/attention/mask/expression.h"
#include "engine/core/bit_row.h"
#include "tests/support/catch.h"

namespace attn::test {

/// Row by row, "#" where a query sees a key: "#.. ##. ###".
inline std::string pictureOf(const MaskExpression& mask, const MaskSize& size) {
    std::string picture;
    BitRow row;
    for (int64_t query = 0; query < size.queries; ++query) {
        mask.row(size, query, row);
        if (query != 0) picture += ' ';
        for (int64_t key = 0; key < size.keys; ++key) picture += row.test(key) ? '#' : '.';
    }
    return picture;
}
inline std::string pictureOf(const std::string& expression, const MaskSize& size) {
    return pictureOf(MaskExpression::parse(expression), size);
}

inline MaskSize square(int64_t tokens) { return {.queries = tokens, .keys = tokens}; }

} // namespace attn::test
