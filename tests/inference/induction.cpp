#include "engine/models/induction.h"
#include "engine/inference/cell_explainer.h"
#include "engine/inference/language_model.h"
#include "engine/models/memory_source.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

std::vector<int> lettersOf(const std::string& text) {
    const auto alphabet = inductionAlphabet();
    std::vector<int> ids;
    for (char letter : text)
        ids.push_back(static_cast<int>(std::ranges::find(alphabet, std::string(1, letter)) - alphabet.begin()));
    return ids;
}

/// A row of the pattern by formula: softmax of the gap where the condition holds, among the keys up to the query.
std::vector<double> formulaRow(int query, const std::function<bool(int key)>& holds) {
    std::vector<double> row;
    double sum = 0;
    for (int key = 0; key <= query; ++key) sum += row.emplace_back(holds(key) ? std::exp(kInductionGap) : 1.0);
    for (double& value : row) value /= sum;
    return row;
}

} // namespace

TEST_CASE("induction: every pattern equals its formula", "[models][gpu]") {
    LanguageModel model(makeInductionSource(), {.device = {.validation = true}});
    const std::string text = "the quick fox the quick";
    const std::vector<int> ids = lettersOf(text);
    REQUIRE(model.feed(ids));
    const auto count = static_cast<int>(ids.size());
    for (int layer = 0; layer < 2; ++layer)
        for (int head = 0; head < 2; ++head) {
            const PatternTile tile = model.patterns().tile({.site = layer, .head = head});
            REQUIRE(tile.isExact());
            for (int query = 0; query < count; ++query) {
                const auto holds = [&](int key) {
                    if (layer == 0) return key == query - (head == 0 ? 1 : 0);
                    // The previous letter of key 0 is itself: it is all that head 0 of layer 0 can see there.
                    return head == 0 &&
                           ids[static_cast<size_t>(std::max(key - 1, 0))] == ids[static_cast<size_t>(query)];
                };
                const auto row = formulaRow(query, holds);
                for (int key = 0; key < count; ++key) {
                    INFO("layer " << layer << " head " << head << " query " << query << " key " << key);
                    CHECK(tile.at(query, key) ==
                          Approx(key <= query ? row[static_cast<size_t>(key)] : 0)
                              .margin(2e-3)); // the previous head leaks 1e-6 per key into scores of 14
                }
            }
        }
}

TEST_CASE("induction: repeats what followed the present letter before", "[models][gpu]") {
    LanguageModel model(makeInductionSource(), {.device = {.validation = true}});
    REQUIRE(model.feed(lettersOf("qwertyuiopqwert")));
    const auto best = std::ranges::max_element(model.logits()) - model.logits().begin();
    CHECK(inductionAlphabet()[static_cast<size_t>(best)] == "y");
}

TEST_CASE("generation records nothing and runs no reference", "[session][gpu]") {
    LanguageModel model(makeInductionSource(), {});
    REQUIRE(model.feed(lettersOf("abcdefgabc")));
    const uint64_t recordings = GpuExecutor::recordings(), references = CpuExecutor::referenceCalls();
    for (int i = 0; i < 40; ++i) {
        const int best = static_cast<int>(std::ranges::max_element(model.logits()) - model.logits().begin());
        REQUIRE(model.feed(std::span(&best, 1)));
    }
    CHECK(GpuExecutor::recordings() == recordings);
    CHECK(CpuExecutor::referenceCalls() == references);
}

TEST_CASE("explain: the terms sum to the displayed value", "[session][gpu]") {
    LanguageModel model(makeInductionSource(), {});
    REQUIRE(model.feed(lettersOf("the quick fox the quick")));
    const CellExplanation cell = explainCell(model, {.site = 1, .head = 0, .query = 20, .key = 7});
    double dot = 0;
    for (float product : cell.products) dot += static_cast<double>(product);
    CHECK(std::exp(dot * cell.scale - cell.rowMaximum) / cell.rowSum == Approx(cell.displayed).margin(1e-5));
    CHECK(cell.residualContribution.size() == static_cast<size_t>(model.info().modelWidth));
}

TEST_CASE("gates: a head at zero contributes nothing", "[session][gpu]") {
    LanguageModel model(makeInductionSource(), {});
    const std::vector<int> ids = lettersOf("qwertyuiopqwert");
    model.setGate(1, 0, 0);
    REQUIRE(model.feed(ids));
    for (float logit : model.logits()) CHECK(logit == Approx(0).margin(1e-6)); // nothing else writes to the logits
}

TEST_CASE("feeding in pieces gives the same logits as at once", "[session][gpu]") {
    LanguageModel pieces(makeInductionSource(), {}), whole(makeInductionSource(), {});
    const std::vector<int> ids = lettersOf("attention is all you need attention is al");
    REQUIRE(whole.feed(ids));
    for (size_t i = 0; i < ids.size(); i += 7)
        REQUIRE(pieces.feed(std::span(ids).subspan(i, std::min<size_t>(7, ids.size() - i))));
    for (size_t i = 0; i < whole.logits().size(); ++i)
        CHECK(pieces.logits()[i] == Approx(whole.logits()[i]).margin(1e-5)); // different kernels for one row and many
    const std::vector<float> first(whole.logits().begin(), whole.logits().end());
    whole.truncate(10);
    REQUIRE(whole.feed(std::span(ids).subspan(10)));
    for (size_t i = 0; i < first.size(); ++i) CHECK(whole.logits()[i] == Approx(first[i]).margin(1e-5));
}

TEST_CASE("thumbnails: after an edit they equal those drawn from scratch", "[session][gpu]") {
    LanguageModel changed(makeInductionSource(), {}), fresh(makeInductionSource(), {});
    std::vector<int> ids = lettersOf("attention is all you need attention is all you need attention is all you need");
    REQUIRE(changed.feed(ids));
    changed.patterns().grid(16);
    for (size_t keep : {ids.size() - 1, size_t{37}, size_t{5}}) {
        changed.truncate(keep);
        ids.resize(keep);
        for (int letter : lettersOf("xyz abc")) ids.push_back(letter);
        REQUIRE(changed.feed(std::span(ids).subspan(keep)));
        fresh.truncate(0);
        REQUIRE(fresh.feed(ids));
        fresh.setGate(-1, -1, 1); // forgets its last picture
        const PatternGrid a = changed.patterns().grid(16), b = fresh.patterns().grid(16);
        REQUIRE(a.tiles.size() == b.tiles.size());
        for (size_t i = 0; i < a.tiles.size(); ++i) {
            REQUIRE(a.tiles[i].values.size() == b.tiles[i].values.size());
            for (size_t j = 0; j < a.tiles[i].values.size(); ++j)
                CHECK(a.tiles[i].values[j] == Approx(b.tiles[i].values[j]).margin(1e-6));
        }
    }
}

TEST_CASE("language model: few pipelines before the first picture, the rest warms up", "[models][gpu]") {
    LanguageModel model(makeInductionSource(), {.device = {.validation = true}});
    REQUIRE(model.feed(lettersOf(model.source().example())));
    const PatternGrid before = model.patterns().grid(64);
    model.patterns().tile({});
    const std::vector<float> logits(model.logits().begin(), model.logits().end());
    CAPTURE(model.pipelineCount());
    // Each costs software Vulkan some 50 to 200 ms when its driver's cache is cold. Two are products with a residual,
    // which have pipelines of their own since that makes training steps up to an eighth shorter.
    CHECK(model.pipelineCount() <= 14);

    int plans = 0;
    while (model.warmUp()) ++plans;
    CHECK(plans == 1); // 128: the example used 16, and the context holds no more
    CHECK(std::ranges::equal(logits, model.logits()));
    CHECK(model.patterns().grid(64).tiles.back().values == before.tiles.back().values);
    const size_t warm = model.pipelineCount();
    const std::vector<int> longPrompt(100, 3);
    model.truncate(0);
    REQUIRE(model.feed(longPrompt));
    CHECK(model.pipelineCount() == warm);
}
