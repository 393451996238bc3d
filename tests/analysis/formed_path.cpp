#include "engine/analysis/formed_path.h"

#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

std::shared_ptr<const FormedPath> formedPathOf(RunningModel& model, const Input& input) {
    return std::static_pointer_cast<const FormedPath>(FormedPathAnalysis{}.run(model, {.input = input}));
}

/// Both paths add the same products in another order of summation: float32 keeps 6 digits of logits up to 32.
constexpr float kRounding = 2e-4f;

} // namespace

TEST_CASE("formed path: models of text give the logits of their caches", "[analysis][gpu]") {
    const char* path = GENERATE("builtin:stories", "builtin:induction", "builtin:masked");
    INFO(path);
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    const std::vector<int> tokens = model.tokenizer()->encode(model.source().example()).ids;
    for (const int token : tokens) model.feed(std::span(&token, 1)); // one step each
    const std::vector<float> own(model.logits().begin(), model.logits().end());
    const auto found = formedPathOf(model, model.input());
    CHECK(found->largestDifference < kRounding);
    CHECK(found->largestLogit > 1);
    CHECK(found->best == found->bestFormed);
    REQUIRE(found->ids.size() == 12);
    CHECK(std::ranges::is_sorted(found->ownLogits, std::greater()));
    for (size_t at = 0; at < found->ids.size(); ++at)
        CHECK(found->ownLogits[at] == Approx(own[static_cast<size_t>(found->ids[at])]).margin(1e-5));

    model.setGate(0, 0, 0); // the formed path has the same changes
    model.predict(model.input());
    const auto changed = formedPathOf(model, model.input());
    CHECK(changed->largestDifference < kRounding);
    CHECK(changed->ownLogits != found->ownLogits);
}

TEST_CASE("formed path: an encoder and a decoder give the logits of their caches", "[analysis][gpu]") {
    LanguageModel model(openModelSource(std::string(ATTN_TEST_DIR) + "/golden/t5_gated"),
                        {.device = {.validation = true}});
    model.setSides({.source = {5, 9, 3, 11, 1}});
    for (const int token : {0, 7, 4}) model.feed(std::span(&token, 1)); // one step each
    const std::vector<float> own(model.logits().begin(), model.logits().end());
    const auto found = formedPathOf(model, model.input());
    CHECK(found->largestDifference < kRounding);
    CHECK(found->largestLogit > 0.1f);
    CHECK(found->best == found->bestFormed);
    for (size_t at = 0; at < found->ids.size(); ++at)
        CHECK(found->ownLogits[at] == Approx(own[static_cast<size_t>(found->ids[at])]).margin(1e-5));
    model.setSides({.source = {5, 9, 3, 12, 1}}); // both read the source
    for (const int token : {0, 7, 4}) model.feed(std::span(&token, 1));
    const auto other = formedPathOf(model, model.input());
    CHECK(other->largestDifference < kRounding);
    CHECK(other->formedLogits != found->formedLogits);
}

TEST_CASE("formed path: models of pictures give the same classes, and one without a readout says so",
          "[analysis][gpu]") {
    VisionModel model(openModelSource("builtin:vit-shapes"), {.device = {.validation = true}});
    const size_t values =
        static_cast<size_t>(model.config().patches.grid().area() * model.config().patches.patchValues());
    std::vector<float> patches(values);
    for (size_t at = 0; at < values; ++at) patches[at] = static_cast<float>(at % 7) / 7;
    const auto found = formedPathOf(model, patches);
    CHECK(found->largestDifference < kRounding);
    CHECK(found->best == found->bestFormed);
    CHECK(found->ids.size() == std::min<size_t>(12, static_cast<size_t>(model.info().classes)));

    LanguageModel headless(openModelSource(std::string(ATTN_TEST_DIR) + "/golden/bert_no_head"),
                           {.device = {.validation = true}});
    CHECK_THROWS_WITH(formedPathOf(headless, std::vector<int>{2, 5, 3}),
                      Catch::Matchers::Contains("predicts neither tokens nor classes"));
}
