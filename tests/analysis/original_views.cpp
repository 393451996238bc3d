#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/sweeps.h"
#include "tests/session/session_test.h"

using namespace attn;
using namespace attn::test;

// What views show of the run without gates and other changes, beside the changed one.

namespace {

void checkSame(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        CAPTURE(i, a[i], b[i]);
        CHECK((std::abs(a[i] - b[i]) <= 1e-6f || (std::isnan(a[i]) && std::isnan(b[i]))));
    }
}

bool isNear(const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) < 1e-6f; });
}

/// A pattern that looks at the first token from everywhere.
Changes changedPattern(int layer, int head) {
    PatternChange pattern{.site = layer, .head = head};
    for (int query = 0; query < 4; ++query) pattern.rows[query] = {1.0f};
    return {{}, {pattern}};
}

} // namespace

TEST_CASE("original views: what was shown before the changes", "[analysis][gpu]") {
    OpenSession session(kRepeatedWords);
    const PatternRequest view = GENERATE(
        PatternRequest{.site = 1, .head = 0}, PatternRequest{.site = 1, .aggregate = HeadAggregate::Mean},
        PatternRequest{.site = 1, .thumbnailSize = 8, .detailSize = 8, .hidesFirst = true}, // through the lens
        PatternRequest{.site = 1, .detailSize = 6, .queryBegin = 4, .queryEnd = 16, .keyBegin = 2, .keyEnd = 16});
    succeed(session, view);
    succeed(session, SetProfileCommand{.site = 1, .head = 0});
    const auto plain = succeed(session, CellRequest{.site = 1, .head = 0, .query = 18, .key = 4});
    REQUIRE(plain->grid);
    REQUIRE(plain->detail);
    REQUIRE(plain->profile);

    CHECK(succeed(session, gateOf(0, 0, 0))->originalViews == nullptr);
    auto snapshot = succeed(session, ShowRunCommand{ShownRun::Difference});
    const auto checkPlain = [&] {
        REQUIRE(snapshot->originalViews);
        const OriginalViews& views = *snapshot->originalViews;
        REQUIRE(views.grid);
        REQUIRE(views.grid->tiles.size() == plain->grid->tiles.size());
        for (size_t i = 0; i < plain->grid->tiles.size(); ++i)
            checkSame(views.grid->tiles[i].values, plain->grid->tiles[i].values);
        REQUIRE(views.detail);
        CHECK(views.detail->exactRows == 1);
        CHECK(views.detail->leavesOutFirst == plain->detail->leavesOutFirst);
        checkSame(views.detail->values, plain->detail->values);
        REQUIRE(views.readoutRows);
        checkSame(views.readoutRows->values, plain->readoutRows->values);
        REQUIRE(views.profile);
        checkSame(views.profile->received, plain->profile->received);
        checkSame(views.profile->distances, plain->profile->distances);
        REQUIRE(views.explanation);
        CHECK(views.explanation->query == 18);
        CHECK(views.explanation->probability == Approx(plain->explanation->probability).margin(1e-6));
    };
    succeed(session, CellRequest{.site = 1, .head = 0, .query = 18, .key = 4});
    snapshot = idle(session);
    checkPlain();
    // The changed run is not what it was, nor are its pictures.
    CHECK_FALSE(isNear(snapshot->detail->values, plain->detail->values));
    CHECK_FALSE(isNear(snapshot->readoutRows->values, plain->readoutRows->values));
    CHECK_FALSE(isNear(snapshot->profile->received, plain->profile->received));
    const std::vector<float> closed = snapshot->detail->values;

    // Another change of the model leaves them as they are: a slider does not wait for them.
    const auto kept = snapshot->originalViews;
    snapshot = succeed(session, gateOf(0, 0, 0.5f));
    CHECK(snapshot->originalViews == kept);
    succeed(session, gateOf(0, 0, 0));
    REQUIRE(session.waitIdle());
    checkSame(session.latest()->detail->values, closed);

    // Patterns by hand: only the changed run has them.
    Changes both = changedPattern(1, 0);
    both.setGate(0, 0, 0);
    succeed(session, changesOf(both));
    snapshot = idle(session);
    checkPlain();
    CHECK(snapshot->profile->hasChangedPattern);
    CHECK_FALSE(snapshot->originalViews->profile->hasChangedPattern);

    snapshot = succeed(session, ShowRunCommand{});
    CHECK(snapshot->originalViews == nullptr);
    CHECK(snapshot->original != nullptr);
}

TEST_CASE("original views follow the head, the text and the changes", "[analysis][gpu]") {
    OpenSession session(kRepeatedWords);
    auto snapshot = succeed(session, ShowRunCommand{ShownRun::Difference});
    CHECK(snapshot->originalViews == nullptr); // nothing is changed
    snapshot = succeed(session, gateOf(0, 0, 0));
    REQUIRE(snapshot->originalViews);

    snapshot = succeed(session, PatternRequest{.site = 1, .head = 1});
    REQUIRE(snapshot->originalViews);
    CHECK(snapshot->originalViews->detail->head == 1);
    CHECK(snapshot->originalViews->detail->site == 1);
    CHECK(snapshot->detail->head == 1);

    session.post(GenerateCommand{.maxTokens = 100'000, .tokensPerSecond = 60});
    REQUIRE(waitFor(session, [](const Snapshot& each) { return each.sequence->tokens.size() > 22; }));
    CHECK(session.latest()->originalViews == nullptr); // as long as it is written
    snapshot = after(session, StopCommand{});
    const auto count = static_cast<int>(snapshot->sequence->tokens.size());
    REQUIRE(snapshot->originalViews);
    CHECK(snapshot->originalViews->readoutRows->keys == count);
    CHECK(snapshot->originalViews->detail->queryEnd == count);
    CHECK(snapshot->detail->queryEnd == count);

    snapshot = succeed(session, SetPromptCommand{{.text = "abcabcab"}});
    REQUIRE(snapshot->originalViews);
    CHECK(snapshot->originalViews->readoutRows->keys == 8);
    snapshot = succeed(session, SetChangesCommand{});
    CHECK_FALSE(snapshot->isChanged);
    CHECK(snapshot->originalViews == nullptr);
}

TEST_CASE("session: the original run is shown without losing the changes", "[analysis][gpu]") {
    Session session({.validation = true}), fresh({.validation = true});
    const auto plain =
        succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    succeed(fresh, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    Changes changes = changedPattern(0, 1);
    changes.setGate(1, 0, 0.25f);
    changes.valueChanges.push_back({.hook = "blocks.0.attn.hook_z", .head = 0});
    const auto changed = succeed(session, changesOf(changes));
    CHECK(changed->next->logits != plain->next->logits);

    auto snapshot = succeed(session, ShowRunCommand{ShownRun::Original});
    CHECK_FALSE(snapshot->isChanged);
    CHECK(snapshot->original == nullptr);
    CHECK(*snapshot->changes == changes);
    CHECK(snapshot->next->logits == plain->next->logits); // bit by bit
    checkSame(snapshot->readoutRows->values, plain->readoutRows->values);
    // Analyses read the run that is shown, also one that closes gates itself.
    for (const std::shared_ptr<const Analysis>& each : std::initializer_list<std::shared_ptr<const Analysis>>{
             std::make_shared<TokenScoresAnalysis>(), std::make_shared<AblationSweepAnalysis>()}) {
        succeed(session, RunAnalysisCommand{each});
        succeed(fresh, RunAnalysisCommand{each});
    }
    const auto effectsOf = [](const Session& each) {
        return static_cast<const AblationSweep&>(*each.latest()->analyses.at(AblationSweepAnalysis{}.key()));
    };
    checkSame(effectsOf(session).headEffects, effectsOf(fresh).headEffects);
    CHECK(succeed(session, GenerateCommand{.maxTokens = 3})->sequence->text ==
          succeed(fresh, GenerateCommand{.maxTokens = 3})->sequence->text);

    // Changes that are made meanwhile wait with the others.
    snapshot = succeed(session, changesOf(changedPattern(0, 0)));
    CHECK(snapshot->next->logits == fresh.latest()->next->logits);
    succeed(session, changesOf(changes));
    succeed(session, ResetCommand{});
    snapshot = succeed(session, ShowRunCommand{});
    CHECK(snapshot->isChanged);
    CHECK(snapshot->next->logits == changed->next->logits);
}

TEST_CASE("original views: analyses of both runs", "[analysis][gpu]") {
    Session session({.validation = true}), fresh({.validation = true});
    succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    succeed(fresh, OpenModelCommand{.path = kInduction, .given = {.text = {.text = kRepeatedWords}}});
    succeed(session, ShowRunCommand{ShownRun::Difference});
    const auto withGate = [](float gate) {
        Changes changes = changedPattern(0, 1);
        changes.setGate(1, 0, gate);
        return changesOf(changes);
    };
    succeed(session, withGate(0.25f));

    const auto scores = std::make_shared<TokenScoresAnalysis>();
    auto plain = succeed(fresh, RunAnalysisCommand{scores}), both = succeed(session, RunAnalysisCommand{scores});
    const auto lossOf = [&](const AnalysisResult& result) { return static_cast<const TokenScores&>(result).loss; };
    REQUIRE(both->originalAnalyses.contains(scores->key()));
    checkSame(lossOf(*both->originalAnalyses.at(scores->key())), lossOf(*plain->analyses.at(scores->key())));
    CHECK_FALSE(isNear(lossOf(*both->analyses.at(scores->key())), lossOf(*plain->analyses.at(scores->key()))));

    // One that closes gates itself.
    const auto sweep = std::make_shared<AblationSweepAnalysis>();
    plain = succeed(fresh, RunAnalysisCommand{sweep});
    both = succeed(session, RunAnalysisCommand{sweep});
    const auto effectsOf = [&](const AnalysisResult& result) {
        return static_cast<const AblationSweep&>(result).headEffects;
    };
    REQUIRE(both->originalAnalyses.contains(sweep->key()));
    checkSame(effectsOf(*both->originalAnalyses.at(sweep->key())), effectsOf(*plain->analyses.at(sweep->key())));

    // What one run leaves open the other answers as it was found: the changed one finds all tokens as likely.
    succeed(session, withGate(0));
    const auto attribution = std::make_shared<LogitAttributionAnalysis>();
    plain = succeed(fresh, RunAnalysisCommand{attribution});
    both = succeed(session, RunAnalysisCommand{attribution});
    const auto partsOf = [&](const AnalysisResult& result) { return static_cast<const LogitAttribution&>(result); };
    const LogitAttribution after = partsOf(*both->analyses.at(attribution->key())),
                           before = partsOf(*both->originalAnalyses.at(attribution->key()));
    CHECK(after.target.token != partsOf(*plain->analyses.at(attribution->key())).target.token);
    CHECK(before.target.token == after.target.token);
    CHECK(before.logit == Approx(plain->next->logits[static_cast<size_t>(after.target.token)]).margin(1e-5));
    succeed(session, withGate(0.25f));
    both = session.latest();

    // The changed model is in force again, and what is not wanted is not kept.
    CHECK(both->changes->gate(1, 0) == 0.25f);
    CHECK(both->changes->patterns.size() == 1);
    CHECK(succeed(session, ShowRunCommand{})->originalAnalyses.empty());
    CHECK(succeed(session, RunAnalysisCommand{scores})->originalAnalyses.empty());
}
