#include "engine/analysis/head_kinds.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/sweeps.h"
#include "tests/session/session_test.h"

using namespace attn;
using namespace attn::test;

namespace {

template <class Result> std::shared_ptr<const Result> resultOf(const Snapshot& snapshot, const Analysis& analysis) {
    return std::static_pointer_cast<const Result>(snapshot.analyses.at(analysis.key()));
}

} // namespace

TEST_CASE("session: edits change the run and leave what it was beside it", "[analysis][gpu]") {
    Session session({.validation = true});
    auto snapshot = succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    const std::vector<float> before = snapshot->next->logits;
    CHECK_FALSE(snapshot->isChanged);
    CHECK(snapshot->original == nullptr);

    snapshot = succeed(session,
                       changesOf({{{.kind = ValueChange::Kind::Zero, .hook = "blocks.1.attn.hook_z", .head = 0}}, {}}));
    CHECK(snapshot->isChanged);
    CHECK(snapshot->changes->valueChanges.size() == 1);
    for (float logit : snapshot->next->logits) CHECK(logit == Approx(0).margin(1e-6)); // nothing else writes
    REQUIRE(snapshot->original);
    for (size_t i = 0; i < before.size(); ++i) CHECK(snapshot->original->logits[i] == Approx(before[i]).margin(1e-5));

    // What is written under the changes is compared again in the end.
    snapshot = succeed(session, GenerateCommand{.maxTokens = 3});
    REQUIRE(snapshot->original);
    CHECK(snapshot->original->recentTokens.size() == snapshot->sequence->tokens.size());

    // Another prompt under the same changes.
    snapshot = succeed(session, SetPromptCommand{{.text = "abcabcab"}});
    CHECK(snapshot->isChanged);
    for (float logit : snapshot->next->logits) CHECK(logit == Approx(0).margin(1e-6));
    CHECK(failureOf(session, changesOf({{{.hook = "nothing"}}, {}})) ==
          "induction: there is no hook \"nothing\"; 'attention-cli models PATH --hooks' lists the hooks");
    CHECK(session.latest()->changes->valueChanges.front().hook == "blocks.1.attn.hook_z"); // what was in force stays

    snapshot = succeed(session, SetChangesCommand{});
    CHECK_FALSE(snapshot->isChanged);
    CHECK(snapshot->changes == nullptr);
    CHECK(snapshot->original == nullptr);
    Session fresh({.validation = true});
    const auto other = succeed(fresh, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "abcabcab"}}});
    CHECK(snapshot->next->logits == other->next->logits); // bit by bit

    snapshot = succeed(session, gateOf(1, 0, 0.5f)); // a gate is an edit too
    CHECK(snapshot->isChanged);
    REQUIRE(snapshot->original);
    CHECK(snapshot->original->logits == other->next->logits);
}

TEST_CASE("session: writing under changes that is stopped keeps all of its text", "[analysis][gpu]") {
    OpenSession session(kRepeatedWords);
    succeed(session, gateOf(0, 1, 0.5f));
    session.post(GenerateCommand{.maxTokens = 100, .tokensPerSecond = 40});
    REQUIRE(waitFor(session, [](const Snapshot& snapshot) { return snapshot.sequence->tokens.size() > 24; }));
    const auto snapshot = after(session, StopCommand{});
    CHECK(snapshot->status.activity == Activity::Idle);
    // The root is no token; what was written is in the text and in the tree, and compared.
    CHECK(snapshot->sequence->tokens.size() + 1 == snapshot->branches->nodes.size());
    REQUIRE(snapshot->original);
    CHECK(snapshot->original->recentTokens.size() == snapshot->sequence->tokens.size());
}

TEST_CASE("session: edits on a path that ends within the prompt", "[analysis][gpu]") {
    Session session({.validation = true});
    auto snapshot = succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    snapshot = succeed(session, GoToBranchCommand{.node = snapshot->sequence->tokens[3].branchNode});
    REQUIRE(snapshot->sequence->tokens.size() == 4);
    snapshot = succeed(session, changesOf({{{.kind = ValueChange::Kind::Mean, .hook = "blocks.0.attn.hook_z"}}, {}}));
    CHECK(snapshot->isChanged);
}

TEST_CASE("session: edits that speak of the prompt follow it", "[analysis][gpu]") {
    OpenSession session(kRepeatedWords);
    const Changes edits{{{.kind = ValueChange::Kind::Mean, .hook = "blocks.0.attn.hook_z", .head = 0},
                         {.kind = ValueChange::Kind::Patch, .hook = "blocks.1.hook_resid_pre", .position = 15}},
                        {}};
    succeed(session, changesOf(edits));
    const auto moved = succeed(session, SetPromptCommand{{.text = "abcabcab"}}); // shorter than the patched token
    Session fresh({.validation = true});
    succeed(fresh, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "abcabcab"}}});
    const auto direct = succeed(fresh, changesOf(edits));
    CHECK(moved->next->logits == direct->next->logits);
    CHECK(moved->changes->valueChanges.size() == 2);
}

TEST_CASE("session: analyses run between commands and leave the run as it was", "[analysis][gpu]") {
    Session session({.validation = true});
    auto before = succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    before = succeed(session, gateOf(0, 1, 0.25f));
    const auto lens = std::make_shared<LogitLensAnalysis>();
    const auto sweep = std::make_shared<AblationSweepAnalysis>();
    const auto kinds = std::make_shared<HeadDetectionAnalysis>();
    for (const std::shared_ptr<const Analysis>& each :
         std::initializer_list<std::shared_ptr<const Analysis>>{lens, sweep, kinds})
        succeed(session, RunAnalysisCommand{each});
    const auto after = session.latest();
    CHECK(after->analyses.size() == 3);
    CHECK(resultOf<LogitLens>(*after, *lens)->stages.front().rows == static_cast<int>(before->sequence->tokens.size()));
    CHECK(resultOf<LogitLens>(*after, *lens)->inputVersion == after->sequenceVersion);
    CHECK(resultOf<AblationSweep>(*after, *sweep)->headEffects[2] < -1); // the induction head
    CHECK(resultOf<HeadDetection>(*after, *kinds)->heads.size() == 4);
    CHECK(*after->changes == *before->changes);
    CHECK(after->sequenceVersion == before->sequenceVersion);
    // The cache continues as if nothing had been asked.
    const auto written = succeed(session, GenerateCommand{.maxTokens = 4});
    Session fresh({.validation = true});
    succeed(fresh, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    succeed(fresh, gateOf(0, 1, 0.25f));
    CHECK(succeed(fresh, GenerateCommand{.maxTokens = 4})->sequence->text == written->sequence->text);
    // Another model forgets what was known of the old one.
    CHECK(succeed(session, OpenModelCommand{.path = "builtin:sort"})->analyses.empty());
}

TEST_CASE("session: stop ends an analysis", "[analysis][gpu]") {
    Session session;
    succeed(session, OpenModelCommand{.path = "builtin:stories"});
    auto scores = std::make_shared<TokenScoresAnalysis>();
    for (int i = 0; i < 3000; ++i) scores->text += "Lily and Tom went to the park. ";
    session.post(RunAnalysisCommand{scores});
    REQUIRE(waitFor(session, [](const Snapshot& snapshot) { return snapshot.status.activity == Activity::Analysing; }));
    session.post(StopCommand{});
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->status.activity == Activity::Idle);
    CHECK(session.latest()->analyses.empty());
    CHECK_FALSE(session.latest()->failure);
}

// Prints what a gate, or the share of an valueChange, takes from the command until all views are as it says.
TEST_CASE("measure: a slider's way to the views", "[.measure]") {
    const std::string path = GENERATE(as<std::string>(), kInduction, "builtin:sort", "builtin:stories");
    Session session;
    succeed(session, OpenModelCommand{.path = path});
    const auto median = [&](const std::function<Command(float)>& command) {
        std::vector<double> times;
        for (int i = 0; i < 21; ++i) {
            const auto start = std::chrono::steady_clock::now();
            session.post(command(static_cast<float>(i) / 21));
            session.waitIdle();
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
        }
        std::ranges::sort(times);
        return std::pair(times[10], times.back());
    };
    const auto gate = median([](float share) { return gateOf(0, 0, share); });
    succeed(session, SetChangesCommand{});
    const auto edit = median([](float share) {
        return changesOf(
            {{{.kind = ValueChange::Kind::Mean, .hook = "blocks.0.attn.hook_z", .head = 0, .amount = share}}, {}});
    });
    succeed(session, SetChangesCommand{});
    succeed(session, ShowRunCommand{ShownRun::Difference});
    const auto compared = median([](float share) { return gateOf(0, 0, share); });
    WARN(path << ", " << session.latest()->sequence->tokens.size() << " tokens: gate " << gate.first << " ms (worst "
              << gate.second << "), with differences " << compared.first << " ms (worst " << compared.second
              << "), mean ablation " << edit.first << " ms (worst " << edit.second << ")");
}
