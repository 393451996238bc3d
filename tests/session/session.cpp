#include "engine/session/session.h"
#include "engine/inference/language_model.h"
#include "engine/session/command_queue.h"
#include "engine/session/token_path.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"
#include "tests/session/session_test.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("queue: the newest of a kind wins, but nothing moves across what reads it", "[session]") {
    CommandQueue queue;
    for (int layer = 0; layer < 100; ++layer) queue.push(PatternRequest{.site = layer});
    CHECK(queue.size() == 1);
    queue.push(TakeTokenCommand{.token = 3});
    queue.push(PatternRequest{.site = 7});
    CHECK(queue.size() == 3);
    queue.push(test::gateOf(0, 0, 0.5f));
    queue.push(ShowRunCommand{ShownRun::Original});
    queue.push(test::gateOf(0, 0, 0.1f)); // replaces the other across a command that reads neither
    CHECK(queue.size() == 5);
    CHECK(std::get<PatternRequest>(*queue.pop()).site == 99);
    queue.push(GenerateCommand{.maxTokens = 5});
    queue.dropGeneration();
    CHECK(queue.size() == 4);
}

TEST_CASE("queue: what waits for an earlier model is counted, whatever takes its place", "[session]") {
    CommandQueue queue;
    queue.push(PatternRequest{.site = 1});
    queue.push(test::gateOf(0, 0, 0.5f));
    queue.push(GenerateCommand{.maxTokens = 5});
    queue.push(TakeTokenCommand{.token = 3});
    queue.push(PatternRequest{.site = 2});
    CHECK_FALSE(queue.wasEarlier());
    queue.markEarlier();
    CHECK(queue.changesInput());
    queue.push(PatternRequest{.site = 3}); // in place of the second one
    queue.dropGeneration();
    for (const bool isEarlier : {true, true, true, false}) {
        REQUIRE(queue.pop());
        CHECK(queue.wasEarlier() == isEarlier);
    }
    CHECK_FALSE(queue.changesInput());
    CHECK(queue.empty());
    queue.push(test::gateOf(0, 0, 0.5f));
    REQUIRE(queue.pop());
    CHECK_FALSE(queue.wasEarlier());
}

TEST_CASE("branches: taking, going back and restoring", "[session]") {
    TokenPath path;
    path.setPrompt({5, 6, 7});
    path.take(1, 0.5f);
    const int first = path.tree().current;
    path.reset();
    CHECK(path.tokens() == std::vector<int>{5, 6, 7});
    path.take(2, 0.25f);
    path.take(1, 0.5f);
    path.goTo(first);
    CHECK(path.tokens() == std::vector<int>{5, 6, 7, 1});
    path.reset();
    path.take(1, 0.9f);
    CHECK(path.tree().current == first);                                      // the branch that exists is taken again
    CHECK(path.tree().nodes[static_cast<size_t>(first)].probability == 0.9f); // with its present probability
    CHECK_THROWS_AS(path.goTo(99), Error);

    TokenPath restored;
    restored.restore({{-1, 5}, {0, 6}, {1, 7}, {1, 8}}, 3, 2);
    CHECK(restored.tokens() == std::vector<int>{5, 6, 8});
    CHECK(restored.promptLength() == 2);
    CHECK_THROWS_AS(restored.restore({{4, 5}}, 0, 1), Error);
    CHECK(restored.tokens() == std::vector<int>{5, 6, 8}); // a damaged list changes nothing
}

TEST_CASE("branches: the prompt keeps its length wherever the path ends", "[session]") {
    TokenPath path;
    path.setPrompt({5, 6, 7});
    path.take(1, 0.5f);
    CHECK(path.promptLength() == 3);
    path.goTo(2); // within the prompt
    CHECK(path.promptLength() == 2);
    path.take(9, 0.5f); // in the place of its third token
    CHECK(path.tokens() == std::vector<int>{5, 6, 9});
    CHECK(path.promptLength() == 2);
    CHECK(path.tree().promptLength == 3);
    std::vector<SavedToken> saved;
    for (const BranchNode& node : path.tree().nodes)
        if (node.parent >= 0) saved.push_back({node.parent - 1, node.token, node.probability});
    TokenPath restored;
    restored.restore(saved, path.tree().current - 1, path.tree().promptLength);
    CHECK(restored.promptLength() == 2);
    CHECK(restored.tree().promptLength == 3);
    restored.reset();
    CHECK(restored.tokens() == std::vector<int>{5, 6, 7});
    restored.restore({{-1, 5}, {0, 6}}, 1, 9); // a list that is shorter than it says
    CHECK(restored.tree().promptLength == 2);
}

TEST_CASE("session: opens, generates, branches and explains on the worker thread", "[session][gpu]") {
    Session session({.validation = true});
    session.post(OpenModelCommand{.path = "builtin:induction"});
    auto snapshot = test::after(session, SetPromptCommand{{.text = "qwertyuiopqwert"}});
    REQUIRE(snapshot->model);
    REQUIRE_FALSE(snapshot->failure);
    CHECK(snapshot->sequence->text == "qwertyuiopqwert");
    CHECK(snapshot->grid->tiles.size() == 4);
    CHECK(snapshot->readoutRows->keys == 15);
    CHECK(snapshot->model->tokenTexts.size() == 27);

    snapshot = test::after(session, GenerateCommand{.maxTokens = 5});
    CHECK(snapshot->sequence->text == "qwertyuiopqwertyuiop");
    CHECK(snapshot->status.activity == Activity::Idle);

    const int node = snapshot->sequence->tokens[14].branchNode;
    session.post(GoToBranchCommand{.node = node});
    session.post(TakeTokenCommand{.token = 0});
    snapshot = test::after(session, CellRequest{.site = 1, .head = 0, .query = 14, .key = 5});
    CHECK(snapshot->sequence->text == "qwertyuiopqwerta");
    CHECK(snapshot->explanation->probability == Approx(snapshot->explanation->displayed).margin(1e-5));
    CHECK(snapshot->branches->nodes.size() == 1 + 15 + 5 + 1);
}

TEST_CASE("session: a command that fails says why and loses nothing", "[session][gpu]") {
    Session session;
    test::after(session, SetPromptCommand{{.text = "abc"}});
    REQUIRE(session.latest()->failure);
    CHECK(session.latest()->failure->sentence() == "no model is open; open a model folder first");
    test::after(session, OpenModelCommand{.path = "builtin:induction", .given = {.text = {.text = "abcabc"}}});
    REQUIRE_FALSE(session.latest()->failure);
    for (const Command& bad : std::vector<Command>{
             OpenModelCommand{.path = "/no/such/folder"}, OpenModelCommand{.path = "builtin:other"},
             SetPromptCommand{{.text = "ABC!"}}, SetPromptCommand{{.text = "\xff\xfe"}}, TakeTokenCommand{.token = 999},
             GoToBranchCommand{.node = 999}, CellRequest{.site = 9}, ShowWeightCommand{.name = "nothing"},
             CaptureCommand{.hooks = "no.*", .path = "/tmp/x.npz"},
             CaptureCommand{.hooks = "logits", .path = "/tmp/x.txt"}}) {
        const uint64_t failures = session.latest()->failureCount;
        test::after(session, bad);
        INFO("command " << bad.index());
        CHECK(session.latest()->failureCount == failures + 1);
        CHECK(session.latest()->failure->sentence().size() > 10);
        CHECK(session.latest()->sequence->text == "abcabc");
    }
}

TEST_CASE("session: a model of hidden words does not continue a text, and says so", "[session][gpu]") {
    Session session({.device = {}, .softwareThreads = 0, .validation = true});
    session.post(OpenModelCommand{.path = "builtin:masked"});
    test::after(session, GenerateCommand{.maxTokens = 3});
    REQUIRE(session.latest()->failure);
    CHECK(session.latest()->failure->what.find("does not continue a text") != std::string::npos);
    CHECK(session.latest()->next); // the candidates for the hidden word stay
}

TEST_CASE("session: a pair of texts runs with its token types, and comes back with its branches", "[session][gpu]") {
    const std::string path = std::string(ATTN_TEST_DIR) + "/golden/bert", first = "The dogs ran.", second = "Who sat?";
    Session session({.device = {}, .softwareThreads = 0, .validation = true});
    succeed(session, OpenModelCommand{.path = path});
    const auto pair = succeed(session, SetPromptCommand{{.text = first, .second = second}});
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    const Encoding encoding = model.tokenizer()->encodePair(first, second);
    CHECK(pair->next->logits == model.predict(TextInput{encoding.ids, encoding.types}));
    CHECK(pair->next->logits != model.predict(encoding.ids)); // without types
    const auto& tokens = pair->sequence->tokens;
    REQUIRE(tokens.size() == encoding.ids.size());
    const auto wordOf = [&](size_t token) {
        const auto [begin, end] = tokens[token].word;
        return (tokens[token].isSecond ? second : first).substr(begin, end - begin);
    };
    CHECK(wordOf(0).empty()); // [CLS]
    CHECK(wordOf(2) == "dogs");
    CHECK(wordOf(3) == "dogs"); // two pieces of one word
    CHECK(wordOf(7) == "Who");

    const RestoreBranchesCommand restore{
        .nodes = {}, .current = 0, .promptLength = 0, .given = {.text = first, .second = second}};
    succeed(session, SetPromptCommand{{.text = "the dog sat"}});
    RestoreBranchesCommand again = restore;
    for (size_t i = 0; i < encoding.ids.size(); ++i) again.nodes.push_back({static_cast<int>(i) - 1, encoding.ids[i]});
    again.current = again.promptLength = static_cast<int>(encoding.ids.size());
    --again.current;
    CHECK(succeed(session, again)->next->logits == pair->next->logits);

    succeed(session, OpenModelCommand{.path = kInduction});
    CHECK(failureOf(session, SetPromptCommand{{.text = first, .second = second}}).find("reads one text") !=
          std::string::npos);
}

TEST_CASE("session: a prompt beyond the context keeps its end and says so", "[session][gpu]") {
    Session session;
    const auto snapshot =
        test::after(session, OpenModelCommand{.path = "builtin:induction",
                                              .given = {.text = {.text = std::string(300, 'a') + "bc"}}});
    REQUIRE_FALSE(snapshot->failure);
    CHECK(snapshot->sequence->tokens.size() <= 128);
    CHECK(snapshot->sequence->tokens.back().text == "c");
    CHECK(snapshot->sequence->notice.find("the model reads the last 110 of 302 tokens") != std::string::npos);
    session.post(GenerateCommand{.maxTokens = 200}); // past the context, again and again
    REQUIRE(session.waitIdle());
    CHECK_FALSE(session.latest()->failure);
    CHECK(session.latest()->branches->nodes.size() == 1 + 302 + 200);
    test::after(session, SetPromptCommand{{.text = std::string(5000, 'a')}});
    CHECK(session.latest()->sequence->notice.find("the last 104 of 5,000 tokens") != std::string::npos);
}

TEST_CASE("session: stop ends generation at once", "[session][gpu]") {
    Session session;
    test::after(session, OpenModelCommand{.path = "builtin:induction"});
    const size_t before = session.latest()->branches->nodes.size();
    session.post(GenerateCommand{.maxTokens = 1'000'000});
    REQUIRE(attn::test::waitFor(session,
                                [&](const Snapshot& snapshot) { return snapshot.branches->nodes.size() > before; }));
    test::after(session, StopCommand{});
    CHECK(session.latest()->status.activity == Activity::Idle);
    CHECK(session.latest()->branches->nodes.size() > before); // it wrote something and kept it
}

TEST_CASE("session: the tree of a text comes with it, and comes back with its branches", "[session][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("dependencies"));
    const Trainer trainer(recipe, {.softwareThreads = 0});
    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    Session session({.device = {}, .softwareThreads = 0, .validation = true});
    succeed(session, OpenModelCommand{.path = folder.path().string()});
    CHECK(session.latest()->model->readsTrees);
    const std::vector<int> chain{0, 1, 2, 3, 4, 5, 6, 7};
    const std::string text = "a b c d e f g h";
    const auto logitsOf = [](const Snapshot& snapshot) { return snapshot.classes->logits; };
    const auto own = succeed(session, SetPromptCommand{{.text = text}}),
               given = succeed(session, SetPromptCommand{{.text = text, .parents = chain}});
    CHECK(given->sequence->given.parents == chain);
    CHECK(logitsOf(*given) != logitsOf(*own));
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
    model.predict(TextInput{.tokens = model.tokenizer()->encode(text).ids, .parents = chain});
    CHECK(logitsOf(*given) == model.classes()->logits);

    std::vector<SavedToken> nodes;
    for (const TokenInfo& token : given->sequence->tokens)
        nodes.push_back({.parent = static_cast<int>(nodes.size()) - 1, .token = token.id});
    CHECK(logitsOf(*succeed(session, SetPromptCommand{{.text = text}})) == logitsOf(*own));
    const auto restored = succeed(
        session,
        RestoreBranchesCommand{
            .nodes = nodes, .current = 7, .promptLength = 8, .given = {.text = text, .second = {}, .parents = chain}});
    CHECK(logitsOf(*restored) == logitsOf(*given));

    test::after(session, SetPromptCommand{{.text = "a b c", .parents = chain}});
    REQUIRE(session.latest()->failure);
    CHECK(session.latest()->failure->what == "the tree ends at token 8, but the text has 3 tokens");
}
