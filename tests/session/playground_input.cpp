#include "engine/playground/playground_input.h"
#include "engine/core/rng.h"
#include "engine/playground/attention_run.h"
#include "engine/runtime/device.h"
#include "tests/session/session_test.h"
#include "tests/support/device.h"

using namespace attn;
using namespace attn::test;

namespace {

/// The induction model, whose weights are known.
std::shared_ptr<const Snapshot> captured(Session& session, int layer) {
    session.post(OpenModelCommand{.path = "builtin:induction"});
    after(session, CaptureInputsCommand{.site = layer});
    return session.latest();
}

} // namespace

TEST_CASE("playground input: random inputs and learned tables do not share numbers", "[session][gpu]") {
    Device device({.validation = true});
    const int64_t T = 9, D = 8; // as many rows as the table has
    for (const uint64_t seed : {0, 1, 2}) {
        INFO("seed " << seed);
        AttentionNumbers numbers = randomNumbers({.tokens = T, .width = D}, seed);
        CHECK(numbers.q != numbers.k);
        CHECK(numbers.k != numbers.v);
        AttentionRun run(device, AttentionSpec::parse("position=shaw(4)"), {.queries = T, .keys = T, .width = D}, {},
                         seed);
        REQUIRE(run.parameters().size() == 2);
        run.setInputs(numbers.q, numbers.k, numbers.v);
        run.run();
        const std::vector<float> z = run.result("z").values;
        const auto begin = [&] {
            run.become(AttentionSpec::parse("position=shaw(4)"), {.queries = T, .keys = T, .width = D}, {}, seed);
        };
        for (const FlowParameter& table : std::vector(run.parameters()))
            for (std::vector<float> input : {numbers.q, numbers.k, numbers.v}) {
                for (float& value : input) value *= static_cast<float>(table.initial.deviation);
                begin();
                run.setParameter(table.name, input);
                run.run();
                double farthest = 0;
                for (size_t i = 0; i < z.size(); ++i)
                    farthest = std::max(farthest, std::abs(static_cast<double>(run.result("z").values[i] - z[i])));
                CHECK(farthest > 1e-3); // 1e-7 where the table has the input's stream
            }
        begin();
        const FlowParameter keys = run.parameters().front();
        run.setParameter(keys.name, initialNumbers(keys, streamSeed(seed, "position.keys")));
        run.run();
        CHECK(run.result("z").values == z);
    }
}

TEST_CASE("playground input: a layer's own attention on its queries and keys gives the model's pattern",
          "[session][gpu]") {
    Session session(kTestDevice);
    session.post(OpenModelCommand{.path = "builtin:induction"});
    session.post(PatternRequest{.site = 1, .head = 0});
    const auto snapshot = after(session, CaptureInputsCommand{.site = 1});
    REQUIRE_FALSE(snapshot->failure);
    REQUIRE(snapshot->siteInputs);
    const SiteInputs& inputs = *snapshot->siteInputs;
    CHECK(inputs.site == 1);
    CHECK(inputs.sequenceVersion == snapshot->sequenceVersion);
    CHECK(inputs.tokens == std::ssize(snapshot->sequence->tokens));
    CHECK(inputs.heads == snapshot->model->heads);
    CHECK(std::ssize(inputs.stream) == inputs.tokens * inputs.streamWidth);

    PlaygroundSession playground(kTestDevice);
    // A mixer of the residual stream gets its rows, whatever the width of a head.
    const auto mixed = answer(playground, {.spec = AttentionSpec::parse("mixer=fnet"),
                                           .tokens = inputs.tokens,
                                           .width = inputs.width,
                                           .layer = snapshot->siteInputs});
    REQUIRE_FALSE(mixed->failure);
    CHECK(mixed->heads == 1);
    REQUIRE(findMap(mixed->maps, "fnet.cosine"));
    CHECK(layerNumbers(inputs, {.tokens = 2, .width = inputs.streamWidth, .ofStream = true}).v ==
          std::vector<float>(inputs.stream.begin(), inputs.stream.begin() + 2 * inputs.streamWidth));
    const auto shown =
        answer(playground, {.spec = AttentionSpec::parse("heads=" + inputs.headsText() + ", mask=causal"),
                            .tokens = inputs.tokens,
                            .width = inputs.width,
                            .layer = snapshot->siteInputs});
    REQUIRE_FALSE(shown->failure);
    const PlaygroundMap* pattern = findMap(shown->maps, "pattern");
    REQUIRE(pattern);
    const PatternTile& tile = *snapshot->detail;
    REQUIRE(tile.isExact());
    for (int i = 0; i < tile.rows; ++i)
        for (int j = 0; j <= i; ++j) {
            INFO(i << ", " << j);
            CHECK(pattern->at(0)[static_cast<size_t>(i * tile.columns + j)] == Approx(tile.at(i, j)).margin(1e-4));
        }
}

TEST_CASE("playground input: capturing leaves the sequence, the logits and the views as they are", "[session][gpu]") {
    Session session(kTestDevice);
    const auto before = after(session, OpenModelCommand{.path = "builtin:induction"});
    const auto done = after(session, CaptureInputsCommand{.site = 0});
    CHECK(done->sequenceVersion == before->sequenceVersion);
    CHECK(done->next == before->next);
    CHECK(done->grid == before->grid);
    after(session, GenerateCommand{.maxTokens = 1});
    CHECK_FALSE(session.latest()->failure);
    CHECK(session.latest()->sequence->tokens.size() == before->sequence->tokens.size() + 1);
}

TEST_CASE("playground input: a layer that there is not is a sentence", "[session][gpu]") {
    Session session(kTestDevice);
    const auto snapshot = captured(session, 7);
    REQUIRE(snapshot->failure);
    CHECK(snapshot->failure->what == "there is no layer 7");
    CHECK_FALSE(snapshot->siteInputs);
}

TEST_CASE("playground input: grouped keys go to the heads that share them, and to no others", "[session]") {
    SiteInputs inputs;
    inputs.heads = 4;
    inputs.keyValueHeads = 2;
    inputs.tokens = 2;
    inputs.width = 1;
    inputs.q = {0, 0, 1, 1, 2, 2, 3, 3};
    inputs.k = {10, 11, 20, 21};
    inputs.v = {30, 31, 40, 41};
    CHECK(inputs.headsText() == "grouped_query(4, 2)");
    const auto grouped = layerNumbers(inputs, {.heads = 4, .groups = 2, .tokens = 2, .width = 1});
    CHECK(grouped.q == inputs.q);
    CHECK(grouped.k == inputs.k);
    const auto many = layerNumbers(inputs, {.heads = 4, .groups = 4, .tokens = 1, .width = 1});
    CHECK(many.q == std::vector<float>{0, 1, 2, 3});
    CHECK_THROWS_WITH(layerNumbers({.tokens = 2}, {.tokens = 2}), CONTAINS("mixes the residual stream itself"));
    CHECK(many.k == std::vector<float>{10, 10, 20, 20});
    CHECK(many.v == std::vector<float>{30, 30, 40, 40});
    CHECK_THROWS(layerNumbers(inputs, {.heads = 4, .groups = 1, .tokens = 2, .width = 1}));
    CHECK_THROWS(layerNumbers(inputs, {.heads = 8, .groups = 2, .tokens = 2, .width = 1}));
}

TEST_CASE("playground input: numbers kept from other extents are those that would be drawn", "[session]") {
    const auto isSame = [](const AttentionNumbers& a, const AttentionNumbers& b) {
        return a.q == b.q && a.k == b.k && a.v == b.v;
    };
    constexpr int64_t T = 5, D = 4, F = 3;
    TokenFeatures features{.tokens = T, .width = F, .values = {}};
    for (int i = 0; i < T * F; ++i) features.values.push_back(0.1f * static_cast<float>(i));
    const AttentionExtents few{.heads = 4, .groups = 2, .tokens = T, .width = D},
        many{.heads = 6, .groups = 3, .tokens = T, .width = D},
        longer{.heads = 3, .groups = 3, .tokens = T + 4, .width = D + 2, .keys = 7};
    for (const auto& [from, to] : {std::pair(few, many), {many, few}, {few, few}}) {
        const AttentionNumbers before = projectedNumbers(features, from, 9), drawn = projectedNumbers(features, to, 9);
        CHECK(isSame(projectedNumbers(features, to, 9, before), drawn));
        CHECK(drawn.q.size() == static_cast<size_t>(to.heads * T * D));
        CHECK(std::ranges::all_of(drawn.v, [](float value) { return value != 0; }));
    }
    for (const auto& [from, to] : {std::pair(few, longer), {longer, many}, {many, few}})
        CHECK(isSame(randomNumbers(to, 9, randomNumbers(from, 9)), randomNumbers(to, 9)));
}

TEST_CASE("playground input: tokens with the same features attend to each other as to themselves", "[session][gpu]") {
    auto features =
        std::make_shared<TokenFeatures>(TokenFeatures{.tokens = 3, .width = 2, .values = {1, -1, 1, -1, -1, 1}});
    PlaygroundSession playground(kTestDevice);
    const auto shown = answer(playground, {.spec = {}, .tokens = 3, .width = 8, .features = features});
    REQUIRE_FALSE(shown->failure);
    const auto weights = findMap(shown->maps, "pattern")->at(0);
    CHECK(weights[0] == Approx(weights[1]));
    CHECK(weights[0] > weights[2]); // the opposite colour
    CHECK(findMap(shown->maps, "z")->rows == 3);
}
