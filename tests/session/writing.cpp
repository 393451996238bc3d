#include "engine/analysis/logit_attribution.h"
#include "tests/session/session_test.h"

#include <set>

// What a session writes and why it ends: an empty prompt, the seeds of branches, the end of a text.

using namespace attn;
using namespace attn::test;

namespace {

PatternRequest allViews() { return {.thumbnailSize = 8, .detail = true}; }

/// The tokens behind the prompt, as text.
std::string continuation(const Snapshot& snapshot) {
    std::string text;
    for (const TokenInfo& token : snapshot.sequence->tokens)
        if (!token.isPrompt) text += token.written;
    return text;
}

std::string writes(Session& session, int tokens) {
    return continuation(*succeed(session, GenerateCommand{.maxTokens = tokens}));
}

} // namespace

TEST_CASE("writing: an emptied prompt leaves no view of the text before", "[session][gpu]") {
    OpenSession session("abcabc");
    session.post(allViews());
    session.post(CellRequest{.site = 1, .head = 0, .query = 3, .key = 1});
    const auto before = succeed(session, SetProfileCommand{.site = 1, .head = 0});
    REQUIRE((before->grid && before->detail && before->profile && before->explanation));
    const auto now = succeed(session, SetPromptCommand{{.text = ""}});
    CHECK(now->sequence->tokens.empty());
    CHECK(now->branches->nodes.size() == 1); // the root
    CHECK(now->next->logits.empty());
    CHECK_FALSE((now->grid || now->detail || now->profile || now->explanation));
    CHECK(now->analyses.empty());
    for (const Command& harmless : std::vector<Command>{allViews(), ResetCommand{}, gateOf(0, 0, 0.5f),
                                                        ShowRunCommand{ShownRun::Difference}, StopCommand{}})
        succeed(session, harmless);
    CHECK(session.latest()->sequence->tokens.empty());
    CHECK_FALSE(session.latest()->grid);
    CHECK_THAT(failureOf(session, TakeTokenCommand{.token = 1}), CONTAINS("there is nothing to continue"));
    CHECK_THAT(failureOf(session, GenerateCommand{}), CONTAINS("there is nothing to continue"));
    succeed(session, SetChangesCommand{});
    CHECK(succeed(session, SetPromptCommand{{.text = "ab"}})->sequence->tokens.size() == 2);
    CHECK(succeed(session, RestoreBranchesCommand{})->sequence->tokens.empty()); // as Undo brings it back
}

TEST_CASE("writing: a model that is asked about its heads meanwhile goes on writing, and says so", "[session][gpu]") {
    OpenSession session("abcabc");
    const std::string key = LogitFlowAnalysis{}.key();
    session.post(GenerateCommand{.maxTokens = 60, .tokensPerSecond = 1});
    session.post(RunAnalysisCommand{std::make_shared<LogitFlowAnalysis>()});
    std::shared_ptr<const Snapshot> answered;
    REQUIRE(waitFor(session, [&](const Snapshot& snapshot) {
        if (snapshot.analyses.contains(key) && snapshot.status.activity != Activity::Analysing)
            answered = session.latest();
        return answered != nullptr;
    }));
    CHECK(answered->status.activity == Activity::Generating);
    CHECK(after(session, StopCommand{})->status.activity == Activity::Idle);
}

TEST_CASE("writing: an empty prompt is the token that the tokenizer puts before every text", "[session][gpu]") {
    Session session({.validation = true});
    succeed(session, OpenModelCommand{.path = "builtin:stories"});
    session.post(allViews());
    const auto now = succeed(session, SetPromptCommand{{.text = ""}});
    REQUIRE(now->sequence->tokens.size() == 1);
    CHECK(now->sequence->tokens[0].isSpecial);
    CHECK(now->sequence->given.text.empty());
    CHECK(now->grid->at(0, 0).queryEnd == 1);
    CHECK_FALSE(writes(session, 3).empty());
}

TEST_CASE("writing: an encoder has no text if there are only the tokens that it puts around every text",
          "[session][gpu]") {
    Session session({.validation = true});
    succeed(session, OpenModelCommand{.path = "builtin:masked"});
    CHECK(succeed(session, SetPromptCommand{{.text = " "}})->sequence->tokens.empty());
    CHECK(succeed(session, SetPromptCommand{{.text = "It"}})->sequence->tokens.size() == 3);
}

TEST_CASE("writing: a text is long by all that is given", "[session]") {
    CHECK_FALSE(RestoreBranchesCommand{.given = {.text = "short", .second = "short"}}.isLong());
    CHECK(RestoreBranchesCommand{.given = {.text = "short", .second = std::string(3000, 'a')}}.isLong());
}

TEST_CASE("writing: a seed gives the same text after going back; without one, each branch is another",
          "[session][gpu]") {
    Session session({.validation = true});
    succeed(session, OpenModelCommand{.path = "builtin:stories", .given = {.text = {.text = "Once upon a time"}}});
    Sampling sampling{.greedy = false, .temperature = 1.5f, .seed = 7};
    const auto branches = [&] {
        std::set<std::string> texts;
        for (int i = 0; i < 3; ++i) {
            succeed(session, ResetCommand{});
            texts.insert(writes(session, 12));
        }
        return texts;
    };
    succeed(session, SetSamplingCommand{sampling});
    CHECK(branches().size() == 1);
    sampling.seed = 0;
    succeed(session, SetSamplingCommand{sampling});
    succeed(session, SetPromptCommand{{.text = "Once upon"}});
    const std::set<std::string> first = branches();
    CHECK(first.size() == 3);
    succeed(session, SetPromptCommand{{.text = "Once"}});
    succeed(session, SetPromptCommand{{.text = "Once upon"}});
    CHECK(branches() == first); // nothing is left to chance
    const auto kept = succeed(session, ResetCommand{});
    std::vector<SavedToken> nodes;
    for (size_t i = 1; i < kept->branches->nodes.size(); ++i)
        nodes.push_back({kept->branches->nodes[i].parent - 1, kept->branches->nodes[i].token});
    succeed(session, RestoreBranchesCommand{.nodes = nodes,
                                            .current = kept->branches->current - 1,
                                            .promptLength = kept->branches->promptLength,
                                            .given = kept->sequence->given});
    CHECK_FALSE(first.contains(writes(session, 12))); // of a session that was saved, too
}

TEST_CASE("writing: steps write what a run writes, on every branch", "[session][gpu]") {
    Session session({.validation = true});
    succeed(session, OpenModelCommand{.path = "builtin:stories", .given = {.text = {.text = "Once upon"}}});
    succeed(session, SetSamplingCommand{{.greedy = false, .temperature = 1.5f}});
    std::vector<std::string> texts;
    for (int i = 0; i < 2; ++i) {
        succeed(session, ResetCommand{});
        texts.push_back(writes(session, 8));
    }
    succeed(session, SetPromptCommand{{.text = "Once"}});
    succeed(session, SetPromptCommand{{.text = "Once upon"}});
    for (const std::string& text : texts) {
        succeed(session, ResetCommand{});
        for (int step = 0; step < 8; ++step) writes(session, 1);
        CHECK(continuation(*session.latest()) == text);
    }
}

TEST_CASE("writing: a chosen token stands behind the token that it was chosen for", "[session][gpu]") {
    OpenSession session("abcabc");
    const int node = session.latest()->branches->current;
    succeed(session, GenerateCommand{.maxTokens = 4}); // it has written more since
    CHECK(text(session) == "abcabcabca");
    const auto now = succeed(session, TakeTokenCommand{.token = 4, .node = node});
    CHECK(now->sequence->text == "abcabce");
    CHECK_FALSE(now->sequence->tokens.back().probability); // whose logits are gone
}
