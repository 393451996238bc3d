#include "tests/models/hollow_llama.h"
#include "tests/session/session_test.h"

// Stop ends whatever runs, and what was there before is there again. How fast it does so is measured by
// test_session "[.measure]": the promise is 50 ms, and no test depends on how fast the machine is.

using namespace attn;
using namespace attn::test;

namespace {

/// How long it takes from a Stop until the work has ended.
template <class Wait> double millisecondsToStop(Session& session, const Wait& waitForEnd) {
    const auto begin = std::chrono::steady_clock::now();
    session.post(StopCommand{});
    REQUIRE(waitForEnd());
    const auto end = std::chrono::steady_clock::now();
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->status.activity == Activity::Idle);
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

double millisecondsToStop(Session& session) {
    return millisecondsToStop(session, [&] { return session.waitIdle(); });
}

/// The median: a busy machine may let any one of them wait.
double median(std::vector<double> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

/// @return milliseconds to stop
double stopsLoading() {
    const TemporaryFolder folder;
    REQUIRE(HollowLlama{.layers = 48, .width = 256, .feedForward = 1024}.write(folder.path())); // 0.2 GB
    OpenSession session("abcabc");
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
        session.post(OpenModelCommand{.path = folder.path().string(), .given = {.text = {.tokens = {1}}}});
        REQUIRE(waitFor(session, [](const Snapshot& snapshot) {
            return snapshot.status.activity == Activity::Loading && snapshot.status.progress > 0.1f;
        }));
        times.push_back(millisecondsToStop(session, [&] { // not until the memory is given back
            return waitFor(session,
                           [](const Snapshot& snapshot) { return snapshot.status.activity == Activity::Idle; });
        }));
        CHECK_FALSE(session.latest()->failure);
        if (session.latest()->status.activity == Activity::Idle && session.latest()->model->name != "induction")
            succeed(session,
                    OpenModelCommand{.path = kInduction, .given = {.text = {.text = "abcabc"}}}); // as fast as that
        else
            CHECK(session.latest()->sequence->given.text == "abcabc");
    }
    succeed(session, GenerateCommand{.maxTokens = 3});
    CHECK(text(session) == "abcabcabc");
    return median(times);
}

double stopsPrompt() {
    const TemporaryFolder folder;
    REQUIRE(HollowLlama{.layers = 4, .width = 256, .feedForward = 1024}.write(folder.path()));
    Session session;
    const std::vector<int> before(100, 7), longPrompt(4000, 9);
    succeed(session, OpenModelCommand{.path = folder.path().string(), .given = {.text = {.tokens = before}}});
    std::vector<double> times;
    for (int round = 0; round < 5; ++round) {
        session.post(SetPromptCommand{{.tokens = longPrompt}});
        REQUIRE(waitFor(session,
                        [](const Snapshot& snapshot) { return snapshot.status.activity == Activity::Prefilling; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(20 * round)); // at any moment
        times.push_back(millisecondsToStop(session));
        CHECK_FALSE(session.latest()->failure);
        const size_t count = session.latest()->sequence->tokens.size();
        if (count == longPrompt.size()) // a machine so fast that the prompt was through
            succeed(session, SetPromptCommand{{.tokens = before}});
        else
            CHECK(count == before.size());
    }
    const auto snapshot = succeed(session, GenerateCommand{.maxTokens = 1});
    CHECK(snapshot->sequence->tokens.size() == before.size() + 1);
    CHECK(snapshot->readoutRows->keys == static_cast<int>(before.size()) + 1);
    return median(times);
}

double stopsGeneration() {
    OpenSession session("abcdefgabc");
    std::vector<double> times;
    while (session.latest()->branches->nodes.size() < 200) { // past the context of 128 too, where the rest is run again
        session.post(GenerateCommand{.maxTokens = 1'000'000});
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * (times.size() % 8))); // at any moment
        times.push_back(millisecondsToStop(session));
        const auto snapshot = session.latest();
        const auto count = static_cast<int>(snapshot->sequence->tokens.size());
        CHECK(snapshot->readoutRows->keys == count);
        CHECK(snapshot->grid->at(0, 0).queryEnd == count);
    }
    const auto branches = session.latest()->branches;
    std::string all; // along the one branch there is
    for (size_t node = 1; node < branches->nodes.size(); ++node) all += branches->nodes[node].text;
    for (size_t at = 10; at < all.size(); ++at) REQUIRE(all[at] == all[at - 7]); // as without any Stop
    return median(times);
}

} // namespace

TEST_CASE("stop: loading ends and the open model stays", "[session][gpu]") { stopsLoading(); }

TEST_CASE("stop: a long prompt ends; the text before it is in force and can be continued", "[session][gpu]") {
    stopsPrompt();
}

TEST_CASE("stop: a long prompt is shown before it is read, and kept when it is not", "[session][gpu]") {
    const std::string prompt(10'000, 'a'), tooLong(70'000, 'b');
    std::shared_ptr<const Snapshot> shown; // before the session, whose thread sets it
    OpenSession session("abcabc");
    session.setListener([&] { // before its tokens are known
        if (shown || !session.latest()->readsLongPrompt()) return;
        shown = session.latest();
        session.post(StopCommand{});
    });
    const auto opening = [](const std::string& given) {
        return OpenModelCommand{.path = kInduction, .given = {.text = {.text = given}}};
    };
    const auto keeps = [&](const std::string& given) {
        const auto now = session.latest();
        CHECK((now->unread && now->unread->given.text == given));
        CHECK_FALSE(now->readsUnread);
        CHECK(now->status.activity == Activity::Idle);
    };
    session.post(opening(prompt));
    REQUIRE(session.waitIdle());
    REQUIRE(shown);
    CHECK(shown->unread->given.text == prompt);
    CHECK(shown->model);
    CHECK_FALSE(session.latest()->failure);
    CHECK(session.latest()->sequence->tokens.empty());
    keeps(prompt);
    auto read = succeed(session, *session.latest()->unread);
    CHECK_FALSE(read->unread);
    CHECK(read->sequence->given.text == prompt);

    session.post(opening("abcabc")); // and a tree of branches
    REQUIRE(session.waitIdle());
    shown.reset();
    const RestoreBranchesCommand tree{
        .nodes = {{-1, 1}, {0, 2}, {0, 3}}, .current = 2, .promptLength = 1, .given = {.text = prompt}};
    session.post(tree);
    REQUIRE(session.waitIdle());
    keeps(prompt);
    CHECK(session.latest()->unread->nodes == tree.nodes);
    CHECK(session.latest()->sequence->given.text == "abcabc"); // this one is in force
    succeed(session, GenerateCommand{.maxTokens = 1});
    keeps(prompt);
    succeed(session, ResetCommand{});
    CHECK_FALSE(session.latest()->unread);

    session.post(opening(tooLong));
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->failure);
    keeps(tooLong);
    session.post(OpenModelCommand{.path = kInduction, .keepsPrompt = true}); // another model gets it
    REQUIRE(session.waitIdle());
    keeps(tooLong);
}

TEST_CASE("stop: generation ends wherever it is met, and shows every token it wrote", "[session][gpu]") {
    stopsGeneration();
}

TEST_CASE("measure: how long a Stop takes", "[.measure]") {
    WARN("median ms until it has stopped: loading " << stopsLoading() << ", a prompt " << stopsPrompt()
                                                    << ", generation " << stopsGeneration() << "; promised: 50");
}

TEST_CASE("stop: what was posted before it ends, what is posted after it runs", "[session][gpu]") {
    OpenSession session("abcabc");
    for (int round = 0; round < 20; ++round) {
        session.post(OpenModelCommand{.path = kInduction, .given = {.text = {.text = "zzz"}}});
        session.post(GenerateCommand{.maxTokens = 1'000'000});
        session.post(StopCommand{});
        session.post(SetPromptCommand{{.text = "xyxyx"}});
        after(session, GenerateCommand{.maxTokens = 2});
        CHECK_FALSE(session.latest()->failure);
        CHECK(text(session) == "xyxyxyx");
    }
}

TEST_CASE("stop: the prompt that stays keeps its changes and its original run", "[session][gpu]") {
    const TemporaryFolder folder;
    Session session({.validation = true});
    const std::string before = "Once upon a time there was a fox.", other = "The river was deep and very cold.";
    succeed(session, OpenModelCommand{.path = "builtin:stories", .given = {.text = {.text = before}}});
    const auto first = succeed(
        session, changesOf({.valueChanges = {{.kind = ValueChange::Kind::Mean, .hook = "blocks.1.hook_resid_pre"}}}));
    REQUIRE(first->original);
    for (int round = 0; round < 5; ++round) {
        // The Stop comes while the command before the prompt works, or on a fast machine later.
        session.post(CaptureCommand{.hooks = "*", .path = (folder.path() / "hooks.npz").string()});
        session.post(SetPromptCommand{{.text = other}});
        const auto stopped = after(session, StopCommand{});
        if (stopped->sequence->given.text != before) {
            succeed(session, SetPromptCommand{{.text = before}});
            continue;
        }
        REQUIRE(stopped->original);
        CHECK(stopped->original->recentTokens == first->original->recentTokens);
        CHECK(stopped->original->logits == first->original->logits);
        const auto again = succeed(session, SetProfileCommand{.site = 0}); // runs the prompt that stayed
        CHECK(again->next->logits == first->next->logits);
        CHECK(again->original->logits == first->original->logits);
    }
}

TEST_CASE("stop: the end of a session cancels what runs", "[session][gpu]") {
    const TemporaryFolder folder;
    REQUIRE(HollowLlama{.layers = 4, .width = 256, .feedForward = 1024}.write(folder.path()));
    {
        Session session;
        session.post(
            OpenModelCommand{.path = folder.path().string(), .given = {.text = {.tokens = std::vector<int>(4000, 9)}}});
        REQUIRE(waitFor(session,
                        [](const Snapshot& snapshot) { return snapshot.status.activity == Activity::Prefilling; }));
        session.post(GenerateCommand{.maxTokens = 1'000'000});
    } // without the cancel it would write for hours, until the limit of the test program ends it
    SUCCEED();
}
