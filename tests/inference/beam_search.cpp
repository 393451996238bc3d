#include "engine/inference/beam_search.h"

#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace attn;

namespace {

LanguageModel opened(const std::string& path) { return {openModelSource(path), {.device = {.validation = true}}}; }
LanguageModel twoStreams() { return opened(std::string(ATTN_TEST_DIR) + "/golden/t5_gated"); }

/// log p of the next token after some tokens, from a whole run.
std::vector<double> nextOf(LanguageModel& model, const TextInput& input) {
    const std::vector<float> logits = model.predict(input);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    std::vector<double> result;
    for (const float logit : logits) result.push_back(static_cast<double>(logit) - std::log(sum));
    return result;
}

/// Every sequence of at most `left` tokens that is at its end, with its score.
void enumerate(LanguageModel& model, TextInput input, size_t begin, double sum, int left, double penalty,
               std::vector<Hypothesis>& all) {
    const std::vector<double> next = nextOf(model, input);
    for (size_t token = 0; token < next.size(); ++token) {
        TextInput longer = input;
        longer.tokens.push_back(static_cast<int>(token));
        const double p = sum + next[token];
        const bool stops = std::ranges::count(model.source().stopTokens(), static_cast<int>(token)) > 0;
        if (!stops && left > 1) {
            enumerate(model, longer, begin, p, left - 1, penalty, all);
            continue;
        }
        const std::vector<int> tokens(longer.tokens.begin() + static_cast<std::ptrdiff_t>(begin), longer.tokens.end());
        all.push_back({tokens, p, p / std::pow(static_cast<double>(tokens.size()), penalty)});
    }
}

} // namespace

TEST_CASE("beam search: a beam as wide as the tree finds what an exhaustive search finds", "[inference][gpu]") {
    const double penalty = GENERATE(0.0, 1.0);
    LanguageModel model = twoStreams();
    const TextInput input{.tokens = {0}, .source = {3, 5, 8, 9, 1}};
    std::vector<Hypothesis> all;
    enumerate(model, input, 1, 0, 2, penalty, all);
    std::ranges::sort(all, std::ranges::greater(), &Hypothesis::score);
    REQUIRE(all.size() == 41 * 40 + 1); // one of the 41 first tokens stops

    model.predict(input);
    const BeamResult found = beamSearch(model, {.width = 41, .lengthPenalty = penalty, .maxTokens = 2});
    REQUIRE(found.hypotheses.size() == 41);
    for (size_t i = 0; i < 10; ++i) {
        CHECK(found.hypotheses[i].tokens == all[i].tokens);
        CHECK(found.hypotheses[i].score == Approx(all[i].score).margin(1e-4));
    }
    CHECK(std::vector<int>(model.tokens().begin() + 1, model.tokens().end()) == all.front().tokens);
}

TEST_CASE("beam search: a beam of one writes what greedy decoding writes", "[inference][gpu]") {
    LanguageModel model = twoStreams();
    model.predict(TextInput{.tokens = {0}, .source = {3, 5, 8, 9, 1}});
    std::vector<int> greedy;
    for (int i = 0; i < 6; ++i) {
        const auto logits = model.logits();
        greedy.push_back(static_cast<int>(std::ranges::max_element(logits) - logits.begin()));
        model.feed(std::span(greedy).last(1));
    }
    model.predict(TextInput{.tokens = {0}, .source = {3, 5, 8, 9, 1}});
    const BeamResult found = beamSearch(model, {.width = 1, .maxTokens = 6});
    REQUIRE(found.hypotheses.size() == 1);
    CHECK(found.hypotheses.front().tokens == greedy);
}

TEST_CASE("beam search: a step that fails or is cancelled has no effect", "[inference][gpu]") {
    LanguageModel model = opened("builtin:add");
    const std::vector<int> prompt = model.tokenizer()->encode("12+34=").ids;
    const BeamSettings settings{.width = 3, .maxTokens = 3};
    BeamSearch search(model, settings, prompt), other(model, settings, prompt);
    while (search.step()) {
        CHECK_THROWS_AS(
            search.step([]() -> bool { throw Error({.what = "the device is full", .where = {}, .hint = "wait"}); }),
            Error);
        CHECK(search.step([] { return true; }));
    }
    while (other.step()) {
    }
    REQUIRE(search.result().hypotheses.size() == other.result().hypotheses.size());
    for (size_t i = 0; i < other.result().hypotheses.size(); ++i) {
        CHECK(search.result().hypotheses[i].tokens == other.result().hypotheses[i].tokens);
        CHECK(search.result().hypotheses[i].score == other.result().hypotheses[i].score);
    }
}

TEST_CASE("beam search: the tree tells the fate of each token", "[inference][gpu]") {
    LanguageModel model = opened("builtin:add");
    const std::vector<int> prompt = model.tokenizer()->encode("12+34=").ids;
    for (const int width : {1, 3, 8}) {
        model.predict(Input(prompt));
        const BeamResult found = beamSearch(model, {.width = width, .lengthPenalty = 0, .maxTokens = 3});
        REQUIRE_FALSE(found.hypotheses.empty());
        std::map<BeamNode::Fate, int> fates;
        for (size_t node = 1; node < found.tree.size(); ++node) {
            const BeamNode& each = found.tree[node];
            REQUIRE(each.parent < static_cast<int>(node));
            CHECK(found.tree[static_cast<size_t>(each.parent)].fate == BeamNode::Fate::Kept);
            CHECK(each.logProbability <= found.tree[static_cast<size_t>(each.parent)].logProbability);
            ++fates[each.fate];
        }
        CHECK(fates[BeamNode::Fate::Finished] >= std::ssize(found.hypotheses));
        if (width > 1) CHECK(fates[BeamNode::Fate::Dropped] > 0);
    }
}

TEST_CASE("beam search: settings out of range are refused", "[inference][gpu]") {
    LanguageModel model = twoStreams();
    CHECK_THROWS_WITH(beamSearch(model, {}), Catch::Matchers::Contains("nothing to continue"));
    model.predict(TextInput{.tokens = {0}, .source = {3, 1}});
    CHECK_THROWS_WITH(beamSearch(model, {.width = 0}), Catch::Matchers::Contains("width from 1 to 256"));
}
