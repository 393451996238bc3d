#pragma once

#include "engine/attention/part.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// A term's arguments as whole numbers.
using Arguments = std::vector<int64_t>;

/// What is known of a mask term independently of its implementation.
struct MaskCase {
    std::string_view id;
    std::string term;      ///< the hand-written example
    int64_t queries, keys; ///< its size
    std::string picture;   ///< and its rows
    /// Whether query i sees key j, as the paper or the issue has it; none for terms that draw by chance.
    bool (*sees)(const Arguments& a, int64_t i, int64_t j) = nullptr;
    /// Lists to try, for terms that take one.
    std::vector<std::vector<double>> lists{};
};

const std::vector<MaskCase>& maskCases();
const MaskCase* caseOf(std::string_view id);

/// The limits of every parameter and some values between, each with each; with every list of the term's case.
std::vector<std::vector<double>> valuesToTry(const Part& part);

} // namespace attn::test
