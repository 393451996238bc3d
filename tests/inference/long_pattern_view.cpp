#include "engine/inference/long_pattern_view.h"

#include "engine/core/random_rows.h"
#include "engine/gpu/transfer.h"
#include "engine/inference/head_profiler.h"
#include "tests/support/device.h"
#include "tests/support/failing_vulkan.h"

#include <array>
#include <bit>
#include <numeric>
#include <optional>

using namespace attn;
using namespace attn::test;

namespace {

/// Random queries and keys, and the pattern that they make in plain loops.
struct PatternInputs {
    int64_t tokens, heads, groups, width;
    AttentionRule rule{};
    std::vector<float> slopes{}, q{}, k{};

    void fill(TensorStore& store) {
        q = gaussianRows(tokens * heads, width, 1, 3);
        k = gaussianRows(tokens * groups, width, 1, 4);
        rule.scale = 1 / std::sqrt(static_cast<double>(width));
        store.reserve({{"q", {tokens, heads, width}}, {"k", {tokens, groups, width}}});
        store.writeDense("q", q);
        store.writeDense("k", k);
    }
    LongPatternSource source() const {
        return {.q = "q",
                .k = "k",
                .rule = rule,
                .slopes = slopes,
                .capacity = tokens,
                .heads = heads,
                .groups = groups,
                .width = width};
    }
    /// Uneven weights, which add up to less than 1, of some rows of head 1.
    ChangedRows changedRowsOf() const {
        return [](int head, int64_t query) {
            std::vector<float> row;
            if (head != 1 || (query % 7 != 3 && (query < 64 || query >= 96))) return row;
            for (int64_t key = 0; key <= query; ++key)
                row.push_back(0.9f * static_cast<float>(key % 5) / static_cast<float>(2 * query + 2));
            row.front() = 0.05f;
            return row;
        };
    }
    std::vector<double> pattern(int64_t head) const { // [T,T]
        std::vector<double> cells(static_cast<size_t>(tokens * tokens), 0);
        for (int64_t t = 0; t < tokens; ++t) {
            double* row = cells.data() + t * tokens;
            double sum = 0;
            for (int64_t s = 0; s < tokens; ++s) {
                if ((rule.causal && s > t) || (rule.window > 0 && t - s >= rule.window)) continue;
                double dot = 0;
                for (int64_t d = 0; d < width; ++d)
                    dot +=
                        static_cast<double>(q[static_cast<size_t>((t * heads + head) * width + d)]) *
                        static_cast<double>(k[static_cast<size_t>((s * groups + head / (heads / groups)) * width + d)]);
                const double slope = slopes.empty() ? 0 : static_cast<double>(slopes[static_cast<size_t>(head)]);
                row[s] = std::exp(dot * rule.scale - slope * std::abs(static_cast<double>(t - s)));
                sum += row[s];
            }
            for (int64_t s = 0; s < tokens; ++s) row[s] /= sum > 0 ? sum : 1;
        }
        return cells;
    }
};

/// Column 0 is 0, and every row is divided by what is left.
std::vector<double> withoutFirst(std::vector<double> pattern, int64_t tokens) {
    for (int64_t t = 0; t < tokens; ++t) {
        double* row = pattern.data() + t * tokens;
        row[0] = 0;
        double left = 0;
        for (int64_t s = 1; s < tokens; ++s) left += row[s];
        for (int64_t s = 1; s < tokens; ++s) row[s] /= left > 0 ? left : 1;
    }
    return pattern;
}

double worstPixel(const LongPatternPicture& picture, const std::vector<double>& pattern, int64_t tokens) {
    const LongPatternRegion& view = picture.view;
    const int64_t cells = int64_t{1} << view.level;
    double worst = 0;
    for (int64_t y = 0; y < view.rows; ++y)
        for (int64_t x = 0; x < view.columns; ++x) {
            double largest = 0, sum = 0;
            int64_t count = 0;
            for (int64_t t = (view.row + y) * cells; t < std::min((view.row + y + 1) * cells, tokens); ++t)
                for (int64_t s = (view.column + x) * cells; s < std::min((view.column + x + 1) * cells, tokens); ++s) {
                    if (view.hidesFirst && s == 0) continue;
                    const double p = pattern[static_cast<size_t>(t * tokens + s)];
                    largest = std::max(largest, p);
                    sum += p;
                    ++count;
                }
            const double expected = view.pooling == Pooling::Maximum ? largest
                                    : count > 0                      ? sum / static_cast<double>(count)
                                                                     : 0;
            worst = std::max(
                worst,
                std::abs(expected - static_cast<double>(picture.pixels[static_cast<size_t>(y * view.columns + x)])));
        }
    return worst;
}

} // namespace

TEST_CASE("long-pattern view: pooled exactly at every level, for every rule, as the pattern that was formed",
          "[session][gpu]") {
    TestDevice device;
    const std::vector<float> slopes{0.25f, 0.0625f, 0.015625f, 0.5f};
    for (const auto& [rule, hasSlopes] :
         {std::pair(AttentionRule{.causal = true}, false), std::pair(AttentionRule{.causal = false}, false),
          std::pair(AttentionRule{.causal = true, .window = 100}, false),
          std::pair(AttentionRule{.causal = true}, true), std::pair(AttentionRule{.causal = false}, true)}) {
        PatternInputs inputs{.tokens = 2048, .heads = 4, .groups = 2, .width = 32, .rule = rule};
        if (hasSlopes) inputs.slopes = slopes;
        TensorStore store(device);
        inputs.fill(store);
        LongPatternView longPattern(device, store, inputs.source());
        CAPTURE(rule.causal, rule.window, hasSlopes);
        for (const int head : {0, 3}) {
            const std::vector<double> pattern = inputs.pattern(head);
            for (const Pooling pooling : {Pooling::Maximum, Pooling::Mean})
                for (const LongPatternRegion& view :
                     {LongPatternRegion{.level = 2, .rows = 512, .columns = 512},
                      LongPatternRegion{.level = 0, .row = 1000, .column = 900, .rows = 90, .columns = 130},
                      LongPatternRegion{.level = 1, .row = 1000, .column = 3, .rows = 40, .columns = 77},
                      LongPatternRegion{.level = 3, .row = 7, .column = 5, .rows = 100, .columns = 60},
                      LongPatternRegion{.level = 5, .rows = 70, .columns = 70},
                      LongPatternRegion{.level = 8, .rows = 8, .columns = 8}}) {
                    LongPatternRegion asked = view;
                    asked.head = head;
                    asked.pooling = pooling;
                    longPattern.show(asked);
                    while (longPattern.work(1000)) {
                    }
                    REQUIRE(longPattern.picture().isWhole());
                    CAPTURE(view.level, pooling == Pooling::Mean, head);
                    CHECK(worstPixel(longPattern.picture(), pattern, inputs.tokens) < 1e-5);
                }
            const std::vector<float> row = longPattern.row(head, 1500, 4);
            REQUIRE(row.size() == 128);
            for (size_t x = 0; x < row.size(); ++x)
                CHECK(static_cast<double>(row[x]) ==
                      Approx(*std::max_element(pattern.begin() + 1500 * 2048 + static_cast<std::ptrdiff_t>(x) * 16,
                                               pattern.begin() + 1500 * 2048 + static_cast<std::ptrdiff_t>(x + 1) * 16))
                          .margin(1e-5));
        }
    }
}

TEST_CASE("long-pattern view: a picture is there at once from one query in a pixel, and becomes exact from the top",
          "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 1500, .heads = 1, .groups = 1, .width = 8, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternView longPattern(device, store, inputs.source());
    const LongPatternRegion view{.level = 4, .rows = 94, .columns = 94};
    longPattern.show(view);
    CHECK_FALSE(longPattern.picture().isWhole());
    const std::vector<double> pattern = inputs.pattern(0);
    for (size_t y = 0; y < 93; ++y) // row y by the query in the middle of it
        for (size_t x = 0; x < 94; ++x) {
            const auto from = pattern.begin() + static_cast<std::ptrdiff_t>((y * 16 + 8) * 1500 + x * 16);
            REQUIRE(static_cast<double>(longPattern.picture().pixels[y * 94 + x]) ==
                    Approx(*std::max_element(
                               from, from + std::min<std::ptrdiff_t>(16, 1500 - static_cast<std::ptrdiff_t>(x) * 16)))
                        .margin(1e-5));
        }
    while (longPattern.work(1)) {
    }
    CHECK(worstPixel(longPattern.picture(), pattern, 1500) < 1e-5);
    // Other queries: what was known of them is not true any more.
    inputs.q.assign(inputs.q.size(), 0.0f);
    store.writeDense("q", inputs.q);
    longPattern.setTokens(1200);
    while (longPattern.work(1000)) {
    }
    CHECK(longPattern.picture().pixels[0] == Approx(1)); // the first sees itself alone
    CHECK(longPattern.picture().pixels[70 * 94 + 3] == Approx(1.0 / (70 * 16 + 1)).margin(1e-6)); // of its first query
    CHECK(longPattern.picture().pixels[80 * 94] == 0);                                            // no token
}

TEST_CASE(
    "long-pattern view: the picture on the device is that of the host, while it is coarse, exact and after more tokens",
    "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 1500, .heads = 2, .groups = 1, .width = 8, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternView longPattern(device, store, inputs.source());
    longPattern.show({.level = 2, .rows = 375, .columns = 300});
    longPattern.keepOnDevice(); // a picture is there already
    gpu::Transfer transfer(device.context());
    const auto check = [&] {
        const LongPatternPicture& picture = longPattern.picture();
        std::vector<float> all(static_cast<size_t>(LongPatternRegion::kMostSide) * LongPatternRegion::kMostSide);
        transfer.download(longPattern.devicePixels(), 0, std::as_writable_bytes(std::span(all)));
        for (size_t row = 0; row < static_cast<size_t>(picture.view.rows); ++row)
            for (size_t column = 0; column < static_cast<size_t>(picture.view.columns); ++column)
                REQUIRE(all[row * LongPatternRegion::kMostSide + column] ==
                        picture.pixels[row * static_cast<size_t>(picture.view.columns) + column]);
    };
    check();
    longPattern.work(1);
    check();
    while (longPattern.work(100)) {
    }
    check();
    longPattern.setTokens(1400, 1000); // what lies before is kept
    check();
    while (longPattern.work(100)) {
    }
    check();
    longPattern.show(
        {.head = 1, .level = 4, .row = 3, .column = 2, .rows = 94, .columns = 94}); // beyond the last token too
    check();
    while (longPattern.work(100)) {
    }
    check();
}

TEST_CASE("long-pattern view: the first token is left out exactly, at every level", "[session][gpu]") {
    TestDevice device;
    for (const AttentionRule& rule : {AttentionRule{.causal = true}, AttentionRule{.causal = true, .window = 100},
                                      AttentionRule{.causal = false}}) {
        PatternInputs inputs{.tokens = 300, .heads = 2, .groups = 1, .width = 16, .rule = rule};
        TensorStore store(device);
        inputs.fill(store);
        LongPatternView longPattern(device, store, inputs.source());
        const std::vector<double> plain = inputs.pattern(1), left = withoutFirst(plain, inputs.tokens);
        for (const Pooling pooling : {Pooling::Maximum, Pooling::Mean})
            for (const int level : {0, 1, 2, 3, 4})
                for (const bool hidesFirst : {true, false}) {
                    CAPTURE(rule.causal, rule.window, pooling == Pooling::Mean, level, hidesFirst);
                    const int side = (300 + (1 << level) - 1) >> level;
                    longPattern.show({.head = 1,
                                      .level = level,
                                      .rows = side,
                                      .columns = side,
                                      .pooling = pooling,
                                      .hidesFirst = hidesFirst});
                    while (longPattern.work(1000)) {
                    }
                    // 2e-6: exponentials of 32-bit scores
                    CHECK(worstPixel(longPattern.picture(), hidesFirst ? left : plain, inputs.tokens) < 2e-6);
                    const auto row = longPattern.row(1, 150, level, pooling);
                    for (size_t x = 0; x < row.size(); ++x) {
                        double largest = 0, sum = 0;
                        int count = 0;
                        for (int64_t s = static_cast<int64_t>(x) << level;
                             s < std::min<int64_t>(static_cast<int64_t>(x + 1) << level, 300); ++s) {
                            if (hidesFirst && s == 0) continue;
                            const double p = (hidesFirst ? left : plain)[static_cast<size_t>(150 * 300 + s)];
                            largest = std::max(largest, p);
                            sum += p;
                            ++count;
                        }
                        REQUIRE(static_cast<double>(row[x]) ==
                                Approx(pooling == Pooling::Maximum ? largest : sum / std::max(count, 1)).margin(2e-6));
                    }
                }
    }
}

TEST_CASE("long-pattern view: rows that are set by hand are pooled in place of the head's own", "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 300, .heads = 2, .groups = 1, .width = 16, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternSource source = inputs.source();
    source.changedRows = inputs.changedRowsOf();
    LongPatternView longPattern(device, store, source);
    longPattern.keepOnDevice();
    gpu::Transfer transfer(device.context());
    for (const int head : {1, 0}) {
        std::vector<double> pattern = inputs.pattern(head);
        for (int64_t t = 0; t < inputs.tokens; ++t)
            if (const auto row = source.changedRows(head, t); !row.empty())
                for (size_t s = 0; s < row.size(); ++s)
                    pattern[static_cast<size_t>(t * inputs.tokens) + s] = static_cast<double>(row[s]);
        const std::vector<double> left = withoutFirst(pattern, inputs.tokens);
        for (const Pooling pooling : {Pooling::Maximum, Pooling::Mean})
            for (const int level : {0, 1, 2, 3, 4, 5})
                for (const bool hidesFirst : {false, true}) {
                    CAPTURE(head, pooling == Pooling::Mean, level, hidesFirst);
                    const int side = (300 + (1 << level) - 1) >> level;
                    longPattern.show({.head = head,
                                      .level = level,
                                      .row = 1,
                                      .column = 0,
                                      .rows = side,
                                      .columns = side + 3,
                                      .pooling = pooling,
                                      .hidesFirst = hidesFirst});
                    while (longPattern.work(1)) {
                    }
                    REQUIRE(longPattern.picture().isWhole());
                    CHECK(worstPixel(longPattern.picture(), hidesFirst ? left : pattern, inputs.tokens) < 2e-6);
                    std::vector<float> drawn(static_cast<size_t>(side) * LongPatternRegion::kMostSide);
                    transfer.download(longPattern.devicePixels(), 0, std::as_writable_bytes(std::span(drawn)));
                    for (int y = 0; y < side; ++y)
                        for (int x = 0; x < side + 3; ++x)
                            REQUIRE(drawn[static_cast<size_t>(y * LongPatternRegion::kMostSide + x)] ==
                                    longPattern.picture().pixels[static_cast<size_t>(y * (side + 3) + x)]);
                    const auto& expected = hidesFirst ? left : pattern;
                    for (const int64_t query : {66, 150, 151}) // by hand where 7 leaves 3, and from 64 to 95
                        for (const int64_t key : {0, 1, 60})
                            REQUIRE(static_cast<double>(longPattern.cell(head, query, key)) ==
                                    Approx(expected[static_cast<size_t>(query * 300 + key)]).margin(2e-6));
                }
    }
    // Coarse: one query stands for its pixel, by hand where it is.
    longPattern.show({.head = 1, .level = 2, .rows = 75, .columns = 75});
    const std::vector<float> row = source.changedRows(1, 66); // the one in the middle
    CHECK(longPattern.picture().pixels[16 * 75 + 1] == *std::max_element(row.begin() + 4, row.begin() + 8));
}

TEST_CASE("long-pattern view: views that do not exist are refused", "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 64, .heads = 1, .groups = 1, .width = 4};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternView longPattern(device, store, inputs.source());
    CHECK_THROWS_WITH(longPattern.show({.rows = 0, .columns = 5}), CONTAINS("cannot be drawn"));
    CHECK_THROWS_WITH(longPattern.show({.head = 1, .rows = 5, .columns = 5}), CONTAINS("there is no head 1"));
    CHECK_THROWS_WITH(longPattern.show({.level = 10, .rows = 5, .columns = 5}), CONTAINS("levels 0 to 9"));
    CHECK_THROWS_WITH(longPattern.row(0, 64, 0), CONTAINS("rows are 0 to 63"));
    CHECK_THROWS_WITH(longPattern.setTokens(65), CONTAINS("65 tokens do not fit"));
    longPattern.setTokens(0);
    longPattern.show({.rows = 5, .columns = 5});
    CHECK_FALSE(longPattern.work(1));
    CHECK(longPattern.picture().isWhole());
}

TEST_CASE("long-pattern view: the longest row that the device counts to is exact, longer ones are refused",
          "[session][gpu]") {
    TestDevice device;
    const KernelTraits traits = device.kernelTraits();
    if (!traits.prefersSubgroupTiles) {
        WARN("skipped: this device counts without end");
        return;
    }
    const int64_t width = 128, most = lensTokens(traits, width);
    PatternInputs inputs{.tokens = most, .heads = 1, .groups = 1, .width = width, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternView longPattern(device, store, inputs.source());
    const std::vector<float> row = longPattern.row(0, most - 1, LensBand::kMostLevel, Pooling::Mean);
    double sum = 0;
    for (size_t x = 0; x < row.size(); ++x)
        sum += static_cast<double>(row[x]) *
               static_cast<double>(std::min<int64_t>(1 << LensBand::kMostLevel,
                                                     most - (static_cast<int64_t>(x) << LensBand::kMostLevel)));
    CHECK(sum == Approx(1).margin(1e-4));
    LongPatternSource longer = inputs.source();
    longer.capacity = most + 1;
    TensorStore other(device);
    CHECK_THROWS_WITH(LongPatternView(device, other, longer), CONTAINS("use fewer"));
}

TEST_CASE("long-pattern view: on a full device, what it could not draw does not spoil what it draws later",
          "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 256, .heads = 2, .groups = 1, .width = 32, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    const std::array patterns{inputs.pattern(0), inputs.pattern(1)};
    std::optional<LongPatternView> view;
    const auto draw = [&](int head) {
        view->show({.head = head, .level = 2, .rows = 64, .columns = 64});
        while (view->work(1000)) {
        }
    };
    view.emplace(device, store, inputs.source());
    const int enough = onFullDevice(
        [&] { draw(0); },
        [&] {
            for (const int head : {1, 0}) { // the other head reads what is there already
                draw(head);
                REQUIRE(view->picture().isWhole());
                // Exponentials of sums of 32 products in fp32.
                CHECK(worstPixel(view->picture(), patterns.at(static_cast<size_t>(head)), inputs.tokens) < 1e-5);
            }
            CHECK(view->deviceBytes() > 0);
            view.emplace(device, store, inputs.source());
        });
    CHECK(enough > 8); // buffers of plans that gather a head, draw it coarsely, sum its rows and draw it
}

TEST_CASE("profiles: on a full device, no row counts twice", "[session][gpu]") {
    TestDevice device;
    PatternInputs inputs{.tokens = 300, .heads = 2, .groups = 1, .width = 32, .rule = {.causal = true}};
    TensorStore store(device);
    inputs.fill(store);
    LongPatternSource source = inputs.source();
    source.positions = "positions";
    source.hasLiveRows = true;
    store.reserve({{source.positions, {inputs.tokens}}});
    store.write(source.positions, [](int64_t first, std::span<float> rows) {
        for (size_t i = 0; i < rows.size(); ++i)
            rows[i] = std::bit_cast<float>(static_cast<int32_t>(first) + static_cast<int32_t>(i));
    });
    std::optional<HeadProfiler> profiler;
    const auto begin = [&] {
        profiler.emplace(device, store, source);
        profiler->begin(0, 1, inputs.tokens, {1, inputs.tokens, 0, inputs.tokens});
    };
    const auto work = [&] {
        while (profiler->work(1000)) {
        }
    };
    begin();
    work();
    const HeadProfile expected = profiler->profile();
    REQUIRE(expected.exactRows == 1);
    CHECK(std::accumulate(expected.distances.begin(), expected.distances.end(), 0.0) == Approx(1));
    begin();
    const int enough = onFullDevice(work, [&] {
        work();
        CHECK(profiler->profile().received == expected.received);
        CHECK(profiler->profile().distances == expected.distances);
        CHECK(profiler->profile().largest == expected.largest);
        begin();
    });
    CHECK(enough > 4); // buffers of plans that sum rows and pool them
}
