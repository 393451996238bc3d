#include "app/lab/panels/profile_panel.h"
#include "app/lab/widgets/lines_view.h"
#include "engine/inference/changes.h"
#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("lab: the profile follows the selected head, and a click on a weight explains it", "[lab]") {
    LabWindow lab("builtin:induction", "the quick fox the quick");
    CHECK_FALSE(lab.snapshot().profile); // nobody looks
    lab.showPanel("profile");
    auto& layer = lab.find<QSpinBox>("attentionLayer");
    auto& head = lab.find<QSpinBox>("attentionHeadNumber");
    layer.setValue(0);
    head.setValue(0); // the previous letter
    REQUIRE(lab.waitFor([&] {
        const auto profile = lab.snapshot().profile;
        return profile && profile->site == 0 && profile->head == 0 && profile->exactRows == 1;
    }));
    REQUIRE(lab.settle());
    const auto tokens = lab.snapshot().sequence->tokens.size();
    const LinesFigure& received = lab.find<LinesView>("profileReceived").figure();
    const LinesFigure& distances = lab.find<LinesView>("profileDistances").figure();
    REQUIRE(received.places() == static_cast<int>(tokens));
    const auto& weights = received.lines[0].values;
    CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(static_cast<double>(tokens)).epsilon(1e-4));
    CHECK(received.placeText(4) == QStringLiteral("q"));
    // All rows but the first look one letter back.
    CHECK(distances.lines[0].values[1] ==
          Approx(static_cast<double>(tokens - 1) / static_cast<double>(tokens)).epsilon(0.01));
    CHECK(distances.placeText(2) == QStringLiteral("2–3"));
    CHECK(distances.places() == static_cast<int>(std::bit_width(tokens - 1)) + 1);

    // A pattern that is set by hand is what is counted, and is said.
    lab.window().bridge().post(SetChangesCommand{std::make_shared<const Changes>(
        Changes{{}, {{.site = 0, .head = 0, .kind = PatternChange::Kind::Pin, .key = 2}}})});
    const auto receivedBy = [&](size_t key) {
        return lab.find<LinesView>("profileReceived").figure().lines[0].values[key];
    };
    REQUIRE(lab.waitFor([&] { return receivedBy(2) >= static_cast<float>(tokens - 2); }));
    const auto& title = lab.find<QLabel>("profileTitle");
    CHECK(title.text().startsWith(QStringLiteral("L0 H0, changed pattern")));
    lab.window().bridge().post(SetChangesCommand{});
    REQUIRE(lab.waitFor([&] { return receivedBy(2) < 1.5f; }));
    REQUIRE(lab.settle());
    CHECK_FALSE(title.text().contains(QStringLiteral("changed pattern")));

    auto& largest = lab.find<QTreeWidget>("profileLargest");
    const HeadProfile::Cell first = lab.snapshot().profile->largest.front();
    REQUIRE(largest.topLevelItemCount() == 12);
    QTest::mouseClick(largest.viewport(), Qt::LeftButton, {}, largest.visualItemRect(largest.topLevelItem(0)).center());
    REQUIRE(lab.waitFor([&] { return lab.snapshot().explanation != nullptr; }));
    CHECK(lab.snapshot().explanation->query == first.query);
    CHECK(lab.snapshot().explanation->key == first.key);
    CHECK(first.query - first.key == 1);
    CHECK(lab.find<QDockWidget>("dock.cell").isVisible());
    // Out of sight it is not computed.
    REQUIRE(lab.waitFor([&] { return !lab.snapshot().profile; }));
}
