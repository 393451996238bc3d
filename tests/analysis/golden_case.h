#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/whole_run.h"
#include "engine/io/weight_source.h"
#include "tests/support/catch.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::test {

/// A small random model and what tests/golden/analysis.py makes of it.
class GoldenCase {
public:
    explicit GoldenCase(const std::string& name)
        : folder_(std::filesystem::path(ATTN_TEST_DIR) / "golden" / name), golden_(folder_ / "golden.safetensors"),
          analysis_(folder_ / "analysis.safetensors"),
          model(openModelSource(folder_.string()), {.device = {.validation = true}}),
          tokens(golden_.readIntegers(golden_.tensors().at("tokens"))), others(integers("other_tokens")) {}

    std::vector<float> values(const std::string& name) const {
        const StoredTensor& tensor = analysis_.tensors().at(name);
        std::vector<float> all(static_cast<size_t>(tensor.elements()));
        analysis_.read(tensor, 0, all);
        return all;
    }
    std::vector<int> integers(const std::string& name) const {
        return analysis_.readIntegers(analysis_.tensors().at(name));
    }
    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) {
        return std::static_pointer_cast<Result>(analysis.run(model, {.input = tokens}));
    }

private:
    std::filesystem::path folder_;
    SafetensorsFile golden_, analysis_;

public:
    LanguageModel model;
    std::vector<int> tokens, others;
};

/// The largest difference; infinite where sizes or NaN differ.
inline double farthest(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return INFINITY;
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    }
    return worst;
}

/// Tokens as text that a model without a tokenizer takes.
inline std::string textOf(const std::vector<int>& tokens) {
    std::string text;
    for (int token : tokens) text += (text.empty() ? "" : ",") + std::to_string(token);
    return text;
}

} // namespace attn::test
