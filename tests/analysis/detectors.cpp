#include "engine/analysis/head_detectors.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;

namespace {

std::shared_ptr<HeadDetection> detect(const std::string& path) {
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    return std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
}

const HeadScores& headOf(const HeadDetection& detection, int layer, int head) {
    return detection.all[static_cast<size_t>(layer * detection.heads + head)];
}

} // namespace

TEST_CASE("detectors: they name the heads of the constructed model", "[analysis][gpu]") {
    const auto found = detect("builtin:induction");
    CHECK(headOf(*found, 0, 0).title() == "previous token");
    CHECK(headOf(*found, 0, 0).of(HeadKind::PreviousToken) > 0.99f);
    CHECK(headOf(*found, 0, 1).title() == "current token");
    CHECK(headOf(*found, 1, 0).title() == "induction");
    CHECK(headOf(*found, 1, 0).of(HeadKind::Induction) > 0.95f); // the first letter is its own predecessor
    CHECK(headOf(*found, 1, 0).of(HeadKind::PreviousToken) < 0.1f);
    CHECK(headOf(*found, 1, 1).title() == "broad");
    CHECK(headOf(*found, 1, 1).of(HeadKind::Positional) < 0.05f);
    CHECK(headOf(*found, 0, 0).labels() == std::vector{HeadKind::PreviousToken});
    CHECK(headOf(*found, 1, 0).explanation(HeadKind::Induction).starts_with("96 % of its attention"));
}

TEST_CASE("detectors: they name the heads that training has formed", "[analysis][gpu]") {
    const auto found = detect("builtin:induction-trained");
    CHECK(headOf(*found, 0, 0).title() == "previous token");
    CHECK(headOf(*found, 0, 1).title() == "previous token");
    CHECK(headOf(*found, 1, 0).title() == "induction");
    CHECK(headOf(*found, 1, 0).of(HeadKind::Induction) > 0.95f);
    CHECK(headOf(*found, 1, 1).of(HeadKind::Induction) < 0.1f);
}

TEST_CASE("detectors: scores of a trained model are shares, and what is not clear has no name", "[analysis][gpu]") {
    for (const char* path : {"builtin:induction-trained", "builtin:stories"}) {
        INFO(path);
        const auto found = detect(path);
        for (const HeadScores& head : found->all) {
            for (float score : head.scores) CHECK((score >= 0 && score <= 1.0001f));
            if (head.labels().empty()) CHECK(head.title() == "mixed");
            for (HeadKind kind : head.labels()) CHECK(head.of(kind) >= 0.4f);
            CHECK(head.of(HeadKind::Broad) + head.of(HeadKind::Positional) <= 1.0001f);
        }
    }
}

TEST_CASE("detectors: heads like one are found in it and in another model", "[analysis][gpu]") {
    const auto constructed = detect("builtin:induction"), trained = detect("builtin:induction-trained");
    const auto own = similarHeads(*constructed, 1, 0, *constructed);
    REQUIRE(own.size() == 3);
    CHECK(std::ranges::none_of(own, [](const SimilarHead& head) { return head.site == 1 && head.head == 0; }));
    CHECK(constructed->period != trained->period); // fewer letters, and yet:
    const auto others = similarHeads(*constructed, 1, 0, *trained);
    REQUIRE(others.size() == 4);
    CHECK((others.front().site == 1 && others.front().head == 0)); // the head that training formed
    CHECK(others.front().similarity > 0.7f);
    CHECK(others[1].similarity < 0.6f);
    CHECK_THROWS_AS(similarHeads(*constructed, 2, 0, *constructed), Error);
    CHECK(similarity(constructed->printOf(0, 0), constructed->printOf(0, 0)) == Approx(1).margin(1e-4));
    const auto apart = headClusters(*constructed, 0.999f), together = headClusters(*constructed, 0);
    CHECK(apart.size() == 4);
    REQUIRE(together.size() == 1);
    CHECK(together.front().size() == 4);
}

TEST_CASE("induction: without its head copying fails, without another it does not", "[analysis][gpu]") {
    const std::string path = GENERATE("builtin:induction", "builtin:induction-trained");
    INFO(path);
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    const auto found = std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
    const auto induction =
        std::ranges::max_element(found->all, {}, [](const HeadScores& head) { return head.of(HeadKind::Induction); });
    // Different letters that come twice: the second time, each after the first is known.
    std::vector<int> once;
    for (int i = 0; i < found->period; ++i) once.push_back((i * 11 + 3) % 16);
    std::vector<int> tokens = once;
    tokens.insert(tokens.end(), once.begin(), once.end());
    const auto accuracy = [&] {
        int right = 0;
        for (int at = found->period; at < 2 * found->period - 1; ++at) {
            model.truncate(0);
            REQUIRE(model.feed(std::span(tokens).first(static_cast<size_t>(at) + 1)));
            const auto said = std::ranges::max_element(model.logits()) - model.logits().begin();
            right += said == tokens[static_cast<size_t>(at) + 1];
        }
        return static_cast<double>(right) / (found->period - 1);
    };
    CHECK(accuracy() > 0.9);
    model.setGate(induction->site, induction->head, 0);
    CHECK(accuracy() < 0.1);
    model.setGate(-1, -1, 1);
    for (const HeadScores& other : found->all) { // of no use for it
        if (other.title() == "induction" || other.title() == "previous token") continue;
        CAPTURE(other.site, other.head, other.title());
        model.setGate(other.site, other.head, 0);
        CHECK(accuracy() > 0.9);
        model.setGate(-1, -1, 1);
    }
}
