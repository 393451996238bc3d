#include "engine/analysis/text_head_kinds.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

std::shared_ptr<HeadDetection> detect(const std::string& path) {
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    return std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
}

const HeadScores& headOf(const HeadDetection& detection, int layer, int head) {
    return detection.heads[detection.indexOf(layer, head)];
}

} // namespace

TEST_CASE("detectors: they name the heads of the constructed model", "[analysis][gpu]") {
    const auto found = detect("builtin:induction");
    CHECK(headOf(*found, 0, 0).title() == "previous token");
    CHECK(headOf(*found, 0, 0).of(TextHeadKind::PreviousToken) > 0.99f);
    CHECK(headOf(*found, 0, 1).title() == "current token");
    CHECK(headOf(*found, 1, 0).title() == "induction");
    CHECK(headOf(*found, 1, 0).of(TextHeadKind::Induction) > 0.95f); // the first letter is its own predecessor
    CHECK(headOf(*found, 1, 0).of(TextHeadKind::PreviousToken) < 0.1f);
    CHECK(headOf(*found, 1, 1).title() == "broad");
    CHECK(headOf(*found, 1, 1).of(TextHeadKind::Positional) < 0.05f);
    CHECK(headOf(*found, 0, 0).labels() == std::vector{static_cast<size_t>(TextHeadKind::PreviousToken)});
    CHECK(headOf(*found, 1, 0)
              .finding(static_cast<size_t>(TextHeadKind::Induction))
              .starts_with("96 % of its attention"));
}

TEST_CASE("detectors: they name the heads that training has formed", "[analysis][gpu]") {
    const auto found = detect("builtin:induction-trained");
    CHECK(headOf(*found, 0, 0).title() == "previous token");
    CHECK(headOf(*found, 0, 1).title() == "previous token");
    CHECK(headOf(*found, 1, 0).title() == "induction");
    CHECK(headOf(*found, 1, 0).of(TextHeadKind::Induction) > 0.95f);
    CHECK(headOf(*found, 1, 1).of(TextHeadKind::Induction) < 0.1f);
}

TEST_CASE("detectors: scores of a trained model are shares, and what is not clear has no name", "[analysis][gpu]") {
    const char* path = GENERATE("builtin:induction-trained", "builtin:stories");
    INFO(path);
    const auto found = detect(path);
    for (const HeadScores& head : found->heads) {
        for (float score : head.scores) CHECK((std::isnan(score) || (score >= 0 && score <= 1.0001f)));
        CHECK(std::isnan(head.of(TextHeadKind::NextToken))); // which a causal model does not see
        if (head.labels().empty()) CHECK(head.title() == "mixed");
        for (const size_t kind : head.labels()) CHECK(head.of(kind) >= 0.4f);
        CHECK(head.of(TextHeadKind::Broad) + head.of(TextHeadKind::Positional) <= 1.0001f);
    }
}

TEST_CASE("detectors: heads like one are found in it and in another model", "[analysis][gpu]") {
    const auto constructed = detect("builtin:induction"), trained = detect("builtin:induction-trained");
    const size_t induction = constructed->indexOf(1, 0);
    const auto own = similarHeads(*constructed, induction, *constructed);
    REQUIRE(own.size() == 3);
    CHECK(std::ranges::none_of(own, [&](const SimilarHead& head) { return head.index == induction; }));
    CHECK(constructed->period != trained->period); // fewer letters, and yet:
    const auto others = similarHeads(*constructed, induction, *trained);
    REQUIRE(others.size() == 4);
    CHECK(others.front().index == trained->indexOf(1, 0)); // the head that training formed
    CHECK(others.front().similarity > 0.7f);
    CHECK(others[1].similarity < 0.6f);
    CHECK_THROWS_AS(constructed->indexOf(2, 0), Error);
    HeadDetection shorter = *trained;
    for (HeadPrint& print : shorter.prints) print.areas.width = 4;
    CHECK_THROWS_AS(similarHeads(*constructed, induction, shorter), Error);
    CHECK(similarity(constructed->prints.front(), constructed->prints.front()) == Approx(1).margin(1e-4));
    const auto apart = headGroups(*constructed, 0.999f), together = headGroups(*constructed, 0);
    CHECK(apart.size() == 4);
    REQUIRE(together.size() == 1);
    CHECK(together.front().size() == 4);
}

TEST_CASE("detectors: heads are ordered by kind and score, mixed ones last", "[analysis]") {
    HeadDetection found;
    found.kinds = textHeadKinds();
    const auto add = [&](int head, std::optional<TextHeadKind> kind, float score) {
        HeadScores& scores = found.heads.emplace_back(0, head, textHeadKinds());
        if (kind) scores.scores[static_cast<size_t>(*kind)] = scores.beyond[static_cast<size_t>(*kind)] = score;
    };
    add(0, {}, 0);
    add(1, TextHeadKind::FirstToken, 0.5f);
    add(2, TextHeadKind::Induction, 0.5f);
    add(3, TextHeadKind::FirstToken, 0.75f);
    add(4, TextHeadKind::Broad, 0.5f); // too little to name it
    CHECK(headsByKind(found) == std::vector<size_t>{2, 3, 1, 0, 4});
    CHECK(found.heads[4].title() == "mixed");
}

TEST_CASE("detectors: heads of an encoder are measured in both directions", "[analysis][gpu]") {
    LanguageModel model(openModelSource((std::filesystem::path(ATTN_TEST_DIR) / "golden" / "bert").string()),
                        {.device = {.validation = true}});
    const auto found = std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
    for (const HeadScores& head : found->heads) {
        const float next = head.of(TextHeadKind::NextToken), broad = head.of(TextHeadKind::Broad);
        CHECK((next > 0 && next < 1));
        CHECK((broad > 0 && broad <= 1.0001f));
    }
}

TEST_CASE("induction: without its head copying fails, without another it does not", "[analysis][gpu]") {
    const std::string path = GENERATE("builtin:induction", "builtin:induction-trained");
    INFO(path);
    LanguageModel model(openModelSource(path), {.device = {.validation = true}});
    const auto found = std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {}));
    const auto induction = std::ranges::max_element(
        found->heads, {}, [](const HeadScores& head) { return head.of(TextHeadKind::Induction); });
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
    for (const HeadScores& other : found->heads) { // of no use for it
        if (other.title() == "induction" || other.title() == "previous token") continue;
        CAPTURE(other.site, other.head, other.title());
        model.setGate(other.site, other.head, 0);
        CHECK(accuracy() > 0.9);
        model.setGate(-1, -1, 1);
    }
}
