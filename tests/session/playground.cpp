#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/session/playground_session.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;

namespace {

PlaygroundSession::Options options() { return {.device = {}, .softwareThreads = 0, .validation = true}; }

std::shared_ptr<const PlaygroundSnapshot> answer(PlaygroundSession& session, const PlaygroundQuery& query) {
    session.show(query);
    REQUIRE(session.waitIdle());
    return session.latest();
}

const PlaygroundMap& mapNamed(const PlaygroundSnapshot& snapshot, const std::string& name) {
    const auto found = std::ranges::find(snapshot.maps, name, &PlaygroundMap::name);
    if (found == snapshot.maps.end()) throw std::runtime_error("there is no map " + name);
    return *found;
}

} // namespace

TEST_CASE("playground: scores, mask, pattern and output of a spec, hidden where the mask hides", "[session][gpu]") {
    PlaygroundSession session(options());
    const auto shown =
        answer(session, {.spec = AttentionSpec::parse("heads=multi_head(2), position=alibi, mask=causal & window(3)"),
                         .tokens = 8});
    REQUIRE_FALSE(shown->failure);
    CHECK(shown->heads == 2);
    CHECK_FALSE(shown->device.empty());
    const PlaygroundMap &mask = mapNamed(*shown, "mask"), &pattern = mapNamed(*shown, "pattern");
    const PlaygroundMap& scores = mapNamed(*shown, "scores");
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
                if (isSeen) sum += static_cast<double>(pattern.at(head)[cell]);
            }
            CHECK(sum == Approx(1).margin(1e-5)); // a row's weights
        }
    const PlaygroundMap& output = mapNamed(*shown, "z");
    CHECK(output.rows == 8);
    CHECK(output.columns == 16);
}

TEST_CASE("playground: what forms no pattern shows what it has", "[session][gpu]") {
    PlaygroundSession session(options());
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
    PlaygroundSession session(options());
    for (const Part* part : partCatalogue()) {
        const bool isMask = part->slot == Slot::Mask;
        if (!isMask && std::ranges::find(kSpecSlots, part->slot) == kSpecSlots.end()) continue;
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
    }
}

TEST_CASE("playground: what does not combine is a sentence, and the next query works", "[session][gpu]") {
    PlaygroundSession session(options());
    const auto refused = answer(session, {.spec = AttentionSpec::parse("normaliser=xcit, mask=causal"), .tokens = 8});
    REQUIRE(refused->failure);
    CHECK(refused->maps.empty());
    CHECK_FALSE(answer(session, {.spec = {}, .tokens = 8})->failure);
}

TEST_CASE("playground: of many queries only the newest is sure to be answered", "[session][gpu]") {
    PlaygroundSession session(options());
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
