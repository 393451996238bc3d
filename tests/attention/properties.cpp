#include "engine/attention/position/sinusoid.h"
#include "tests/attention/attention_case.h"
#include "tests/io/files.h"
#include "tests/support/answers.h"

#include <fmt/format.h>

using namespace attn;
using test::AttentionCase;
using test::specWith;

namespace {

using Results = std::map<std::string, std::vector<double>>;

AttentionCase maskedCaseOf(const std::string& spec, int64_t tokens = 8, int64_t width = 4) {
    AttentionCase test{.spec = AttentionSpec::parse(spec), .queries = tokens, .keys = tokens, .width = width};
    test.build();
    return test;
}

void requireNear(double found, double expected, double tolerance) {
    INFO(found << ", expected " << expected);
    REQUIRE(std::abs(found - expected) <= tolerance * (1 + std::abs(expected)));
}

/// All rows of an input alike.
void repeatFirstRow(std::vector<double>& values, size_t width) {
    for (size_t i = width; i < values.size(); ++i) values[i] = values[i - width];
}

/// Mean of |pattern - expected| over the cells.
double distanceOf(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum / static_cast<double>(a.size());
}

} // namespace

TEST_CASE("causal scaled dot attention of four tokens is what one computes by hand", "[attention]") {
    AttentionCase test = maskedCaseOf("mask=causal", 4, 4);
    // q = k rows of length 2 along one axis each, so q_i . k_i / sqrt(4) = 2 and all others 0.
    test.values["q"] = test.values["k"] = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
    test.values["v"] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}; // z is the pattern itself
    const Results found = test.onHost();
    const double e = std::exp(2.0);
    const std::vector<double> pattern{1,           0,           0,           0,           1 / (1 + e), e / (1 + e),
                                      0,           0,           1 / (2 + e), 1 / (2 + e), e / (2 + e), 0,
                                      1 / (3 + e), 1 / (3 + e), 1 / (3 + e), e / (3 + e)};
    for (size_t i = 0; i < pattern.size(); ++i) {
        requireNear(found.at("pattern")[i], pattern[i], 1e-7);
        requireNear(found.at("z")[i], pattern[i], 1e-7);
    }
}

TEST_CASE("relative positions depend on nothing but the distance", "[attention]") {
    const char* position = GENERATE("rope", "rope(interleaved = 1)", "rope(fraction = 0.5)", "rope(fraction = 0.4)",
                                    "alibi", "t5", "toeplitz(3)", "shaw(2)", "transformer_xl", "distance_aware");
    INFO(position);
    AttentionCase test = maskedCaseOf(fmt::format("heads=multi_head(2), position={}", position));
    for (const char* name : {"q", "k"})
        for (size_t h = 0; h < 2; ++h) {
            std::vector<double> head(test.values[name].begin() + static_cast<std::ptrdiff_t>(h * 32),
                                     test.values[name].begin() + static_cast<std::ptrdiff_t>(h * 32 + 32));
            repeatFirstRow(head, 4);
            std::ranges::copy(head, test.values[name].begin() + static_cast<std::ptrdiff_t>(h * 32));
        }
    const auto scores = test.onHost().at("scores");
    bool varies = false;
    for (size_t h = 0; h < 2; ++h)
        for (size_t t = 0; t + 1 < 8; ++t)
            for (size_t s = 0; s + 1 < 8; ++s) {
                requireNear(scores[h * 64 + (t + 1) * 8 + s + 1], scores[h * 64 + t * 8 + s], 1e-6);
                varies = varies || std::abs(scores[h * 64 + t * 8 + s] - scores[h * 64]) > 1e-6;
            }
    CHECK(varies);
}

TEST_CASE("ALiBi subtracts the slope times the distance, whichever way keys lie", "[attention]") {
    const char* mask = GENERATE("causal", "full");
    AttentionCase test = maskedCaseOf(fmt::format("heads=multi_head(4), position=alibi, mask={}", mask));
    const auto bias = test.onHost().at("position.bias");
    for (size_t h = 0; h < 4; ++h)
        for (size_t t = 0; t < 8; ++t)
            for (size_t s = 0; s < (std::string(mask) == "causal" ? t + 1 : 8); ++s)
                requireNear(bias[h * 64 + t * 8 + s],
                            -std::exp2(-2.0 * static_cast<double>(h + 1)) *
                                std::abs(static_cast<double>(t) - static_cast<double>(s)),
                            1e-7);
}

TEST_CASE("moving a sinusoid by a distance is the same rotation everywhere", "[attention]") {
    constexpr int64_t kWidth = 8, kDistance = 5;
    for (int64_t position = 0; position < 20; ++position)
        for (int64_t pair = 0; pair < kWidth; pair += 2) {
            const auto f = [&](int64_t i, int64_t d) { return sinusoid(i, d, kWidth, 10000); };
            const double s = f(kDistance, pair), c = f(kDistance, pair + 1);
            requireNear(f(position + kDistance, pair), f(position, pair) * c + f(position, pair + 1) * s, 1e-12);
            requireNear(f(position + kDistance, pair + 1), f(position, pair + 1) * c - f(position, pair) * s, 1e-12);
        }
}

TEST_CASE("Transformer-XL's four terms add up to its score", "[attention]") {
    const Results found = maskedCaseOf("position=transformer_xl").onHost();
    for (size_t t = 0; t < 8; ++t)
        for (size_t s = 0; s < 8; ++s)
            requireNear(found.at("xl.content")[t * 8 + s] + found.at("xl.content_position")[t * 8 + s] +
                            found.at("xl.global_content")[s] + found.at("xl.global_position")[t * 8 + s],
                        found.at("scores")[t * 8 + s], 1e-9);
}

TEST_CASE("linear forms carry their sums over chunks as if the pattern had been formed", "[attention]") {
    const char* normaliser =
        GENERATE("linear", "favor(16)", "rfa(16)", "rfa(16, unit = 0)", "rfa(16, gate = 1)", "rfa(16, learned = 1)",
                 "rfa(16, unit = 0, gate = 1, learned = 1)", "efficient_running");
    INFO(normaliser);
    constexpr int64_t kTokens = 150; // three chunks, the last one short
    const Results found = maskedCaseOf(fmt::format("normaliser={}, mask=causal", normaliser), kTokens).onHost();
    AttentionCase test = maskedCaseOf(fmt::format("normaliser={}, mask=causal", normaliser), kTokens);
    const auto& pattern = found.at("pattern");
    for (int64_t t = 0; t < kTokens; t += 7)
        for (int64_t d = 0; d < 4; ++d) {
            double sum = 0;
            for (int64_t s = 0; s <= t; ++s)
                sum += pattern[static_cast<size_t>(t * kTokens + s)] * test.values["v"][static_cast<size_t>(s * 4 + d)];
            requireNear(found.at("z")[static_cast<size_t>(t * 4 + d)], sum, 1e-6);
        }
}

TEST_CASE("states read token by token equal the parallel form", "[attention]") {
    const char* spec = GENERATE("mixer=fast_weights", "normaliser=linear", "normaliser=favor(16)", "normaliser=rfa(8)",
                                "normaliser=rfa(8, unit = 0)", "normaliser=rfa(8, gate = 1)",
                                "normaliser=rfa(8, learned = 1)", "normaliser=efficient_running");
    INFO(spec);
    const Results found = maskedCaseOf(fmt::format("{}, mask=causal", spec), 70).onHost();
    for (size_t i = 0; i < found.at("z").size(); ++i)
        requireNear(found.at("features.recurrent")[i], found.at("z")[i], 1e-9);
}

TEST_CASE("a mask that equals causal at the lengths gives what causal gives, in every part", "[attention]") {
    constexpr int64_t kTokens = 48;
    int compared = 0;
    for (const Part* part : partCatalogue()) {
        if (std::ranges::find(kSpecSlots, part->slot) == kSpecSlots.end() || part->mix.masks == MaskSupport::FullOnly)
            continue;
        AttentionSpec spec = specWith(*part);
        spec.mask = MaskExpression::causal();
        if (!check(spec, {.headWidth = 4, .queries = kTokens, .keys = kTokens}).empty()) continue;
        const auto answersOf = [&](const char* mask) {
            spec.mask = MaskExpression::parse(mask);
            AttentionCase test{.spec = spec, .queries = kTokens, .keys = kTokens};
            test.build();
            return test.onHost();
        };
        const Results expected = answersOf("causal");
        for (const char* mask : {"causal & window(64)", "causal & full", "~(~causal)"}) {
            INFO(nameOf(part->slot) << " " << part->id << ", " << mask);
            const Results found = answersOf(mask);
            for (const auto& [name, values] : expected) {
                INFO(name);
                CHECK(found.at(name) == values); // the same numbers in the same order
            }
        }
        ++compared;
    }
    CHECK(compared > 30);
}

TEST_CASE("T5 keeps no bucket for keys that no query sees", "[attention]") {
    const auto bucketsOf = [](const char* mask) { // distinct numbers in the last row
        const Results found = maskedCaseOf(fmt::format("position=t5, mask={}", mask), 48).onHost();
        const auto& bias = found.at("position.bias");
        return std::set<double>(bias.end() - 48, bias.end()).size();
    };
    CHECK(bucketsOf("causal") == bucketsOf("causal & window(9)"));
    CHECK(bucketsOf("causal") > bucketsOf("full"));
}

TEST_CASE("random features come closer to softmax as one over the root of their number", "[attention]") {
    const auto softmaxPattern = [](double scale) {
        AttentionCase test = maskedCaseOf("mask=full", 12, 4);
        for (const char* name : {"q", "k"})
            for (double& value : test.values[name]) value *= scale;
        return test.onHost().at("pattern");
    };
    for (const char* form : {"favor({0}, {1})", "rfa({0}, 1.4142135, {1}, 0)", // sigma = D^(1/4)
                             "rfa({0}, 1.4142135, {1}, 0, 0, 1)"}) {
        constexpr double kScale = 0.5;
        const auto target = softmaxPattern(kScale);
        const auto error = [&](int features) {
            double sum = 0;
            for (int seed = 0; seed < 8; ++seed) {
                AttentionCase test =
                    maskedCaseOf("normaliser=" + fmt::format(fmt::runtime(form), features, seed), 12, 4);
                for (const char* name : {"q", "k"})
                    for (double& value : test.values[name]) value *= kScale;
                sum += distanceOf(test.onHost().at("pattern"), target) / 8;
            }
            return sum;
        };
        const double few = error(64), many = error(4096); // 64 times as many: an eighth of the error
        INFO(form << ": " << few << " with 64 features, " << many << " with 4096");
        CHECK(many < few / 8 * 1.6);
        CHECK(many > few / 8 / 1.6);
    }
}

TEST_CASE("random features survive queries and keys of a deviation of 10", "[attention][gpu]") {
    const char* spec =
        GENERATE("normaliser=favor", "normaliser=rfa", "normaliser=rfa(unit = 0)", "normaliser=rfa(gate = 1)");
    const char* mask = GENERATE("causal", "full");
    INFO(spec << " " << mask);
    AttentionCase test = maskedCaseOf(fmt::format("{}, mask={}", spec, mask), 150, 16);
    for (const char* name : {"q", "k"})
        for (double& value : test.values[name]) value *= 10;
    test::TestDevice device;
    const auto found = onDevice(device, test, test.outputs).at("z");
    CHECK(std::ranges::all_of(found, [](double value) { return std::isfinite(value); }));
    for (size_t row = 0; row < 150; ++row) // a row of zeros saw nothing
        CHECK(std::any_of(found.begin() + static_cast<std::ptrdiff_t>(16 * row),
                          found.begin() + static_cast<std::ptrdiff_t>(16 * (row + 1)),
                          [](double z) { return z != 0; }));
    if (std::string_view(spec) == "normaliser=rfa(unit = 0)") return; // its sums of signs cancel in single precision
    const Dense expected = test.reference().z;
    for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected.data[i]) < 1e-2);
}

TEST_CASE("the running maximum and sum of tiles end at those of the whole row", "[attention]") {
    constexpr int64_t kTokens = 70, kTiles = 3; // the last tile is short
    const Results found = maskedCaseOf("mask=causal", kTokens).onHost();
    const auto &scores = found.at("scores"), &largest = found.at("tiles.largest"), &sums = found.at("tiles.sum");
    for (int64_t t = 0; t < kTokens; ++t)
        for (int64_t tile = 0; tile < kTiles; ++tile) {
            const int64_t end = std::min((tile + 1) * 32, kTokens);
            double most = kMasked, sum = 0;
            for (int64_t s = 0; s < end; ++s) most = std::max(most, scores[static_cast<size_t>(t * kTokens + s)]);
            for (int64_t s = 0; s < end; ++s)
                if (const double score = scores[static_cast<size_t>(t * kTokens + s)]; score > kMasked)
                    sum += std::exp(score - most);
            requireNear(largest[static_cast<size_t>(t * kTiles + tile)], most, 1e-9);
            requireNear(sums[static_cast<size_t>(t * kTiles + tile)], sum, 1e-9);
        }
    CHECK_FALSE(maskedCaseOf("mask=causal", 32).onHost().contains("tiles.sum")); // one tile
}

TEST_CASE("a fully masked row gives zeros, not NaN", "[attention]") {
    const char* spec = GENERATE("mask=causal & ~blocks(8)", "mask=xlnet_query(0, 1, 2, 3, 4, 5, 6, 7)",
                                "normaliser=aft, mask=causal & ~blocks(8)");
    INFO(spec);
    const auto z = maskedCaseOf(spec).onHost().at("z");
    for (size_t d = 0; d < 4; ++d) CHECK(z[d] == 0);
    CHECK(std::ranges::all_of(z, [](double value) { return std::isfinite(value); }));
}

TEST_CASE("XCiT does not mix tokens beyond their statistics: one channel map for all of them", "[attention]") {
    const Results found = maskedCaseOf("normaliser=xcit").onHost();
    for (size_t row = 0; row < 4; ++row)
        requireNear(std::accumulate(found.at("xcit.channels").begin() + static_cast<std::ptrdiff_t>(row * 4),
                                    found.at("xcit.channels").begin() + static_cast<std::ptrdiff_t>(row * 4 + 4), 0.0),
                    1, 1e-9);
    CHECK_FALSE(found.contains("pattern"));
}

TEST_CASE("what does not combine is explained in a sentence, and the nearest spec works", "[attention]") {
    struct Bad {
        const char *spec, *says;
        bool isCausalTask;
    };
    for (const Bad& bad :
         {Bad{"heads=grouped_query(6, 4)", "6 heads cannot share 4 key/value heads", false},
          Bad{"position=alibi, normaliser=linear", "ALiBi needs a score for every pair", false},
          Bad{"score=cosine, normaliser=favor", "Cosine with temperature needs a score", false},
          Bad{"normaliser=linear, mask=window(3)", "work with a full or a causal mask but not with window(3)", false},
          Bad{"normaliser=xcit, mask=causal", "every position contributes to every result", false},
          Bad{"normaliser=linformer, mask=causal", "so nothing can be hidden", false},
          Bad{"mixer=fnet, mask=window(3)", "every position contributes", false},
          Bad{"mixer=mlp_mixer, mask=causal", "every position contributes", false},
          Bad{"normaliser=efficient", "Efficient Attention, running, can be causal", true},
          Bad{"mask=window(8)", "the task is to predict the next token", true},
          Bad{"mixer=fnet, normaliser=linear", "does not use Linear attention", false},
          Bad{"mixer=fnet, position=rope",
              "acts on queries and keys, but Fourier (FNet) mixes the residual stream itself", false},
          Bad{"mixer=mlp_mixer, output=gated", "acts on heads, but MLP-Mixer mixes the residual stream itself", false},
          Bad{"normaliser=linear, mask=causal & adaptive_span", "never computes pairs", false},
          Bad{"normaliser=reformer, mask=causal", "both query and key, but One head has separate ones", false},
          Bad{"heads=shared_query_key(2), normaliser=reformer(20)", "20 tokens is not a multiple of 8", false},
          Bad{"heads=shared_query_key(2), normaliser=reformer, mask=window(3)", "not with window(3)", false},
          Bad{"heads=shared_query_key(2), normaliser=linear", "Shared query and key needs a score", false},
          Bad{"memory=segments, normaliser=linear", "needs a score for every pair", false},
          Bad{"projections=global, normaliser=linear", "Own projections of global tokens needs a score", false},
          Bad{"projections=global, mixer=fnet", "Own projections of global tokens needs a score", false},
          Bad{"projections=global, memory=segments, mask=causal", "keeps only the ordinary ones", false},
          Bad{"projections=global, heads=shared_query_key(2)", "every key is made of its query", false},
          Bad{"output=talking", "there is only one", false}}) {
        INFO(bad.spec);
        AttentionSpec spec = AttentionSpec::parse(bad.spec);
        const AttentionUse use{.isCausalTask = bad.isCausalTask, .headWidth = 8};
        auto problems = check(spec, use);
        REQUIRE_FALSE(problems.empty());
        CHECK_THAT(problems.front().sentence, CONTAINS(bad.says));
        for (int round = 0; round < 5 && !problems.empty(); ++round) {
            spec = *problems.front().nearest;
            problems = check(spec, use);
        }
        CHECK(problems.empty());
    }
}

TEST_CASE("the nearest spec keeps the mechanism, or there is none", "[attention]") {
    const auto nearestOf = [](const char* text, bool isCausalTask) {
        const auto problems = check(AttentionSpec::parse(text), {.isCausalTask = isCausalTask, .headWidth = 8});
        REQUIRE_FALSE(problems.empty());
        return problems.front().nearest ? problems.front().nearest->text() : std::string();
    };
    CHECK(nearestOf("mask=prefix(6)", true).empty()); // causal & prefix(6) is causal
    CHECK(nearestOf("mask=g2l(2)", true).empty());    // causal & g2l(2) shows nothing
    CHECK(nearestOf("mask=global(2)", true) == "mask=causal & global(2)");
    CHECK(nearestOf("heads=multi_head(2), mask=per_head(prefix(6), window(3))", true) ==
          "heads=multi_head(heads = 2), mask=causal & per_head(prefix(6), window(3))");
    for (const char* mixes : {"normaliser=xcit", "normaliser=linformer", "mixer=fnet", "mixer=mlp_mixer"})
        CHECK(nearestOf(mixes, true).empty());
    CHECK(nearestOf("mixer=fnet, mask=causal", false) == "mixer=fnet");
    CHECK(nearestOf("normaliser=efficient, mask=causal", false) == "normaliser=efficient_running, mask=causal");
}

TEST_CASE("a spec's expression says where it is wrong", "[attention]") {
    test::checkAnswers("attention/texts.json", "compositions",
                       [](const std::string& text) { return test::sentenceOf([&] { AttentionSpec::parse(text); }); });
}
