#include "engine/inference/hook_changes.h"
#include "engine/inference/language_model.h"
#include "engine/inference/long_pattern_view.h"
#include "tests/inference/longer_model.h"
#include "tests/session/session_test.h"

// Whatever looks at a head whose pattern is set by hand shows what the model runs on.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kTokens = 300, kLayer = 1, kHead = 2;

Changes madeChanges(PatternChange::Kind kind) {
    PatternChange edit{.site = kLayer, .head = kHead, .kind = kind, .key = 37};
    if (kind == PatternChange::Kind::Rows)
        for (int query = 5; query < kTokens; query += query % 3 == 0 ? 1 : 11) {
            std::vector<float> row(static_cast<size_t>(query + 1), 0.0f);
            row[static_cast<size_t>(query / 2)] = 0.75f;
            row[static_cast<size_t>(query)] += 0.25f;
            edit.rows.emplace(query, row);
        }
    return {.valueChanges = {}, .patterns = {edit}};
}

struct Bench {
    explicit Bench(const fs::path& folder) : model(openModelSource(folder.string()), {.device = {.validation = true}}) {
        for (int i = 0; i < kTokens; ++i) tokens.push_back((i * i * 7 + i * 3) % model.info().vocabulary);
        model.feed(tokens);
    }
    void edit(const Changes& edits) {
        model.applyChanges(edits, tokens);
        model.truncate(0);
        model.feed(tokens);
    }
    /// The pattern that the model runs on, [H,T,T].
    std::vector<float> pattern() {
        const auto captured = model.capture(tokens, "blocks.1.attn.hook_pattern");
        return captured.front().values;
    }

    LanguageModel model;
    std::vector<int> tokens;
};

float cellOf(const std::vector<float>& pattern, int head, int64_t t, int64_t s) {
    return pattern[static_cast<size_t>((head * int64_t{kTokens} + t) * kTokens + s)];
}

double pooled(const std::vector<float>& pattern, int head, int row, int column, int level, Pooling pooling) {
    double largest = 0, sum = 0, count = 0;
    for (int t = row << level; t < std::min((row + 1) << level, kTokens); ++t)
        for (int s = column << level; s < std::min((column + 1) << level, kTokens); ++s) {
            const auto p = static_cast<double>(cellOf(pattern, head, t, s));
            largest = std::max(largest, p);
            sum += p;
            ++count;
        }
    return pooling == Pooling::Maximum ? largest : sum / count;
}

/// The long-pattern view, tiles, thumbnails and tiles of a layer of a head against plain loops.
void checkPictures(Bench& bench, const std::vector<float>& pattern, int head) {
    LongPatternSource source = bench.model.longPatternSource(kLayer);
    source.statePrefix = "test.long_pattern"; // the model's own views have another
    LongPatternView longPattern(bench.model.device(), bench.model.store(), std::move(source));
    longPattern.setTokens(kTokens);
    for (const Pooling pooling : {Pooling::Maximum, Pooling::Mean})
        for (const int level : {0, 1, 2, 3, 4}) {
            CAPTURE(pooling == Pooling::Mean, level);
            const int side = (kTokens + (1 << level) - 1) >> level;
            longPattern.show({.head = head, .level = level, .rows = side, .columns = side, .pooling = pooling});
            while (longPattern.work(1000)) {
            }
            double worst = 0;
            for (int row = 0; row < side; ++row)
                for (int column = 0; column < side; ++column)
                    worst = std::max(
                        worst, std::abs(pooled(pattern, head, row, column, level, pooling) -
                                        static_cast<double>(
                                            longPattern.picture().pixels[static_cast<size_t>(row * side + column)])));
            CHECK(worst < 1e-6);
        }
    CHECK(longPattern.cell(head, 200, 37) == Approx(cellOf(pattern, head, 200, 37)).margin(1e-6));

    const auto checkTile = [&](const PatternTile& tile) {
        int level = 0;
        while (tile.rows < (kTokens + (1 << level) - 1) >> level) ++level;
        CAPTURE(level);
        double worst = 0;
        for (int row = 0; row < tile.rows; ++row)
            for (int column = 0; column < tile.rows; ++column)
                worst = std::max(worst, std::abs(pooled(pattern, head, row, column, level, Pooling::Maximum) -
                                                 static_cast<double>(tile.at(row, column))));
        CHECK(worst < 1e-6);
    };
    checkTile(bench.model.patterns().tile({.site = kLayer, .head = head}));
    checkTile(bench.model.patterns().tile({.site = kLayer, .head = head, .detailSize = 150}));
    checkTile(bench.model.patterns().grid(64).at(kLayer, head));
    // Views of the model itself, of another layer and head, do not change the rows of this view.
    bench.model.patterns().tile({.site = 0, .head = 0, .detailSize = 64, .hidesFirst = true});
    for (const int query : {200, 202})
        CHECK(longPattern.cell(head, query, 37) == Approx(cellOf(pattern, head, query, 37)).margin(1e-6));
}

void checkProfile(Bench& bench, const std::vector<float>& pattern, int head) {
    bench.model.patterns().beginProfile(kLayer, head);
    while (bench.model.patterns().refine(1)) {
    }
    const HeadProfile profile = *bench.model.patterns().refinedProfile();
    REQUIRE(profile.exactRows == 1);
    REQUIRE(profile.keysOfPlace == 1);
    std::vector<double> received(kTokens, 0), distances(32, 0);
    std::vector<float> weights;
    for (int t = 0; t < kTokens; ++t)
        for (int s = 0; s < kTokens; ++s) {
            const float weight = cellOf(pattern, head, t, s);
            received[static_cast<size_t>(s)] += static_cast<double>(weight);
            distances[std::bit_width(static_cast<uint64_t>(std::abs(t - s)))] += static_cast<double>(weight) / kTokens;
            if (t > 0 && weight > 0) weights.push_back(weight);
        }
    for (size_t key = 0; key < received.size(); ++key) // 1e-6 of the largest sum, of up to 300 weights
        REQUIRE(static_cast<double>(profile.received[key]) == Approx(received[key]).epsilon(1e-6).margin(1e-5));
    for (size_t bin = 0; bin < distances.size(); ++bin)
        CHECK(static_cast<double>(profile.distances[bin]) == Approx(distances[bin]).margin(1e-6));
    std::ranges::sort(weights, std::greater<>());
    REQUIRE(profile.largest.size() == std::min<size_t>(12, weights.size()));
    for (size_t i = 0; i < profile.largest.size(); ++i) {
        const HeadProfile::Cell& cell = profile.largest[i];
        CHECK(cell.weight == Approx(weights[i]).margin(1e-6));
        CHECK(cell.weight == Approx(cellOf(pattern, head, cell.query, cell.key)).margin(1e-6));
        for (size_t other = 0; other < i; ++other)
            CHECK_FALSE((profile.largest[other].query == cell.query && profile.largest[other].key == cell.key));
    }
}

} // namespace

TEST_CASE("changed patterns: the long-pattern view, tiles, thumbnails and profiles show what the model runs on",
          "[session][gpu]") {
    TemporaryFolder folders;
    for (const char* name : {"llama_gqa", "mistral"}) { // grouped heads; a sliding window
        CAPTURE(std::string(name));
        Bench bench(longerModel(folders.path(), name, 512));
        const std::vector<float> own = bench.pattern();
        bench.model.truncate(0);
        bench.model.feed(bench.tokens);
        checkPictures(bench, own, kHead);
        for (const auto kind : {PatternChange::Kind::Rows, PatternChange::Kind::Pin, PatternChange::Kind::Uniform}) {
            CAPTURE(static_cast<int>(kind));
            bench.edit(madeChanges(kind));
            const std::vector<float> changed = bench.pattern();
            CHECK(changed != own);
            bench.edit(madeChanges(kind)); // as feed() leaves the caches
            checkPictures(bench, changed, kHead);
            checkProfile(bench, changed, kHead);
            checkProfile(bench, changed, 0); // others in the layer are their own
            checkPictures(bench, changed, 0);
        }
        bench.edit({});
        checkPictures(bench, own, kHead);
        checkProfile(bench, own, kHead);
    }
}

TEST_CASE("changed patterns: a session's profile follows a change and its removal", "[session][gpu]") {
    Session session({.validation = true});
    session.post(OpenModelCommand{.path = "builtin:induction", .given = {.text = {.text = "qwertyqwerty"}}});
    session.post(SetProfileCommand{.site = 1, .head = 0});
    REQUIRE(session.waitIdle());
    const auto own = session.latest()->profile;
    REQUIRE(own);
    session.post(SetChangesCommand{
        std::make_shared<const Changes>(Changes{{}, {{.site = 1, .head = 0, .kind = PatternChange::Kind::Uniform}}})});
    REQUIRE(session.waitIdle());
    const auto uniform = session.latest()->profile;
    REQUIRE(uniform);
    const auto count = session.latest()->sequence->tokens.size();
    REQUIRE(uniform->received.size() == count);
    for (size_t key = 0; key < count; ++key) {
        double received = 0;
        for (size_t query = key; query < count; ++query) received += 1 / static_cast<double>(query + 1);
        CHECK(static_cast<double>(uniform->received[key]) == Approx(received).margin(1e-6));
    }
    CHECK(uniform->largest.front().weight == 0.5f); // the first query that sees more than itself
    session.post(SetChangesCommand{});
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->profile->received == own->received);
    CHECK(session.latest()->profile->largest == own->largest);
}

TEST_CASE("changed patterns: what is looked at without the changes is the head's own", "[session][gpu]") {
    TemporaryFolder folders;
    Bench bench(longerModel(folders.path(), "llama_gqa", 512));
    const std::vector<float> own = bench.pattern();
    bench.edit(madeChanges(PatternChange::Kind::Uniform));
    bench.model.bypassChanges(true);
    bench.model.truncate(0);
    bench.model.feed(bench.tokens);
    checkPictures(bench, own, kHead);
    checkProfile(bench, own, kHead);
}

TEST_CASE("pictures without the first token: pooled over the other cells exactly", "[session][gpu]") {
    TemporaryFolder folders;
    for (const bool isChanged : {false, true}) {
        Bench bench(longerModel(folders / (isChanged ? "edited" : "own"), "llama_gqa", 512));
        if (isChanged) bench.edit(madeChanges(PatternChange::Kind::Rows));
        std::vector<float> left = bench.pattern(); // [H,T,T]
        for (size_t row = 0; row < left.size() / kTokens; ++row) {
            float* weights = left.data() + row * kTokens;
            double sum = 0;
            for (int s = 1; s < kTokens; ++s) sum += static_cast<double>(weights[s]);
            weights[0] = 0;
            for (int s = 1; s < kTokens; ++s)
                weights[s] = sum > 1e-6 ? static_cast<float>(static_cast<double>(weights[s]) / sum) : 0;
        }
        bench.model.truncate(0);
        bench.model.feed(bench.tokens);
        const auto check = [&](const PatternTile& tile, int level, int firstRow, int firstColumn) {
            CAPTURE(isChanged, level);
            CHECK(tile.leavesOutFirst);
            double worst = 0;
            for (int row = 0; row < tile.rows; ++row)
                for (int column = 0; column < tile.columns; ++column)
                    worst = std::max(worst, std::abs(pooled(left, kHead, firstRow + row, firstColumn + column, level,
                                                            Pooling::Maximum) -
                                                     static_cast<double>(tile.at(row, column))));
            CHECK(worst < 2e-6); // of rows that are divided by what is left of them
        };
        for (const int level : {1, 2, 3, 4})
            check(bench.model.patterns().tile(
                      {.site = kLayer, .head = kHead, .detailSize = (300 >> level) + 1, .hidesFirst = true}),
                  level, 0, 0);
        check(bench.model.patterns().tile({.site = kLayer,
                                           .head = kHead,
                                           .queryBegin = 100,
                                           .queryEnd = 180,
                                           .keyBegin = 20,
                                           .keyEnd = 90,
                                           .hidesFirst = true}),
              0, 100, 20);
        check(bench.model.patterns().grid(64, true).at(kLayer, kHead), 3, 0, 0);
        CHECK_FALSE(bench.model.patterns().grid(64, false).at(kLayer, kHead).leavesOutFirst);
        // Whole and cell by cell: whoever shows it leaves the first token out.
        CHECK_FALSE(bench.model.patterns().tile({.site = kLayer, .head = kHead, .hidesFirst = true}).leavesOutFirst);
    }
}
