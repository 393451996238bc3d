#pragma once

#include "tests/support/answers.h"
#include "tests/support/catch.h"

namespace attn::test {

/// A model of tests/golden.
struct GoldenCase {
    std::string name, family;
    int tokens = 0, classes = 0; ///< of a vision model
};

/// The models that a list of tests/golden names. @param list cases.json or vision_cases.json
inline std::vector<GoldenCase> goldenCases(const std::string& list) {
    std::vector<GoldenCase> cases;
    for (auto& entry : listedIn("golden/" + list, "cases"))
        cases.push_back(
            {entry.at("name"), entry.at("family"), std::atoi(entry["T"].c_str()), std::atoi(entry["classes"].c_str())});
    return cases;
}

} // namespace attn::test
