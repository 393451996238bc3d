#include "engine/inference/language_model.h"
#include "engine/session/session.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"
#include "tests/session/session_test.h"

#include <mutex>

// What a person gives to a model, carried whole from one run to the next.

using namespace attn;
using namespace attn::test;

namespace {

const std::string kBert = std::string(ATTN_TEST_DIR) + "/golden/bert";
const std::string kTranslator = std::string(ATTN_TEST_DIR) + "/golden/t5_gated";

/// All that a snapshot says of a run: logits, and answers of a readout of classes.
std::vector<float> saidBy(const Snapshot& snapshot) {
    std::vector<float> said = snapshot.next->logits;
    if (snapshot.classes) said.insert(said.end(), snapshot.classes->logits.begin(), snapshot.classes->logits.end());
    return said;
}

void checkSameTokens(const Sequence& one, const Sequence& other) {
    REQUIRE(one.tokens.size() == other.tokens.size());
    for (size_t i = 0; i < one.tokens.size(); ++i) {
        CAPTURE(i);
        const TokenInfo &a = one.tokens[i], &b = other.tokens[i];
        CHECK(a.id == b.id);
        CHECK(a.text == b.text);
        CHECK(a.written == b.written);
        CHECK(a.isSpecial == b.isSpecial);
        CHECK(a.isPrompt == b.isPrompt);
        CHECK(a.isSecond == b.isSecond);
        CHECK(a.type == b.type);
        CHECK(a.probability == b.probability);
    }
    CHECK(one.text == other.text);
}

/// Every snapshot of a session that shows another run than the one before.
class Runs {
public:
    explicit Runs(Session& session) : session_(session) {
        session.setListener([seen = seen_, &session] { // it may still run after the destructor
            const std::lock_guard lock(seen->mutex);
            const auto now = session.latest();
            if (now->sequence && (seen->all.empty() || seen->all.back() != now)) seen->all.push_back(now);
        });
    }
    ~Runs() { session_.setListener({}); }
    std::vector<std::shared_ptr<const Snapshot>> all() {
        const std::lock_guard lock(seen_->mutex);
        return seen_->all;
    }

private:
    struct Seen {
        std::mutex mutex;
        std::vector<std::shared_ptr<const Snapshot>> all;
    };
    Session& session_;
    std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

} // namespace

TEST_CASE("given: the original run beside a changed one is that of the source", "[session][gpu]") {
    Session session({.validation = true}), other({.validation = true});
    for (Session* each : {&session, &other})
        succeed(*each, OpenModelCommand{.path = kTranslator, .given = {.text = {.tokens = {3, 5, 8}}}});
    REQUIRE(succeed(session, gateOf(0, 0, 0))->original);
    for (const std::vector<int>& source : {std::vector<int>{9, 4, 1}, std::vector<int>{3, 5, 8}}) {
        const auto changed = succeed(session, SetPromptCommand{{.tokens = source}}),
                   plain = succeed(other, SetPromptCommand{{.tokens = source}});
        CHECK(changed->original->logits == plain->next->logits);
        CHECK(changed->next->logits != plain->next->logits);
    }
}

TEST_CASE("given: what a snapshot gives on makes another session read the same", "[session][gpu]") {
    TemporaryFolder folder;
    const Trainer trainer(suggestedRecipe(taskNamed("dependencies")), {.softwareThreads = 0});
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    struct Case {
        std::string model;
        std::vector<Command> steps;
    };
    const std::vector<Case> cases{
        {kInduction, {SetPromptCommand{{.text = "abcabc"}}, GenerateCommand{.maxTokens = 5}}},
        {kInduction, {SetPromptCommand{{.text = "abcabc"}}, GoToBranchCommand{3}, TakeTokenCommand{7}}},
        {kBert, {SetPromptCommand{{.text = "The dogs ran.", .second = "Who sat?"}}}},
        {kTranslator, {SetPromptCommand{{.text = "the cat is small."}}, GenerateCommand{.maxTokens = 4}}},
        {folder.path().string(), {SetPromptCommand{{.text = "a b c d", .parents = {0, 1, 2, 3}}}}},
    };
    for (const Case& each : cases) {
        CAPTURE(each.model, each.steps.size());
        Session first(kTestDevice), second(kTestDevice);
        succeed(first, OpenModelCommand{.path = each.model});
        for (const Command& step : each.steps) succeed(first, step);
        const auto shown = first.latest();
        const auto again = succeed(second, OpenModelCommand{.path = each.model, .given = {.text = shown->textSoFar()}});
        CHECK(saidBy(*again) == saidBy(*shown));
        CHECK(again->sequence->source.size() == shown->sequence->source.size());
        CHECK(again->sequence->given.parents == shown->sequence->given.parents);
    }
}

TEST_CASE("given: tokens are described once while a text grows", "[session][gpu]") {
    OpenSession session("abcabc", kTestDevice);
    std::set<const TokenInfo*> rooms;
    std::set<const BranchNode*> trees;
    for (int i = 0; i < 100; ++i) {
        const auto now = succeed(session, GenerateCommand{.maxTokens = 1});
        rooms.insert(now->sequence->tokens.data());
        trees.insert(now->branches->nodes.data());
    }
    CHECK(session.latest()->sequence->tokens.size() == 106);
    CHECK(rooms.size() < 8); // each has twice the room of the one before
    CHECK(trees.size() < 8);
}

TEST_CASE("given: a text that changed step by step is described as one that came at once", "[session][gpu]") {
    for (const std::string& model : {std::string("builtin:stories"), std::string("builtin:english")}) {
        CAPTURE(model);
        Session session(kTestDevice), fresh(kTestDevice);
        succeed(session, OpenModelCommand{.path = model});
        succeed(fresh, OpenModelCommand{.path = model});
        std::mt19937 random(7);
        for (int step = 0; step < 30; ++step) {
            const auto shown = session.latest();
            const auto nodes = static_cast<int>(shown->branches->nodes.size());
            switch (random() % 5) {
            case 0:
                succeed(session, GoToBranchCommand{1 + static_cast<int>(random() % static_cast<unsigned>(nodes - 1))});
                break;
            case 1:
                succeed(session, TakeTokenCommand{static_cast<int>(random() % 200)}); // often half of a character
                break;
            case 2:
                succeed(session, SetSamplingCommand{{.greedy = false, .temperature = 2, .seed = random()}});
                [[fallthrough]];
            default:
                succeed(session, GenerateCommand{.maxTokens = 3});
            }
            const auto now = session.latest();
            RestoreBranchesCommand restore{.current = now->branches->current - 1,
                                           .promptLength = now->branches->promptLength,
                                           .given = now->sequence->given};
            for (size_t i = 1; i < now->branches->nodes.size(); ++i) {
                const BranchNode& node = now->branches->nodes[i];
                restore.nodes.push_back({node.parent - 1, node.token, node.probability});
            }
            checkSameTokens(*now->sequence, *succeed(fresh, restore)->sequence);
        }
    }
}

TEST_CASE("given: a run brings the arithmetic of the selected cell with it", "[session][gpu]") {
    OpenSession session("abcabc", kTestDevice);
    const CellRequest cell{.site = 1, .head = 0, .query = 4, .key = 2};
    succeed(session, cell);
    Runs runs(session);
    const auto shown = succeed(session, SetPromptCommand{{.text = "abcabca"}});
    REQUIRE(shown->explanation);
    CHECK(shown->explanation->cell() == cell);
    for (const auto& each : runs.all()) // no snapshot shows the new run without it
        if (each->sequence == shown->sequence) CHECK(each->explanation == shown->explanation);
    LanguageModel model(openModelSource(kInduction), {.device = kTestDevice});
    model.feed(model.tokenizer()->encode("abcabca").ids);
    CHECK(shown->explanation->probability == Approx(model.patterns().weight(cell)).margin(1e-6));

    CHECK_FALSE(succeed(session, SetPromptCommand{{.text = "abc"}})->explanation); // it has no such cell
    CHECK(succeed(session, SetPromptCommand{{.text = "abcab"}})->explanation);     // and this one has it again
    CHECK_FALSE(succeed(session, CellRequest{.site = -1})->explanation);
    CHECK_FALSE(succeed(session, SetPromptCommand{{.text = "abcabcab"}})->explanation);
}
