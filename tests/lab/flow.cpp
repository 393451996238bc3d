#include "app/lab/controls/flow_strip.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/widgets/head_preview.h"
#include "engine/analysis/logit_attribution.h"
#include "tests/lab/lab_window.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

const FlowFigure& flowOf(LabWindow& lab) {
    return static_cast<const FlowFigure&>(*lab.find<FlowStrip>("attentionFlow").figure());
}

} // namespace

TEST_CASE("flow: the strongest heads lead from the last token to the prediction", "[lab][flow]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    const FlowFigure& flow = flowOf(lab);
    const ModelInfo& model = *lab.snapshot().model;
    const auto result = std::static_pointer_cast<const LogitAttribution>(lab.snapshot().analyses.at("logit_flow"));
    const std::vector<float>& logits = lab.snapshot().next->logits;
    CHECK(result->target.token == std::ranges::max_element(logits) - logits.begin());
    CHECK(flow.target == QStringLiteral("logit of ") + flow.to);
    CHECK(flow.from.contains("books"));
    size_t heads = 0;
    for (const auto& part : result->components)
        if (part.kind == LogitAttribution::Kind::Head) {
            CHECK(flow.all[heads].value == part.value);
            ++heads;
        }
    CHECK(flow.all.size() == heads);
    for (int site = 0; site < model.siteCount(); ++site) {
        const auto first = std::ranges::find(flow.heads, site, &FlowFigure::Head::site);
        REQUIRE(first != flow.heads.end());
        for (const FlowFigure::Head& head : flow.all)
            if (head.site == site) CHECK(std::abs(head.value) <= std::abs(first->value));
    }

    // A click opens the head.
    auto& strip = lab.find<FlowStrip>("attentionFlow");
    const int item = flow.items() - 1;
    const FlowFigure::Head last = flow.heads.back();
    const QRectF place = flow.places(strip.rect(), strip.theme())[static_cast<size_t>(item)];
    QTest::mouseClick(&strip, Qt::LeftButton, {}, place.center().toPoint());
    REQUIRE(lab.settle());
    const Selection& selection = lab.window().workbench().selection();
    CHECK(std::pair(selection.site, selection.head) == std::pair(last.site, last.head));
    CHECK(lab.find<AttentionPanel>("attention").level() == AttentionLevel::OneHead);
    CHECK(flowOf(lab).chosen == item);
    CHECK(strip.accessibleDescription().contains("raises the logit of") != (last.value < 0));
}

TEST_CASE("flow: a bar under the pointer shows its head, and the flow follows the token under the pointer",
          "[lab][flow]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    lab.window().resize(1440, 900);
    lab.layOut();
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    auto& strip = lab.find<FlowStrip>("attentionFlow");
    hover(strip, flowOf(lab).places(strip.rect(), strip.theme()).front().center().toPoint());
    CHECK(lab.find<HeadPreview>("headPreview").isVisible());
    CHECK(lab.find<HeadPreview>("headPreview").figure().title.startsWith(flowOf(lab).heads.front().name));

    const QString after = flowOf(lab).from;
    lab.forget();
    lab.window().workbench().hoverToken(1);
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0 && flowOf(lab).from.contains("teacher"); }));
    CHECK(lab.askedOf<LogitFlowAnalysis>() == 1);
    lab.window().workbench().hoverToken(-1);
    REQUIRE(lab.waitFor([&] { return flowOf(lab).from == after; }));
    CHECK(lab.askedOf<LogitFlowAnalysis>() == 1); // it is known
}

TEST_CASE("flow: it asks nothing while it is out of sight", "[lab][flow]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    lab.find<QToolButton>("attentionFlowShown").click();
    REQUIRE(lab.settle());
    lab.forget();
    lab.act("step");
    CHECK(lab.askedOf<LogitFlowAnalysis>() == 0);
    CHECK_FALSE(lab.find<FlowStrip>("attentionFlow").isVisible());
    lab.find<QToolButton>("attentionFlowShown").click();
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    CHECK(lab.askedOf<LogitFlowAnalysis>() == 1);
}

TEST_CASE("flow: pictures have one too, without a token, and a model that allows none says why", "[lab][flow]") {
    LabWindow pictures("builtin:vit-shapes");
    REQUIRE(pictures.waitFor([&] { return flowOf(pictures).items() > 0; }));
    CHECK(flowOf(pictures).from.isEmpty());

    LabWindow masked("builtin:masked", "Lily had a [MASK].");
    REQUIRE(masked.waitFor([&] { return flowOf(masked).note.contains("is not the sum of what the heads add"); }));
    CHECK(masked.find<FlowStrip>("attentionFlow").toolTip().contains("norms stand between its sublayers"));
}

TEST_CASE("flow: a difference of two runs has none", "[lab][flow]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    lab.closeGate(0, 0, 0);
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
    const auto removed =
        std::ranges::find_if(flowOf(lab).all, [](const auto& head) { return head.site + head.head == 0; });
    REQUIRE(removed != flowOf(lab).all.end());
    CHECK(removed->value == 0);
    lab.window().workbench().showRun(ShownRun::Difference);
    REQUIRE(lab.settle());
    CHECK(flowOf(lab).items() == 0);
    CHECK(flowOf(lab).note.contains("shows one run"));
    lab.window().workbench().showRun(ShownRun::Original);
    REQUIRE(lab.waitFor([&] { return flowOf(lab).items() > 0; }));
}
