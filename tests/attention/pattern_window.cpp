#include "engine/playground/pattern_window.h"

#include "tests/attention/attention_case.h"

using namespace attn;
using test::AttentionCase;

namespace {

/// Everything whose pattern is formed to be shown alone and is a product. Random features have a sigma at which no sum
/// of a row nearly cancels, which would leave few digits of it in float32.
const char* const kSpecs[]{"normaliser=linear, mask=causal",
                           "normaliser=linear",
                           "heads=grouped_query(4, 2), normaliser=rfa(64, 4, 0), mask=causal",
                           "normaliser=rfa(64, 4, 0)",
                           "normaliser=favor(64, 0), mask=causal",
                           "heads=multi_head(2), normaliser=favor(64, 0)",
                           "normaliser=efficient",
                           "heads=multi_head(2), normaliser=efficient_running, mask=causal",
                           "normaliser=linformer(16, 0, 0)",
                           "normaliser=linformer(16, 0, 1)",
                           "heads=multi_head(2), normaliser=linformer(16, 0, -1)",
                           "normaliser=linformer(16, 1, 0)",
                           "mixer=fast_weights, mask=causal"};

Tensor positionsInput(AttentionCase& test, const char* name, int64_t begin, int64_t end, int64_t pixels) {
    const auto positions = positionsUnder(begin, end, pixels);
    test.values[name] = {positions.begin(), positions.end()};
    return toInteger(test.graph->parameter(name, {static_cast<int64_t>(positions.size())}));
}

Tensor windowOf(AttentionCase& test, const PatternWindow& window) {
    const Tensor rows = positionsInput(test, "rows", window.queryBegin, window.queryEnd, window.rows),
                 columns = positionsInput(test, "columns", window.keyBegin, window.keyEnd, window.columns);
    return patternWindow(*test.factors, rows, columns, window);
}

AttentionCase built(const char* spec, int64_t tokens, int64_t width) {
    AttentionCase test{.spec = AttentionSpec::parse(spec), .queries = tokens, .keys = tokens, .width = width};
    test.mayFuse = false;
    test.build();
    REQUIRE(test.factors);
    return test;
}

} // namespace

TEST_CASE("pattern window: equals that part of the whole pattern, each pixel the largest of its cells",
          "[attention][gpu]") {
    constexpr int64_t kTokens = 192;
    const PatternWindow windows[]{
        {.queryBegin = 0, .queryEnd = 192, .keyBegin = 0, .keyEnd = 192, .rows = 192, .columns = 192},
        {.queryBegin = 65, .queryEnd = 129, .keyBegin = 30, .keyEnd = 120, .rows = 64, .columns = 90},
        {.queryBegin = 191, .queryEnd = 192, .keyBegin = 0, .keyEnd = 192, .rows = 1, .columns = 192},
        {.queryBegin = 0, .queryEnd = 192, .keyBegin = 0, .keyEnd = 192, .rows = 24, .columns = 32},
        {.queryBegin = 3, .queryEnd = 190, .keyBegin = 5, .keyEnd = 100, .rows = 20, .columns = 7}}; // uneven pixels
    test::TestDevice device;
    for (const char* spec : kSpecs)
        for (const PatternWindow& window : windows) {
            INFO(spec << ", " << window.rows << " x " << window.columns << " pixels");
            AttentionCase test = built(spec, kTokens, 16);
            const auto found = test::onDevice(
                device, test, {{"window", windowOf(test, window)}, {"pattern", test.outputs.at("pattern")}});
            const auto &pixels = found.at("window"), &whole = found.at("pattern");
            REQUIRE(std::ssize(pixels) == test.heads * window.rows * window.columns);
            double worst = 0;
            size_t pixel = 0;
            for (int64_t head = 0; head < test.heads; ++head)
                for (int64_t y = 0; y < window.rows; ++y)
                    for (int64_t x = 0; x < window.columns; ++x, ++pixel) {
                        const auto first = [](int64_t at, int64_t count, int64_t begin, int64_t end) {
                            return begin + at * (end - begin) / count;
                        };
                        double largest = -INFINITY;
                        for (int64_t t = first(y, window.rows, window.queryBegin, window.queryEnd);
                             t < first(y + 1, window.rows, window.queryBegin, window.queryEnd); ++t)
                            for (int64_t s = first(x, window.columns, window.keyBegin, window.keyEnd);
                                 s < first(x + 1, window.columns, window.keyBegin, window.keyEnd); ++s)
                                largest =
                                    std::max(largest, whole[static_cast<size_t>((head * kTokens + t) * kTokens + s)]);
                        worst = std::max(worst, std::abs(pixels[pixel] - largest) / (1 + std::abs(largest)));
                    }
            CHECK(worst <= 1e-5);
        }
}

TEST_CASE("pattern window: takes memory that grows with the tokens, not with their square", "[attention]") {
    const char* spec = GENERATE(from_range(std::begin(kSpecs), std::end(kSpecs)));
    INFO(spec);
    double heads = 0;
    const auto arenaOf = [&](int64_t tokens, int64_t across, int64_t pixels) {
        AttentionCase test = built(spec, tokens, 16);
        heads = static_cast<double>(test.heads);
        const int64_t begin = tokens - across;
        const Tensor window = windowOf(test, {.queryBegin = begin,
                                              .queryEnd = tokens,
                                              .keyBegin = begin,
                                              .keyEnd = tokens,
                                              .rows = pixels,
                                              .columns = pixels});
        return static_cast<double>(compile(test.graph, {{"window", window}})->arenaBytes);
    };
    const double tile = arenaOf(4096, 128, 128), pattern = heads * 4096 * 4096 * 4;
    CHECK(arenaOf(8192, 128, 128) <= 2 * tile);
    CHECK(tile <= pattern / 4);
    CHECK(arenaOf(4096, 4096, 128) <= pattern / 2); // all of it, in 128 x 128 pixels
}
