#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/runtime/gpu_executor.h"
#include "tests/session/session_test.h"

using namespace attn;
using namespace attn::test;

namespace {

const PlaygroundMap& mapNamed(const PlaygroundSnapshot& snapshot, const std::string& name) {
    const auto found = std::ranges::find(snapshot.maps, name, &PlaygroundMap::name);
    if (found == snapshot.maps.end()) throw std::runtime_error("there is no map " + name);
    return *found;
}

} // namespace

TEST_CASE("playground: scores, mask, pattern and output of a spec, hidden where the mask hides", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const auto shown =
        answer(session, {.spec = AttentionSpec::parse("heads=multi_head(2), position=alibi, mask=causal & window(3)"),
                         .tokens = 8});
    REQUIRE_FALSE(shown->failure);
    CHECK(shown->heads == 2);
    CHECK_FALSE(shown->device.empty());
    const PlaygroundMap &mask = mapNamed(*shown, "mask"), &pattern = mapNamed(*shown, "pattern");
    const PlaygroundMap &scores = mapNamed(*shown, "scores"), &bias = mapNamed(*shown, "position.bias");
    CHECK(mask.heads == 1);
    CHECK(pattern.heads == 2);
    for (int64_t head = 0; head < 2; ++head)
        for (int64_t i = 0; i < 8; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < 8; ++j) {
                INFO("head " << head << ", query " << i << ", key " << j);
                const auto cell = static_cast<size_t>(i * 8 + j);
                const bool isSeen = j <= i && i - j < 3;
                CHECK((mask.at(head)[cell] == 1) == isSeen);
                CHECK(std::isnan(scores.at(head)[cell]) == !isSeen);
                CHECK(std::isnan(pattern.at(head)[cell]) == !isSeen);
                CHECK(std::isnan(bias.at(head)[cell]) == !isSeen);
                if (isSeen) sum += static_cast<double>(pattern.at(head)[cell]);
            }
            CHECK(sum == Approx(1).margin(1e-5)); // a row's weights
        }
    const PlaygroundMap& output = mapNamed(*shown, "z");
    CHECK(output.rows == 8);
    CHECK(output.columns == 16);
}

TEST_CASE("playground: the output comes from the path that a query asks for, and both agree", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    PlaygroundQuery query{.spec = AttentionSpec::parse("heads=multi_head(2), position=toeplitz(8), mask=causal"),
                          .tokens = 70};
    const auto formed = answer(session, query);
    CHECK_FALSE(formed->paths);
    query.path = AttentionPath::Tiled;
    const auto tiled = answer(session, query);
    REQUIRE(tiled->paths);
    CHECK(tiled->paths->largestOutput > 1);
    CHECK(tiled->paths->largestDifference < 1e-5); // sums of 70 terms in another order
    CHECK(tiled->paths->largestDifference > 0);
    CHECK(mapNamed(*tiled, "z").values == tiled->paths->output.values);
    CHECK(mapNamed(*tiled, "z").values != mapNamed(*formed, "z").values);
    query.path = AttentionPath::Formed;
    CHECK(mapNamed(*answer(session, query), "z").values == mapNamed(*formed, "z").values);
    query.spec = AttentionSpec::parse("normaliser=linear, mask=causal");
    CHECK_FALSE(answer(session, query)->paths);
}

TEST_CASE("playground: other inputs do not change what is learned", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    PlaygroundQuery query{.spec = AttentionSpec::parse("position=toeplitz(4), mask=causal"), .tokens = 16};
    const auto first = answer(session, query);
    query.inputSeed = 7;
    const auto second = answer(session, query);
    CHECK(mapNamed(*first, "scores").values != mapNamed(*second, "scores").values);
    const auto isSame = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    CHECK(std::ranges::equal(mapNamed(*first, "position.bias").values, mapNamed(*second, "position.bias").values,
                             isSame));
}

TEST_CASE("playground: what forms no pattern shows what it has", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const std::pair<const char*, const char*> expected[] = {{"normaliser=xcit", "xcit.channels"},
                                                            {"mixer=fnet", "fnet.cosine"},
                                                            {"normaliser=aft", "aft.channels"},
                                                            {"mixer=mlp_mixer", "mlp_mixer.influence"}};
    for (const auto& [spec, name] : expected) {
        INFO(spec);
        const auto shown = answer(session, {.spec = AttentionSpec::parse(spec), .tokens = 8});
        REQUIRE_FALSE(shown->failure);
        CHECK(mapNamed(*shown, name).rows > 0);
    }
    const auto perChannel = answer(session, {.spec = AttentionSpec::parse("normaliser=aft"), .tokens = 8, .width = 4});
    CHECK(mapNamed(*perChannel, "aft.channels").planes == 4);
}

TEST_CASE("playground: every part of the catalogue has maps to show", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    for (const Part* part : partCatalogue()) {
        const bool isMask = part->slot == Slot::Mask;
        INFO(nameOf(part->slot) << " " << part->id);
        AttentionSpec spec;
        if (isMask)
            spec.mask = MaskExpression::parse(termText(*part, initialValues(*part)));
        else
            spec.set(part->slot, part->id);
        if (const auto problems = check(spec); !problems.empty()) continue; // needs more heads, say
        const auto shown = answer(session, {.spec = spec, .tokens = 16});
        // Only a mask may have no meaning for the size: a grid of other sides.
        if (shown->failure)
            CHECK(isMask);
        else
            CHECK(shown->maps.size() >= 2);
        if (std::ranges::find(kBlockSlots, part->slot) == kBlockSlots.end()) continue;
        const auto own = std::ranges::find_if(shown->maps, [&](const PlaygroundMap& map) {
            return map.name.starts_with(std::string(nameOf(part->slot)) + '.');
        });
        REQUIRE(own != shown->maps.end());
        const auto [least, most] = std::ranges::minmax(own->values);
        CHECK(most > least);
        CHECK(std::ranges::all_of(own->values, [](float value) { return std::isfinite(value); }));
    }
}

TEST_CASE("playground: pictures of the block show what its parts do", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const auto shown = [&](const std::string& parts) {
        const std::string spec = "heads=multi_head(2), mask=causal, " + parts;
        auto snapshot = answer(session, {.spec = AttentionSpec::parse(spec), .tokens = 16});
        REQUIRE_FALSE(snapshot->failure);
        return snapshot;
    };
    const auto lengthOf = [](const PlaygroundMap& map, int64_t row) {
        double sum = 0;
        for (int64_t c = 0; c < map.columns; ++c) {
            const double value = map.at(0)[static_cast<size_t>(row * map.columns + c)];
            sum += value * value;
        }
        return std::sqrt(sum / static_cast<double>(map.columns));
    };
    SECTION("norms make lengths alike") {
        const auto snapshot = shown("norm=rms_norm");
        const PlaygroundMap &before = mapNamed(*snapshot, "norm.before"), &after = mapNamed(*snapshot, "norm.after");
        CHECK(lengthOf(before, 15) > 1.5 * lengthOf(before, 0));
        for (int64_t row = 0; row < 16; ++row) CHECK(lengthOf(after, row) == Approx(1).margin(1e-3));
    }
    SECTION("ReLU leaves about half of its features") {
        const auto snapshot = shown("feed_forward=relu");
        const PlaygroundMap& hidden = mapNamed(*snapshot, "feed_forward.hidden");
        CHECK(hidden.columns == 4 * 32);
        const auto zeros = std::ranges::count(hidden.values, 0.0f);
        CHECK(zeros > std::ssize(hidden.values) / 3);
        CHECK(zeros < 2 * std::ssize(hidden.values) / 3);
    }
    SECTION("the stream grows under norms before the sublayers and not under norms after the sum") {
        const auto pre = shown("residual=pre_norm"), post = shown("residual=post_norm");
        const PlaygroundMap &growing = mapNamed(*pre, "residual.lengths"), &even = mapNamed(*post, "residual.lengths");
        REQUIRE(growing.rows == 13);
        CHECK(lengthOf(growing, 12) > 1.1 * lengthOf(growing, 0));
        CHECK(lengthOf(even, 12) == Approx(1).margin(1e-3));
    }
    SECTION("shared layers add what is more alike than what layers of their own add") {
        const auto shared = shown("layers=shared"), stacked = shown("layers=stacked");
        const PlaygroundMap &alike = mapNamed(*shared, "layers.updates"),
                            &different = mapNamed(*stacked, "layers.updates");
        REQUIRE(alike.rows == 6);
        CHECK(alike.at(0)[0] == Approx(1).margin(1e-4));
        CHECK(alike.at(0)[1] > different.at(0)[1] + 0.2f);
    }
}

TEST_CASE("playground: keys of another sequence", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const auto shown = answer(session, {.spec = {}, .tokens = 6, .keys = 9});
    REQUIRE_FALSE(shown->failure);
    const PlaygroundMap& pattern = mapNamed(*shown, "pattern");
    CHECK(pattern.rows == 6);
    CHECK(pattern.columns == 9);
    const auto refused = answer(session, {.spec = AttentionSpec::parse("mixer=fnet"), .tokens = 6, .keys = 9});
    CHECK(refused->failure);
}

TEST_CASE("playground: what does not combine is a sentence, and the next query works", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const auto refused = answer(session, {.spec = AttentionSpec::parse("normaliser=xcit, mask=causal"), .tokens = 8});
    REQUIRE(refused->failure);
    CHECK(refused->maps.empty());
    CHECK_FALSE(answer(session, {.spec = {}, .tokens = 8})->failure);
}

TEST_CASE("playground: of many queries only the newest is sure to be answered", "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    AttentionSpec spec;
    const uint64_t before = answer(session, {.spec = spec, .tokens = 64})->version;
    for (int w = 1; w <= 200; ++w) {
        spec.mask = MaskExpression::parse("window(" + std::to_string(w) + ")");
        session.show(PlaygroundQuery{.spec = spec, .tokens = 64});
    }
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->query.spec.mask.text() == "window(200)");
    CHECK(session.latest()->version - before < 200);
}

TEST_CASE("playground: of long attentions a part of the effective pattern, the same as of the whole",
          "[session][gpu]") {
    PlaygroundSession session(kTestDevice);
    const AttentionSpec linear = AttentionSpec::parse("normaliser=linear, mask=causal");
    // Under a causal mask what comes later changes nothing.
    const auto whole = answer(session, {.spec = linear, .tokens = 256}), part = [&] {
        PlaygroundQuery query{.spec = linear, .tokens = 4096};
        query.window = {.queryBegin = 100, .queryEnd = 228, .keyBegin = 60, .keyEnd = 188};
        return answer(session, query);
    }();
    REQUIRE_FALSE(part->failure);
    REQUIRE(part->maps.size() == 1);
    const PlaygroundMap &expected = mapNamed(*whole, "pattern"), &found = mapNamed(*part, "pattern");
    REQUIRE(found.rows == 128);
    REQUIRE(found.columns == 128);
    for (int64_t i = 0; i < 128; ++i)
        for (int64_t j = 0; j < 128; ++j) {
            const float cell = found.at(0)[static_cast<size_t>(i * 128 + j)],
                        known = expected.at(0)[static_cast<size_t>((100 + i) * 256 + 60 + j)];
            INFO("query " << 100 + i << ", key " << 60 + j);
            REQUIRE(std::isnan(cell) == std::isnan(known));
            if (!std::isnan(cell)) REQUIRE(cell == Approx(known).margin(1e-5));
        }

    const auto all = answer(session, {.spec = linear, .tokens = 4096});
    REQUIRE_FALSE(all->failure);
    const PlaygroundMap& picture = mapNamed(*all, "pattern");
    CHECK(picture.rows == kWindowPixels);
    CHECK(std::isnan(picture.at(0)[1]));  // keys 16 to 31 for queries 0 to 15
    CHECK(picture.at(0)[0] == Approx(1)); // the first query has one key

    const auto softmax = answer(session, {.spec = {}, .tokens = 4096});
    REQUIRE(softmax->failure);
    CHECK_THAT(softmax->failure->sentence(), CONTAINS("product of features"));
}

TEST_CASE("playground: dragging a parameter that is looked up compiles nothing, and shows the same as from scratch",
          "[session][gpu]") {
    const std::pair<const char*, const char*> pairs[]{
        {"mask=causal & window(5)", "mask=causal & window(9)"},
        {"position=rope(500)", "position=rope(20)"},
        {"position=t5(8, 16)", "position=t5(8, 40)"},
        {"normaliser=linformer(4, 0, 1)", "normaliser=linformer(4, 0, 1)"},
        {"normaliser=favor(16, 1)", "normaliser=favor(16, 2)"}};
    for (const auto& [first, second] : pairs) {
        INFO(first << ", then " << second);
        PlaygroundSession dragged(kTestDevice), fresh(kTestDevice);
        REQUIRE_FALSE(answer(dragged, {.spec = AttentionSpec::parse(first), .tokens = 40})->failure);
        for (const uint64_t seed : {1u, 2u}) {
            const PlaygroundQuery query{.spec = AttentionSpec::parse(second), .tokens = 40, .seed = seed};
            const uint64_t before = GpuExecutor::recordings();
            const auto found = answer(dragged, query);
            CHECK(GpuExecutor::recordings() == before);
            const auto expected = answer(fresh, query);
            REQUIRE(found->maps.size() == expected->maps.size());
            for (size_t i = 0; i < found->maps.size(); ++i) {
                INFO(found->maps[i].name);
                CHECK(found->maps[i].name == expected->maps[i].name);
                CHECK(std::ranges::equal(found->maps[i].values, expected->maps[i].values,
                                         [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
            }
        }
    }
}
