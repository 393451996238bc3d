#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "tests/support/catch.h"

// What can be asked of an encoder, which fills in hidden tokens.

using namespace attn;

namespace {

LanguageModel encoderOf(const char* name) {
    return {openModelSource((std::filesystem::path(ATTN_TEST_DIR) / "golden" / name).string()),
            {.device = {.softwareThreads = 0, .validation = true}}};
}

const std::vector<int> kTokens{2, 5, 4, 8, 3}; // [CLS] the [MASK] sat [SEP]

} // namespace

TEST_CASE("encoders: the last stage of the logit lens is what the readout predicts at each token", "[analysis][gpu]") {
    LanguageModel model = encoderOf("bert");
    LogitLensAnalysis lens;
    lens.choices = 1;
    const auto result = std::static_pointer_cast<LogitLens>(lens.run(model, {.input = kTokens}));
    const std::vector<float> logits = model.capture(kTokens, "logits").front().values;
    const auto width = static_cast<std::ptrdiff_t>(model.info().vocabulary);
    for (size_t token = 0; token < kTokens.size(); ++token) {
        const auto row = logits.begin() + static_cast<std::ptrdiff_t>(token) * width;
        CHECK(result->final[token] == std::max_element(row, row + width) - row);
    }
}

TEST_CASE("encoders: rollout and gradients begin at the hidden word, and at the last token without one",
          "[analysis][gpu]") {
    LanguageModel model = encoderOf("bert");
    for (const std::vector<int>& tokens : {kTokens, std::vector<int>{2, 5, 6, 8, 3}}) {
        const auto row = static_cast<int>(model.predictedRow(tokens));
        CHECK(row == (tokens[2] == 4 ? 2 : 4));
        const auto rollout = std::static_pointer_cast<Rollout>(RolloutAnalysis().run(model, {.input = tokens}));
        CHECK(rollout->row == row);
        const auto found =
            std::static_pointer_cast<InputAttribution>(InputAttributionAnalysis().run(model, {.input = tokens}));
        CHECK(found->position == row);
    }
}

TEST_CASE("encoders: the rows that views show of all heads are those that the readout reads", "[analysis][gpu]") {
    LanguageModel model = encoderOf("bert");
    for (const std::vector<int>& tokens : {kTokens, std::vector<int>{2, 5, 6, 8, 3}}) {
        REQUIRE(model.feed(tokens));
        const ReadoutRows rows = model.patterns().readoutRows();
        const int query = tokens[2] == 4 ? 2 : 4;
        CHECK(rows.queries == std::vector<int>(static_cast<size_t>(rows.sites), query));
        for (int site = 0; site < rows.sites; ++site)
            for (int head = 0; head < rows.heads; ++head)
                for (int key = 0; key < 5; ++key)
                    CHECK(rows.values[static_cast<size_t>((site * rows.heads + head) * rows.keys + key)] ==
                          model.patterns().weight({.site = site, .head = head, .query = query, .key = key}));
        model.truncate(0);
    }
}

TEST_CASE("encoders: questions that suppose another readout or other norms are refused", "[analysis][gpu]") {
    LanguageModel model = encoderOf("bert"), headless = encoderOf("bert_no_head");
    const auto refusal = [&](const Analysis& analysis, LanguageModel& asked) -> std::string {
        try {
            analysis.run(asked, {.input = kTokens});
        } catch (const Error& error) {
            CHECK_FALSE(error.hint().empty());
            return error.message();
        }
        return "answered";
    };
    CHECK_THAT(refusal(LogitAttributionAnalysis(), model), Catch::Matchers::Contains("its readout is not linear"));
    CHECK_THAT(refusal(HeadCircuitsAnalysis(), model), Catch::Matchers::Contains("norms before the sublayers"));
    CHECK_THAT(refusal(TokenScoresAnalysis(), model),
               Catch::Matchers::Contains("this model fills gaps, so it has no next-token loss"));
    CHECK_THAT(refusal(TokenScoresAnalysis(), headless),
               Catch::Matchers::Contains("does not predict the next token, so there is no loss of it"));
    CHECK_THAT(refusal(LogitLensAnalysis(), headless), Catch::Matchers::Contains("predicts no tokens"));
}
