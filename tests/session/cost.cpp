#include "engine/graph/plan.h"
#include "engine/ops/tensor_ops.h"
#include "engine/session/cost_session.h"
#include "tests/support/catch.h"

#include <set>

using namespace attn;

namespace {

std::shared_ptr<const CostSnapshot> answerTo(CostSession& session, const CostQuery& query) {
    session.ask(query);
    REQUIRE(session.waitIdle());
    return session.latest();
}
AttentionSpec specOf(std::string_view text) { return AttentionSpec::parse(text); }

double operationsOf(const Plan& plan) {
    double sum = 0;
    for (const PlannedOp& op : plan.ops) sum += operationsOf(plan, op);
    return sum;
}

/// Of the attention whose pattern is formed.
double formedOperations(const AttentionSpec& spec, const AttentionSizes& sizes) {
    const AttentionGraph built = attentionGraph(spec, sizes, false);
    return operationsOf(*compile(built.graph, {{"z", built.flow.z}}));
}

} // namespace

TEST_CASE("cost: softmax attention counts two products and a softmax for each cell, fused and formed", "[session]") {
    const double H = 2, T = 64, S = 96, D = 16, scale = 1, softmax = 5; // maximum, subtraction, exp, sum, division
    const double cell = 2 * D + scale + softmax + 2 * D, expected = H * T * S * cell;
    const AttentionSizes sizes{.queries = 64, .keys = 96, .width = 16};
    const AttentionSpec full = specOf("heads=multi_head(2)");
    CHECK(attentionCost(full, sizes).operations == expected);
    CHECK(formedOperations(full, sizes) == expected);
    // Keys and values that heads share are copied, not computed.
    const AttentionSpec shared = specOf("heads=multi_query(2)");
    CHECK(attentionCost(shared, sizes).operations == expected);
    CHECK(formedOperations(shared, sizes) == expected);
    // A bias by distance adds one to each cell; fused or formed, it is the same cells.
    const double slopes = formedOperations(specOf("heads=multi_head(2), position=alibi"), sizes);
    CHECK(attentionCost(specOf("heads=multi_head(2), position=alibi"), sizes).operations == expected + H * T * S);
    CHECK(slopes >= expected + H * T * S);
    // The fused kernel leaves out tiles of 8 x 32 cells that a mask hides. Of eight rows of tiles, four see one tile
    // and four see two.
    const double tiles = H * (4 * 1 + 4 * 2) * 8 * 32;
    const AttentionSizes square{.queries = 64, .keys = 64, .width = 16};
    CHECK(attentionCost(specOf("heads=multi_head(2), mask=causal"), square).operations == tiles * cell);
}

TEST_CASE("cost: copies count nothing", "[session]") {
    const auto graph = std::make_shared<Graph>();
    const Tensor x = graph->input("x", {.shape = {3, 4, 5}});
    const std::array parts{slice(permute(x, {1, 0, 2}), 1, 0, 2), broadcast(slice(x, 0, 0, 1), {4, 4, 5})};
    const Tensor copied = concatenate(parts, 1);
    CHECK(operationsOf(*compile(graph, {{"y", copied}})) == 0);
    CHECK(operationsOf(*compile(graph, {{"y", affine(copied, 2, 0)}})) == 4 * 6 * 5);
    CHECK(operationsOf(*compile(graph, {{"y", reduce(x, Reduction::Sum, {2})}})) == 3 * 4 * 5);
}

TEST_CASE("cost: formulas count the pairs, and grow with the length as the mask does", "[session]") {
    CostSession session({});
    const auto found = answerTo(session, {.specs = {specOf("heads=multi_head(2), mask=causal"),
                                                    specOf("heads=multi_head(2), mask=causal & window(64)"),
                                                    specOf("heads=multi_head(2), normaliser=linear, mask=causal")},
                                          .from = 256,
                                          .to = 2048});
    REQUIRE_FALSE(found->failure);
    CHECK_FALSE(found->isRunning);
    CHECK(found->progress == 1);
    REQUIRE(found->costs.size() == 3);
    for (const auto& costs : found->costs) REQUIRE(costs.size() == 4);
    const auto growth = [&](size_t spec, double AttentionCost::*quantity) {
        return found->costs[spec][3].*quantity / found->costs[spec][2].*quantity;
    };
    CHECK(found->costs[0][0].pairs == 2 * 256 * 257 / 2);
    CHECK(found->costs[1][0].pairs == 2 * (256 * 64 - 64 * 63 / 2));
    CHECK(found->costs[2][0].pairs == 0);
    CHECK(growth(0, &AttentionCost::operations) > 3.8);
    CHECK(std::abs(growth(1, &AttentionCost::operations) - 2) < 0.1);
    CHECK(std::abs(growth(1, &AttentionCost::bytes) - 2) < 0.1);
    CHECK(std::abs(growth(2, &AttentionCost::operations) - 2) < 0.1);
    CHECK_FALSE(found->costs[0][0].milliseconds);
}

TEST_CASE("cost: counts pairs only where a query meets single keys", "[session]") {
    constexpr int64_t kTokens = 64;
    const auto pairsOf = [](const std::string& spec) {
        return attentionCost(AttentionSpec::parse(spec), {.queries = kTokens, .keys = kTokens, .width = 16}).pairs;
    };
    for (const char* none :
         {"normaliser=linear", "normaliser=linear, mask=causal", "normaliser=rfa", "normaliser=favor",
          "normaliser=efficient", "normaliser=efficient_running, mask=causal", "normaliser=xcit",
          "normaliser=aft_simple", "normaliser=aft_simple, mask=causal", "normaliser=linformer", "mixer=fnet",
          "mixer=mlp_mixer", "mixer=fast_weights, mask=causal", "mixer=delta_rule, mask=causal"}) {
        INFO(none);
        CHECK(pairsOf(none) == 0);
    }
    for (const char* all : {"mask=full", "normaliser=aft", "normaliser=aft_local", "normaliser=aft_conv",
                            "score=additive", "score=random_synthesizer", "output=gated"}) {
        INFO(all);
        CHECK(pairsOf(all) == kTokens * kTokens);
    }
}

TEST_CASE("cost: what its paper calls cheaper costs less than full attention at 4,096 tokens", "[session]") {
    // The memory of these grows with the tokens, but at this length and in heads as narrow as these, what they keep for
    // each token is more than the lists of tiles of full attention.
    const std::set<std::string> keepMore{"normaliser=linear",
                                         "normaliser=linear, mask=causal",
                                         "normaliser=efficient_running, mask=causal",
                                         "normaliser=favor",
                                         "normaliser=favor, mask=causal",
                                         "normaliser=rfa",
                                         "normaliser=rfa, mask=causal",
                                         "normaliser=aft_simple",
                                         "normaliser=aft_simple, mask=causal",
                                         "mixer=fast_weights, mask=causal",
                                         "mixer=delta_rule, mask=causal",
                                         "mixer=fnet",
                                         "normaliser=linformer(128)",
                                         "projections=global, position=rope, mask=longformer(32, 1, 1)"};
    // The scores of the compressed keys lie in memory.
    const std::set<std::string> formScores{"normaliser=memory_compressed", "normaliser=memory_compressed, mask=causal"};
    std::vector<std::string> texts{"projections=global, mask=longformer(32, 1, 1)",
                                   "heads=multi_head(8), projections=global, mask=longformer(32, 1, 1)",
                                   "projections=global(g = 4), position=alibi, mask=longformer(32, 2, 4)",
                                   "position=etc, mask=etc_hard",
                                   "heads=multi_head(4), position=etc(4, 15, 8), mask=etc_hard(4, 8, 15)",
                                   "projections=global(g = 4), position=etc, mask=etc_hard",
                                   "normaliser=aft",
                                   "heads=multi_head(4), normaliser=aft",
                                   "normaliser=aft_local",
                                   "normaliser=aft_local, mask=causal",
                                   "normaliser=aft_local(window = 8, factors = 32)",
                                   "normaliser=aft_conv",
                                   "heads=multi_head(4), normaliser=aft_conv, mask=causal",
                                   "normaliser=aft, mask=causal",
                                   "normaliser=aft, mask=causal & window(64)",
                                   "normaliser=linformer",
                                   "normaliser=efficient",
                                   "normaliser=xcit",
                                   "heads=shared_query_key(1), normaliser=reformer",
                                   "heads=shared_query_key(1), normaliser=reformer, mask=causal",
                                   "normaliser=routing(32)",
                                   "normaliser=routing(32), mask=causal",
                                   "mixer=mlp_mixer",
                                   "mixer=fast_weights",
                                   "mask=causal & adaptive_span",
                                   "mask=causal & window(256)",
                                   "mask=dilated(32, 2)",
                                   "mask=longformer(32, 1, 1)",
                                   "mask=blocks(64)",
                                   "mask=bigbird",
                                   "mask=etc",
                                   "mask=etc_hard",
                                   "mask=random",
                                   "mask=causal & strided(64)",
                                   "mask=causal & fixed(64, 8)",
                                   "mask=summary(64, 8)",
                                   "mask=axial(64, 64)",
                                   "mask=row(64, 64)",
                                   "mask=local1d"};
    texts.insert(texts.end(), keepMore.begin(), keepMore.end());
    texts.insert(texts.end(), formScores.begin(), formScores.end());
    const auto costOf = [](const AttentionSpec& spec, int64_t tokens) {
        return attentionCost(spec, {.queries = tokens, .keys = tokens, .width = 32});
    };
    for (const std::string& text : texts) {
        INFO(text);
        const AttentionSpec spec = specOf(text);
        AttentionSpec full;
        full.parts[Slot::Heads] = spec.parts.at(Slot::Heads);
        full.mask = text.find("causal") == std::string::npos ? MaskExpression() : MaskExpression::causal();
        const AttentionCost own = costOf(spec, 4096), replaced = costOf(full, 4096);
        CHECK(own.operations < replaced.operations);
        if (formScores.contains(text)) continue;
        if (keepMore.contains(text))
            CHECK(costOf(spec, 16384).bytes < 6 * own.bytes); // if it grew with the square: 16
        else
            CHECK(own.bytes < replaced.bytes);
    }
    // Of AFT-full no number of a pair is kept but those that are learned.
    const AttentionCost aft = costOf(specOf("normaliser=aft"), 4096);
    CHECK(aft.learnedBytes == 4096.0 * 4096 * 4);
    CHECK(aft.bytes < 4.2 * 4096 * 32 * 4);
}

TEST_CASE("cost: measures on the device, leaves out what would take too long, and can be cancelled", "[session][gpu]") {
    CostSession session({}, 0);
    const CostQuery query{.specs = {specOf("mask=causal"), specOf("position=sinusoidal_2d(3, 5)")},
                          .from = 64,
                          .to = 256,
                          .measures = true};
    const auto found = answerTo(session, query);
    REQUIRE_FALSE(found->failure);
    CHECK_FALSE(found->device.empty());
    REQUIRE(found->costs[0].size() == 1);
    CHECK(found->costs[0][0].milliseconds > 0.0);
    CHECK(found->remarks[0].find("128 tokens") != std::string::npos);
    CHECK_FALSE(found->remarks[1].empty()); // a grid of 3 x 5 has no place for 64 tokens

    session.ask({.specs = {specOf("mask=causal")}, .from = 64, .to = 1 << 20, .measures = false});
    session.cancel();
    session.ask(query);
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->query == query);

    // Cancelled before its thread took it up.
    session.ask({.specs = {specOf("mask=causal")}, .from = 64, .to = 1 << 20, .measures = false});
    session.cancel();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->costs.front().size() < 15);
}
