#include "app/lab/widgets/attention_gallery.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/spec_editor.h"
#include "engine/attention/known_attentions.h"
#include "tests/lab/playground_test.h"

#include <cmath>

using namespace attn;

namespace {

std::string specOfModel(std::string_view title) {
    for (const KnownAttention& known : knownAttentions())
        if (known.title == title) return std::string(known.spec);
    return {};
}

} // namespace

TEST_CASE("lab: cards of known models show patterns that the playground computes when they are in front, once",
          "[lab]") {
    PlaygroundWindow lab;
    auto& gallery = lab.find<AttentionGallery>("gallery");
    PlaygroundSession& session = lab.window().workbench().playground().session();
    CHECK(gallery.pattern("GPT-2").isEmpty()); // nobody has looked at it yet
    REQUIRE(session.waitIdle());
    const uint64_t before = session.latest()->version;
    auto& views = lab.find<QTabWidget>("playViews");
    QWidget* heatmaps = views.currentWidget();
    views.setCurrentWidget(&gallery);
    REQUIRE(lab.waitFor([&] { return !gallery.query(); }));
    CHECK(session.latest()->version <= before + knownAttentions().size());
    for (const KnownAttention& known : knownAttentions()) {
        const QString title = QString::fromStdString(std::string(known.title));
        INFO(known.title);
        const MatrixFigure& pattern = gallery.pattern(title);
        REQUIRE(pattern.rows() == 32);
        CHECK(pattern.columns() == 32);
        CHECK(pattern.valueAt({0, 0}) > 0);
        const auto& card = lab.find<QToolButton>(qPrintable("known." + title));
        CHECK(card.accessibleName() == title);
        CHECK(card.accessibleDescription().contains(QString::number(known.source.year)));
    }
    const auto sees = [&](const char* title, int query, int key) {
        return !std::isnan(gallery.pattern(title).valueAt({query, key}));
    };
    CHECK(sees("GPT-2", 20, 3));
    CHECK_FALSE(sees("GPT-2", 20, 21));
    CHECK(sees("BERT", 20, 21));
    CHECK(sees("Mistral 7B", 20, 13));
    CHECK_FALSE(sees("Mistral 7B", 20, 12));
    CHECK(sees("Longformer", 20, 0));
    CHECK_FALSE(sees("Longformer", 20, 10));

    // Nothing is computed again, neither behind the heatmaps nor in front.
    views.setCurrentWidget(heatmaps);
    REQUIRE(session.waitIdle());
    const uint64_t computed = session.latest()->version;
    views.setCurrentWidget(&gallery);
    QTest::qWait(50);
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->version == computed);
}

TEST_CASE("lab: a card of a known model sets the attention and shows its heatmaps, and Undo takes it back", "[lab]") {
    PlaygroundWindow lab;
    const SpecEditor& editor = *lab.window().findChild<SpecEditor*>();
    const AttentionSpec before = editor.spec();
    auto& views = lab.find<QTabWidget>("playViews");
    auto& gallery = lab.find<AttentionGallery>("gallery");
    views.setCurrentWidget(&gallery);
    REQUIRE(lab.waitFor([&] { return !gallery.query(); }));
    const auto pick = [&](const char* title) {
        views.setCurrentWidget(&gallery);
        lab.layOut();
        auto& card = lab.find<QToolButton>((std::string("known.") + title).c_str());
        gallery.ensureWidgetVisible(&card);
        QTest::mouseClick(&card, Qt::LeftButton);
        const std::string spec = specOfModel(title);
        CHECK(editor.spec() == AttentionSpec::parse(spec));
        CHECK(lab.find<MatrixView>("map.pattern").isVisible());
        REQUIRE(shows(lab, spec.c_str()));
    };
    pick("Longformer");
    pick("Performer");
    // The heatmap shows the pattern of the card.
    const float onCard = gallery.pattern("Performer").valueAt({20, 3});
    CHECK(onCard > 0);
    REQUIRE(lab.waitFor([&] { return lab.find<MatrixView>("map.pattern").figure().valueAt({20, 3}) == onCard; }));
    lab.press(lab.action("undo"));
    CHECK(editor.spec() == AttentionSpec::parse(specOfModel("Longformer")));
    lab.press(lab.action("undo"));
    CHECK(editor.spec() == before);
}

TEST_CASE("lab: heads, position and mask come first, and the settings remember that the other parts are unfolded",
          "[lab]") {
    PlaygroundWindow lab;
    int above = -1;
    for (const char* name : {"slot.heads", "slot.position", "maskText", "specText", "moreToggle", "blockToggle"}) {
        INFO(name);
        const auto& control = lab.find<QWidget>(name);
        CHECK(control.isVisible());
        const int top = control.mapTo(&lab.window(), QPoint()).y();
        CHECK(top > above);
        above = top;
    }
    for (const char* name :
         {"slot.projections", "slot.score", "slot.normaliser", "slot.memory", "slot.output", "slot.mixer", "slot.norm"})
        CHECK_FALSE(lab.find<QComboBox>(name).isVisible());
    const auto begins = [](const char* toggle) {
        const SpecEditor next;
        return next.findChild<QToolButton*>(toggle)->isChecked();
    };
    CHECK_FALSE(begins("moreToggle"));
    QTest::mouseClick(&lab.find<QToolButton>("moreToggle"), Qt::LeftButton);
    CHECK(lab.find<QComboBox>("slot.score").isVisible());
    CHECK_FALSE(lab.find<QComboBox>("slot.norm").isVisible());
    CHECK(begins("moreToggle"));
    CHECK_FALSE(begins("blockToggle"));
    QTest::mouseClick(&lab.find<QToolButton>("moreToggle"), Qt::LeftButton);
    CHECK_FALSE(begins("moreToggle"));
}

TEST_CASE("lab: a part that is chosen elsewhere unfolds its group, which the user can fold again", "[lab]") {
    PlaygroundWindow lab;
    const auto& score = lab.find<QComboBox>("slot.score");
    showSpec(lab, "score=dot, mask=full");
    CHECK(score.isVisible());
    QTest::mouseClick(&lab.find<QToolButton>("moreToggle"), Qt::LeftButton);
    CHECK_FALSE(score.isVisible());
    showSpec(lab, "score=dot, mask=causal"); // the score is the same
    CHECK_FALSE(score.isVisible());
    showSpec(lab, "score=cosine, mask=causal");
    CHECK(score.isVisible());
}

TEST_CASE("lab: with a sentence, a known model keeps the heads of the model's layer if it can", "[lab]") {
    PlaygroundWindow lab;
    QComboBox& input = lab.find<QComboBox>("playInput");
    input.setFocus();
    QTest::keyClick(&input, Qt::Key_Home);
    QTest::keyClick(&input, Qt::Key_Down);
    REQUIRE(lab.waitFor([&] { return shown(lab).query.layer && !shown(lab).failure; }));
    const SpecEditor& editor = *lab.window().findChild<SpecEditor*>();
    const PartChoice heads = editor.spec().parts.at(Slot::Heads);
    emit lab.find<AttentionGallery>("gallery").chosen(AttentionSpec::parse(specOfModel("T5, encoder")), "T5, encoder");
    CHECK(editor.spec().parts.at(Slot::Heads) == heads);
    CHECK(editor.spec().mask == AttentionSpec::parse(specOfModel("T5, encoder")).mask);
    CHECK(editor.spec().id(Slot::Position) == "t5");
    REQUIRE(lab.waitFor([&] { return shown(lab).query.spec == editor.spec() && shown(lab).query.layer; }));
    CHECK_FALSE(shown(lab).failure);
    // Hashing needs heads of its own kind.
    const AttentionSpec reformer = AttentionSpec::parse(specOfModel("Reformer"));
    emit lab.find<AttentionGallery>("gallery").chosen(reformer, "Reformer");
    CHECK(editor.spec() == reformer);
}
