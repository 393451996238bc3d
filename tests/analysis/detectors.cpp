#include "engine/analysis/head_detectors.h"
#include "engine/session/language_model.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;

namespace {

std::shared_ptr<HeadDetection> detect(const std::string& path) {
    LanguageModel model(openModelSource(path), {.validation = true});
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
    const auto labels = headOf(*found, 1, 1).labels(); // everything alike
    CHECK(std::ranges::find(labels, HeadKind::Positional) != labels.end());
    CHECK(headOf(*found, 1, 0).explanation(HeadKind::Induction).starts_with("96 % of its weight"));
}

TEST_CASE("detectors: they find the induction heads that training formed", "[analysis][gpu]") {
    const auto found = detect("builtin:induction-trained");
    float previous = 0, induction = 0;
    int where = 0;
    for (const HeadScores& head : found->all) {
        if (head.layer == 0) previous = std::max(previous, head.of(HeadKind::PreviousToken));
        if (head.of(HeadKind::Induction) > induction) {
            induction = head.of(HeadKind::Induction);
            where = head.layer;
        }
    }
    CAPTURE(previous, induction);
    CHECK(previous > 0.4f);
    CHECK(induction > 0.4f);
    CHECK(where > 0); // it needs a head before it
}

TEST_CASE("detectors: heads like one are found in it and in another model", "[analysis][gpu]") {
    const auto constructed = detect("builtin:induction"), trained = detect("builtin:induction-trained");
    const auto own = headsLike(*constructed, 1, 0, *constructed);
    REQUIRE(own.size() == 3);
    CHECK(std::ranges::none_of(own, [](const SimilarHead& head) { return head.layer == 1 && head.head == 0; }));
    if (constructed->period == trained->period) {
        const auto others = headsLike(*constructed, 1, 0, *trained);
        const auto& best =
            trained->all[static_cast<size_t>(others.front().layer * trained->heads + others.front().head)];
        CHECK(best.of(HeadKind::Induction) > 0.4f);
    }
    CHECK(similarity(constructed->printOf(0, 0), constructed->printOf(0, 0)) == Approx(1).margin(1e-4));
    const auto apart = headClusters(*constructed, 0.999f), together = headClusters(*constructed, 0);
    CHECK(apart.size() == 4);
    REQUIRE(together.size() == 1);
    CHECK(together.front().size() == 4);
}

TEST_CASE("induction: without its head copying fails, without another it does not", "[analysis][gpu]") {
    for (const char* path : {"builtin:induction", "builtin:induction-trained"}) {
        INFO(path);
        LanguageModel model(openModelSource(path), {.validation = true});
        const auto found = std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
        const auto induction = std::ranges::max_element(
            found->all, {}, [](const HeadScores& head) { return head.of(HeadKind::Induction); });
        // Different letters that come twice: of the second time, each after the first is known.
        std::vector<int> once;
        for (int i = 0; i < found->period; ++i) once.push_back((i * 11 + 3) % model.info().vocabulary);
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
        model.setGate(induction->layer, induction->head, 0);
        CHECK(accuracy() < 0.1);
        model.setGate(-1, -1, 1);
        for (const HeadScores& other : found->all) { // one of no use
            if (other.title() == "induction" || other.title() == "previous token") continue;
            model.setGate(other.layer, other.head, 0);
            CAPTURE(other.layer, other.head, other.title());
            CHECK(accuracy() > 0.9);
            break;
        }
    }
}
