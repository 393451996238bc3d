#include "engine/analysis/input_attribution.h"
#include "tests/session/trained_model.h"
#include "tests/support/catch.h"

#include <numeric>

using namespace attn;
using attn::test::TrainedModel;

TEST_CASE("input attribution: tokens of earlier segments matter, and integrated gradients are complete",
          "[analysis][gpu]") {
    const char* attention = GENERATE("position=alibi, memory=segments(4), mask=causal",
                                     "position=transformer_xl, memory=segments(4), mask=causal");
    INFO(attention);
    TrainedModel model(attention);
    const std::vector<int> tokens{3, 1, 4, 2, 5, 3, 2, 4, 1};
    InputAttributionAnalysis analysis;
    analysis.steps = analysis.mostSteps = 32;
    const auto found = std::static_pointer_cast<InputAttribution>(analysis.run(*model, {.input = tokens}));
    CHECK(std::accumulate(found->integratedGradients.begin(), found->integratedGradients.end(), 0.0) ==
          Approx(found->logit - found->baselineLogit).margin(2e-3));
    // The last token begins the third segment: it reads the second, whose states read the first.
    const auto logitOf = [&](const std::vector<int>& of) {
        return model->predict(of)[static_cast<size_t>(found->target.token)];
    };
    double most = 0;
    for (size_t token = 0; token < 8; ++token) {
        std::vector<int> changed = tokens;
        changed[token] = changed[token] % 5 + 1;
        INFO("token " << token);
        CHECK(std::abs(logitOf(changed) - logitOf(tokens)) > 1e-6);
        CHECK(found->gradientTimesInput[token] != 0);
        most = std::max(most, std::abs(static_cast<double>(found->integratedGradients[token])));
    }
    CHECK(most > 1e-2);
}
