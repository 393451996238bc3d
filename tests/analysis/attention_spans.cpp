#include "engine/analysis/attention_spans.h"

#include "tests/session/trained_model.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using attn::test::TrainedModel;

namespace {

const std::vector<int> kSpanTokens{1, 3, 2, 5, 4};

std::shared_ptr<const AttentionSpans> spansOf(LanguageModel& model) {
    return std::static_pointer_cast<const AttentionSpans>(
        AttentionSpansAnalysis{}.run(model, {.input = TextInput{.tokens = kSpanTokens}}));
}

} // namespace

TEST_CASE("spans: adaptive span has one for each head, from its parameter", "[analysis][gpu]") {
    TrainedModel model("position=learned, mask=causal & adaptive_span(6, 2, 0.01)");
    model->store().writeDense("blocks.1.attn.mask.span", std::vector<float>{-0.25f, 9.0f});
    const auto found = spansOf(*model);
    REQUIRE(found->sites.size() == 2);
    const AttentionSpans::OfSite& second = found->sites[1];
    CHECK(second.site == 1);
    CHECK(second.heads == 2);
    CHECK(second.queries == 5);
    CHECK(second.longest == 6);
    CHECK_FALSE(second.isDynamic);
    CHECK(second.mean(0) == Approx(1.5)); // 6 (1/2 - 1/4)
    CHECK(second.mean(1) == Approx(6));   // not more than the longest
}

TEST_CASE("spans: dynamic span has one for each token, from the rows that the queries are made of", "[analysis][gpu]") {
    TrainedModel model("norm=none, position=learned, mask=causal & dynamic_span(6, 2, 0.01)");
    const auto found = spansOf(*model);
    REQUIRE(found->sites.size() == 2);
    const CapturedHook rows =
        model->capture(TextInput{.tokens = kSpanTokens}, "blocks.1.hook_resid_pre").front(); // [T,C]
    const auto v = model->store().read("blocks.1.attn.mask.v"), b = model->store().read("blocks.1.attn.mask.offset");
    const AttentionSpans::OfSite& second = found->sites[1];
    CHECK(second.isDynamic);
    REQUIRE(second.tokens.size() == 10);
    REQUIRE(v.size() == 2 * 16);
    for (size_t head = 0; head < 2; ++head)
        for (size_t t = 0; t < 5; ++t) {
            double sum = static_cast<double>(b[head]);
            for (size_t c = 0; c < 16; ++c)
                sum += static_cast<double>(v[head * 16 + c]) * static_cast<double>(rows.values[t * 16 + c]);
            CHECK(second.tokens[head * 5 + t] == Approx(6 / (1 + std::exp(-sum))).margin(1e-4));
        }
}

TEST_CASE("spans: a model without spans says how to get some", "[analysis][gpu]") {
    TrainedModel model("position=learned, mask=causal & window(3)");
    CHECK_THROWS_WITH(spansOf(*model), CONTAINS("no head of this model has a span"));
}
