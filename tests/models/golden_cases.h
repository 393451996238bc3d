#pragma once

#include <string>
#include <vector>

namespace attn::test {

/// A model of tests/golden.
struct GoldenCase {
    std::string name, family;
    int tokens = 0, classes = 0; ///< of a vision model
};

/// The models that a list of tests/golden names. @param list cases.json or vision_cases.json
std::vector<GoldenCase> goldenCases(const std::string& list);

} // namespace attn::test
