#include "engine/inference/language_model.h"
#include "tests/inference/longer_model.h"
#include "tests/session/session_test.h"

using namespace attn;
using namespace attn::test;

namespace {

std::vector<int> someTokens(size_t count, int vocabulary) {
    std::vector<int> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<int>(i * i * 7 + i * 3) % vocabulary);
    return tokens;
}

/// The largest of the cells of each pixel, of a pattern that was formed whole.
double worstPixel(const PatternTile& tile, const CapturedHook& pattern) {
    const int64_t T = pattern.shape[1], cells = (tile.queryEnd - tile.queryBegin) / tile.rows;
    double worst = 0;
    for (int row = 0; row < tile.rows; ++row)
        for (int column = 0; column < tile.columns; ++column) {
            float largest = 0;
            for (int64_t t = tile.queryBegin + row * cells; t < std::min(tile.queryBegin + (row + 1) * cells, T); ++t)
                for (int64_t s = tile.keyBegin + column * cells; s < std::min(tile.keyBegin + (column + 1) * cells, T);
                     ++s)
                    largest = std::max(largest, pattern.values[static_cast<size_t>((tile.head * T + t) * T + s)]);
            worst = std::max(worst, std::abs(static_cast<double>(largest - tile.at(row, column))));
        }
    return worst;
}

} // namespace

TEST_CASE("long patterns: a head of many tokens is pooled exactly, whole and in part", "[session][gpu]") {
    TemporaryFolder folders;
    for (const char* name : {"llama_gqa", "mistral"}) { // grouped heads; a sliding window
        CAPTURE(std::string(name));
        LanguageModel model(openModelSource(longerModel(folders.path(), name, 2048).string()),
                            {.device = {.validation = true}});
        const std::vector<int> tokens = someTokens(1200, model.info().vocabulary);
        const auto check = [&](size_t count, const PatternRequest& view) {
            const PatternTile tile = model.patterns().tile(view);
            CHECK(tile.exactRows == 1);
            const std::vector<int> held = model.tokens();
            REQUIRE(held.size() == count);
            const auto captured = model.capture(held, "blocks." + std::to_string(view.site) + ".attn.hook_pattern");
            CHECK(worstPixel(tile, captured.front()) < 1e-5);
            return tile;
        };
        REQUIRE(model.feed(std::span(tokens).first(1100)));
        const PatternTile whole = check(1100, {.site = 1, .head = 3});
        CHECK(whole.rows == 550);
        REQUIRE(model.feed(std::span(tokens).subspan(1100))); // what was known of earlier rows is kept
        check(1200, {.site = 1, .head = 3});
        check(1200, {.site = 0, .head = 0, .detailSize = 100});
        const PatternGrid grid = model.patterns().grid(64);
        CHECK(grid.at(1, 3).values == model.patterns().tile({.site = 1, .head = 3, .detailSize = 64}).values);
        const PatternTile part =
            check(1200, {.site = 0, .head = 1, .queryBegin = 1001, .queryEnd = 1180, .keyBegin = 3, .keyEnd = 90});
        CHECK(part.isExact());
        CHECK(part.queryBegin == 1001);
        // Another beginning: nothing of the former tokens may stay.
        model.truncate(0);
        std::vector<int> others(tokens.rbegin(), tokens.rend());
        REQUIRE(model.feed(others));
        check(1200, {.site = 0, .head = 1, .queryBegin = 1001, .queryEnd = 1180, .keyBegin = 3, .keyEnd = 90});
    }
}

TEST_CASE("long patterns: a session shows a coarse picture first and continues until it is exact", "[session][gpu]") {
    TemporaryFolder folders;
    float first = 1, firstSmall = 1; // before the session, whose thread sets them
    Session session({.validation = true});
    session.post(OpenModelCommand{.path = longerModel(folders.path(), "llama_gqa", 4096).string()});
    REQUIRE(session.waitIdle());
    const int vocabulary = session.latest()->model->vocabulary;
    session.post(PatternRequest{.site = 1, .head = 2, .thumbnailSize = 64});
    session.setListener([&] {
        const auto snapshot = session.latest();
        if (snapshot->detail && snapshot->sequence && snapshot->sequence->tokens.size() > 1024)
            first = std::min(first, snapshot->detail->exactRows);
        if (snapshot->grid && snapshot->sequence && snapshot->sequence->tokens.size() > 1024)
            firstSmall = std::min(firstSmall, snapshot->grid->tiles.back().exactRows);
    });
    session.post(SetPromptCommand{{.tokens = someTokens(4000, vocabulary)}});
    REQUIRE(session.waitIdle());
    session.setListener({});
    CHECK(first < 1);
    CHECK(firstSmall < 1);
    const auto done = session.latest()->detail;
    REQUIRE(done);
    CHECK(done->exactRows == 1);
    CHECK(done->rows == 1000);
    for (int row = 0; row < done->rows; ++row) { // four queries, of which each row sums to 1 over 1,000 pixels of four
        float most = 0;
        for (int column = 0; column < done->columns; ++column) most = std::max(most, done->at(row, column));
        REQUIRE(most >= 1.0f / static_cast<float>((row + 1) * 4));
    }
    const PatternTile& small = session.latest()->grid->at(1, 2); // pooled again from what is pooled
    CHECK(small.exactRows == 1);
    REQUIRE(small.rows == 63);
    for (int row = 0; row < small.rows; ++row)
        for (int column = 0; column < small.columns; ++column) {
            float largest = 0;
            for (int y = row * 16; y < std::min(row * 16 + 16, done->rows); ++y)
                for (int x = column * 16; x < std::min(column * 16 + 16, done->columns); ++x)
                    largest = std::max(largest, done->at(y, x));
            REQUIRE(small.at(row, column) == Approx(largest).margin(1e-6));
        }
}

TEST_CASE("profiles: who is looked at, how far and the largest weights are those of the pattern", "[session][gpu]") {
    TemporaryFolder folders;
    for (const char* name : {"llama_gqa", "mistral"})
        for (const size_t count : {size_t{1}, size_t{40}, size_t{1100}}) {
            CAPTURE(std::string(name), count);
            const auto context = static_cast<int>(2048 + count); // a folder of its own
            LanguageModel model(openModelSource(longerModel(folders.path(), name, context).string()),
                                {.device = {.validation = true}});
            REQUIRE(model.feed(someTokens(count, model.info().vocabulary)));
            CHECK(model.patterns().beginProfile(1, 2).exactRows == 0);
            while (model.patterns().refine(1000)) {
            }
            const auto profile = model.patterns().refinedProfile();
            REQUIRE(profile);
            CHECK(profile->exactRows == 1);
            const std::vector<int> tokens = model.tokens();
            const CapturedHook pattern = model.capture(tokens, "blocks.1.attn.hook_pattern").front();
            const auto T = static_cast<int64_t>(count);
            std::vector<double> received(static_cast<size_t>(T), 0), distances(32, 0);
            std::vector<float> weights;
            for (int64_t t = 0; t < T; ++t)
                for (int64_t s = 0; s < T; ++s) {
                    const float weight = pattern.values[static_cast<size_t>((2 * T + t) * T + s)];
                    received[static_cast<size_t>(s)] += static_cast<double>(weight);
                    distances[std::bit_width(static_cast<uint64_t>(std::abs(t - s)))] +=
                        static_cast<double>(weight) / static_cast<double>(T);
                    if (t > 0 && weight > 0) weights.push_back(weight);
                }
            const auto cells = static_cast<size_t>(profile->keysOfPlace);
            CHECK(cells == (count > 1024 ? 2 : 1));
            REQUIRE(profile->received.size() == (count + cells - 1) / cells);
            for (size_t place = 0; place < profile->received.size(); ++place) {
                double sum = 0;
                const size_t end = std::min(count, (place + 1) * cells);
                for (size_t key = place * cells; key < end; ++key) sum += received[key];
                REQUIRE(static_cast<double>(profile->received[place]) ==
                        Approx(sum / static_cast<double>(end - place * cells)).epsilon(1e-4).margin(1e-5));
            }
            for (size_t bin = 0; bin < distances.size(); ++bin)
                CHECK(static_cast<double>(profile->distances[bin]) == Approx(distances[bin]).margin(1e-5));
            std::ranges::sort(weights, std::greater<>());
            REQUIRE(profile->largest.size() == std::min<size_t>(12, weights.size()));
            for (size_t i = 0; i < profile->largest.size(); ++i) {
                const HeadProfile::Cell& cell = profile->largest[i];
                CHECK(cell.weight == Approx(weights[i]).margin(1e-6));
                CHECK(cell.weight ==
                      Approx(pattern.values[static_cast<size_t>((2 * T + cell.query) * T + cell.key)]).margin(1e-6));
            }
        }
}

TEST_CASE("profiles: the first token is listed where it sees the others", "[session][gpu]") {
    LanguageModel model(openModelSource(std::string(ATTN_TEST_DIR) + "/golden/bert"), {.device = {.validation = true}});
    constexpr int kTokens = 3; // fewer cells than are listed
    REQUIRE(model.feed(someTokens(kTokens, model.info().vocabulary)));
    const HeadProfile profile = model.patterns().beginProfile(0, 0);
    CHECK(profile.largest.size() == kTokens * kTokens);
    CHECK(std::ranges::count(profile.largest, 0, &HeadProfile::Cell::query) == kTokens);
}
