#include "engine/analysis/head_measures.h"
#include "engine/inference/language_model.h"
#include "tests/analysis/golden_case.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

std::shared_ptr<HeadMeasures> measure(RunningModel& model, const AnalysisContext& context) {
    return std::static_pointer_cast<HeadMeasures>(HeadMeasuresAnalysis{}.run(model, context));
}

void check(const HeadMeasures::OfHead& head, const std::array<double, HeadMeasure::Count>& expected) {
    for (size_t id = 0; id < expected.size(); ++id) {
        CAPTURE(head.site, head.head, headMeasures()[id].id);
        CHECK(head.values[id] == Approx(expected[id]).margin(1e-6));
    }
}

} // namespace

TEST_CASE("head measures: by hand, with rows that do not sum to 1 and a row without weights", "[analysis][gpu]") {
    LanguageModel model(openModelSource("builtin:induction"), {.device = {.validation = true}});
    const SitePattern site{.layout = {.tokens = 3, .tokenOf = {}, .windows = {}},
                           .heads = 2,
                           .values = {1, 0, 0, 1, 0, 0, 0.5f, 0.5f, 0, //
                                      0, 0, 0, 2, 2, 0, 0, 0, 4}};
    const std::vector<SitePattern> patterns{site, {.layout = site.layout, .heads = 2, .values = {}}};
    const auto found = measure(model, {.input = TextInput{.tokens = {1, 2, 3}}, .patterns = &patterns});
    REQUIRE(found->heads.size() == 2); // the second layer forms none
    check(found->heads[0], {1.0 / 3, 2.5 / 3, 2.5 / 3, 1.0 / 3, 0.5});
    check(found->heads[1], {0.5, 0.25, 0.25, 0.75, 0.25});
}

TEST_CASE("head measures: the heads of the constructed model look where their formulas say", "[analysis][gpu]") {
    LanguageModel model(openModelSource("builtin:induction"), {.device = {.validation = true}});
    const auto found = measure(model, {.input = TextInput{.tokens = {1, 2, 3, 4, 1, 2, 3, 4}}});
    REQUIRE(found->heads.size() == 4);
    const HeadMeasures::OfHead &previous = found->heads[0], &current = found->heads[1];
    CHECK(previous.values[HeadMeasure::Previous] == Approx(7.0 / 8).margin(0.01)); // nothing precedes the first token
    CHECK(previous.values[HeadMeasure::Distance] == Approx(7.0 / 8).margin(0.05));
    CHECK(current.values[HeadMeasure::Self] > 0.99f);
    CHECK(current.values[HeadMeasure::Entropy] < 0.1f);
}

TEST_CASE("head measures: tokens of two texts have no distance", "[analysis][gpu]") {
    GoldenCase golden("marian_two_tables");
    const auto source = Golden("marian_two_tables").integers("source_tokens");
    const auto found = measure(golden.model, {.input = TextInput{.tokens = golden.tokens, .source = source}});
    int crossed = 0;
    for (const HeadMeasures::OfHead& head : found->heads) {
        const bool isCross = golden.model.info().structure.isCross(head.site);
        crossed += isCross ? 1 : 0;
        CHECK(std::isfinite(head.values[HeadMeasure::Entropy]));
        CHECK(std::isfinite(head.values[HeadMeasure::First]));
        for (const auto id : {HeadMeasure::Distance, HeadMeasure::Self, HeadMeasure::Previous})
            CHECK(std::isnan(head.values[id]) == isCross);
    }
    CHECK(crossed > 0);
}
