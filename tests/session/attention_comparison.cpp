#include "tests/session/session_test.h"

using namespace attn;

namespace {

PlaygroundMap map(std::string name, int64_t rows, int64_t columns, std::vector<float> values) {
    return {.name = std::move(name), .rows = rows, .columns = columns, .values = std::move(values)};
}

std::shared_ptr<const PlaygroundSnapshot> answer(PlaygroundSession& session, const char* spec, const char* other) {
    const auto shown = test::answer(
        session, {.spec = AttentionSpec::parse(spec), .tokens = 12, .width = 8, .other = AttentionSpec::parse(other)});
    REQUIRE_FALSE(shown->failure);
    REQUIRE(shown->comparison);
    return shown;
}

} // namespace

TEST_CASE("comparison: differences, output error and divergence of hand-made maps", "[session]") {
    const float hidden = std::nanf("");
    const std::vector a{map("pattern", 3, 2, {1, hidden, 0.5f, 0.5f, hidden, hidden}), map("z", 1, 4, {1, -1, 1, -1})};
    const std::vector b{map("pattern", 3, 2, {hidden, 1, 1, 0, hidden, hidden}), map("z", 1, 4, {1, -1, 1, -3})};
    const AttentionComparison compared = compare(a, b);
    REQUIRE(compared.differences.size() == 2);
    const PlaygroundMap& weights = compared.differences.front();
    CHECK(weights.values[0] == 1);
    CHECK(weights.values[1] == -1);
    CHECK(weights.values[2] == -0.5f);
    CHECK(std::isnan(weights.values[4]));
    REQUIRE(compared.output);
    CHECK(compared.output->mean == Approx(0.5)); // the root mean square of A is 1
    CHECK(compared.output->largest == Approx(2));
    REQUIRE(compared.divergence);
    CHECK(compared.divergence->values[0] == Approx(1)); // nothing in common
    // H((0.75, 0.25)) - H((0.5, 0.5)) / 2
    CHECK(compared.divergence->values[1] == Approx(0.3112781));
    CHECK(std::isnan(compared.divergence->values[2])); // sees nothing
    CHECK(compared.remark.empty());
}

TEST_CASE("comparison: an attention differs from itself by nothing", "[session][gpu]") {
    PlaygroundSession session(test::kTestDevice);
    const char* spec = "heads=multi_head(2), position=alibi, mask=causal";
    const auto shown = answer(session, spec, spec);
    CHECK(shown->maps.size() == shown->otherMaps.size());
    CHECK(shown->comparison->differences.size() == shown->maps.size());
    for (const PlaygroundMap& map : shown->comparison->differences)
        for (const float value : map.values) CHECK((std::isnan(value) || value == 0));
    CHECK(shown->comparison->output->largest == 0);
    for (const float bits : shown->comparison->divergence->values) CHECK(bits == 0);
}

TEST_CASE("comparison: both attentions get the same queries, keys and values", "[session][gpu]") {
    PlaygroundSession session(test::kTestDevice);
    const auto shown = answer(session, "heads=multi_head(2), mask=causal", "heads=multi_head(2), mask=window(3)");
    // Where both masks show a cell, its score is the same.
    const auto* scores = findMap(shown->comparison->differences, "scores");
    REQUIRE(scores);
    int same = 0;
    for (const float value : scores->values) same += value == 0 ? 1 : 0;
    CHECK(same == 2 * (12 + 11 + 10));
    // The first row sees itself alone in A, and two more ahead in B; the third the same in A as all it sees.
    REQUIRE(shown->comparison->divergence);
    CHECK(shown->comparison->divergence->at(0)[0] > 0.01f);
    CHECK(shown->comparison->output->mean > 0);
}

TEST_CASE("comparison: where there is no divergence a sentence says why", "[session][gpu]") {
    PlaygroundSession session(test::kTestDevice);
    const auto remark = [&](const char* spec, const char* other) {
        const auto shown = answer(session, spec, other);
        CHECK_FALSE(shown->comparison->divergence);
        return shown->comparison->remark;
    };
    CHECK(remark("mask=full", "normaliser=xcit").starts_with("B forms no pattern"));
    CHECK(remark("mixer=fnet", "normaliser=xcit").starts_with("neither A nor B"));
    CHECK(remark("mask=full", "heads=multi_head(2)").starts_with("A's pattern has 1 heads of 12 x 12"));
    const std::vector whole{map("pattern", 1, 2, {0.25f, 0.75f})}, half{map("pattern", 1, 2, {0.25f, 0.25f})};
    CHECK(compare(whole, half).remark.starts_with("the rows of B's pattern"));
    CHECK(compare(half, whole).remark.starts_with("the rows of A's pattern"));
}
