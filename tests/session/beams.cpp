#include "engine/inference/language_model.h"
#include "tests/session/session_test.h"

#include <algorithm>
#include <cmath>

// Beam search in a session.

using namespace attn;
using namespace attn::test;

namespace {

const std::string kTwoStreams = std::string(ATTN_TEST_DIR) + "/golden/t5_gated";

std::vector<int> written(const Snapshot& snapshot) {
    std::vector<int> tokens;
    for (const TokenInfo& token : snapshot.sequence->tokens)
        if (!token.isPrompt) tokens.push_back(token.id);
    return tokens;
}

} // namespace

TEST_CASE("beams: a session searches as the engine does, and goes to the best text", "[session][gpu]") {
    Session session({.validation = true});
    succeed(session, OpenModelCommand{.path = kTwoStreams, .given = {.text = {.text = "the cat is small."}}});
    const BeamSettings settings{.width = 3, .lengthPenalty = 1, .maxTokens = 6};
    const auto shown = succeed(session, BeamSearchCommand{.settings = settings});
    REQUIRE(shown->beams);
    CHECK(shown->beams->isDone);
    REQUIRE_FALSE(shown->beams->finished.empty());

    LanguageModel model(openModelSource(kTwoStreams), {.device = {.validation = true}});
    TextInput input{.tokens = {shown->sequence->tokens.front().id}};
    for (const TokenInfo& token : shown->sequence->source) input.source.push_back(token.id);
    model.predict(input);
    const BeamResult found = beamSearch(model, settings);
    REQUIRE(found.tree.size() == shown->beams->nodes.size());
    for (size_t node = 0; node < found.tree.size(); ++node) {
        CHECK(found.tree[node].token == shown->beams->nodes[node].token);
        CHECK(found.tree[node].fate == shown->beams->nodes[node].fate);
        CHECK(found.tree[node].logProbability == Approx(shown->beams->nodes[node].logProbability).margin(1e-5));
    }
    CHECK(written(*shown) == found.hypotheses.front().tokens);
    double sum = 0; // the probabilities of the written tokens are those of the search
    for (const TokenInfo& token : shown->sequence->tokens)
        if (!token.isPrompt) sum += std::log(static_cast<double>(token.probability.value()));
    CHECK(sum == Approx(found.hypotheses.front().logProbability).margin(1e-4));
    CHECK(shown->readoutRows->keys > 0); // the views are those of this text
}

TEST_CASE("beams: a search token by token is the search at once", "[session][gpu]") {
    OpenSession session("abcab");
    const BeamSettings settings{.width = 2, .maxTokens = 4};
    const auto whole = succeed(session, BeamSearchCommand{.settings = settings});
    const BeamTree atOnce = *whole->beams;
    succeed(session, SetPromptCommand{{.text = "abcabc"}});
    CHECK_FALSE(session.latest()->beams); // it was after another prompt
    succeed(session, SetPromptCommand{{.text = "abcab"}});
    for (int step = 1; step <= 4; ++step) {
        const auto shown = succeed(session, BeamSearchCommand{.settings = settings, .steps = 1});
        CHECK(shown->beams->isDone == (step == 4));
        CHECK(std::ssize(written(*shown)) == step);
        REQUIRE(shown->beams->nodes.size() <= atOnce.nodes.size());
        for (size_t node = 0; node < shown->beams->nodes.size(); ++node)
            CHECK(shown->beams->nodes[node].token == atOnce.nodes[node].token);
    }
    CHECK(session.latest()->beams->nodes.size() == atOnce.nodes.size());
}

TEST_CASE("beams: a hypothesis shows its own text and attention, and the tree stays", "[session][gpu]") {
    OpenSession session("abcab");
    const auto done = succeed(session, BeamSearchCommand{.settings = {.width = 3, .maxTokens = 3}});
    const auto& nodes = done->beams->nodes;
    const auto dropped = std::ranges::find(nodes, BeamNode::Fate::Dropped, &BeamNode::fate);
    REQUIRE(dropped != nodes.end());
    const auto shown = succeed(session, GoToHypothesisCommand{static_cast<int>(dropped - nodes.begin())});
    CHECK(written(*shown).back() == dropped->token);
    CHECK(shown->beams == done->beams);
    CHECK(shown->readoutRows->keys == std::ssize(shown->sequence->tokens));
    succeed(session, GoToHypothesisCommand{0}); // the root is the prompt
    CHECK(written(*session.latest()).empty());
    CHECK_THAT(failureOf(session, GoToHypothesisCommand{100'000}), CONTAINS("no such hypothesis"));
    // A change makes other probabilities: the tree goes.
    CHECK_FALSE(succeed(session, gateOf(1, 0, 0.0f))->beams);
    CHECK_THAT(failureOf(session, GoToHypothesisCommand{1}), CONTAINS("press Search first"));
}

TEST_CASE("beams: Stop ends a search and leaves text and tree", "[session][gpu]") {
    OpenSession session("abcab");
    session.post(BeamSearchCommand{.settings = {.width = 16, .maxTokens = 100}});
    REQUIRE(waitFor(session, [](const Snapshot& snapshot) { return snapshot.beams != nullptr; }));
    session.post(StopCommand{});
    const auto shown = idle(session);
    CHECK(shown->status.activity == Activity::Idle);
    CHECK_FALSE(shown->failure);
    CHECK(text(session) == "abcab");
    REQUIRE(shown->beams);
    // What comes next runs as if there had been no search.
    CHECK(succeed(session, GenerateCommand{.maxTokens = 1})->sequence->tokens.size() == 6);
    CHECK(text(session) == "abcabc");
    CHECK_THAT(failureOf(session, BeamSearchCommand{.settings = {.width = 0}}), CONTAINS("width from 1 to 256"));
}
