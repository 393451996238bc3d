#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/whole_run.h"
#include "engine/inference/vision_model.h"
#include "engine/io/weight_source.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

namespace attn::test {

/// A small random model and what tests/golden/analysis.py makes of it.
class GoldenCase : public Golden {
public:
    explicit GoldenCase(const std::string& name)
        : Golden(name, "analysis.safetensors"), info_(name),
          model(openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}}),
          tokens(Golden(name).integers("tokens")),
          others(contains("other_tokens") ? integers("other_tokens") : std::vector<int>()) {}

    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) {
        return std::static_pointer_cast<Result>(analysis.run(model, {.input = tokens}));
    }

private:
    ScopedInfo info_;

public:
    LanguageModel model;
    std::vector<int> tokens, others;
};

/// Tokens as text that a model without a tokenizer takes.
inline std::string textOf(const std::vector<int>& tokens) {
    std::string text;
    for (int token : tokens) text += (text.empty() ? "" : ",") + std::to_string(token);
    return text;
}

} // namespace attn::test
