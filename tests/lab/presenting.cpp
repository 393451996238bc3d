#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/presentation.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/token_strip.h"
#include "tests/lab/lab_window.h"

#include <sstream>

using namespace attn;

namespace {

/// The docks on screen, with their places.
std::map<std::string, std::string> shownDocks(LabWindow& lab) {
    std::map<std::string, std::string> shown;
    for (const QDockWidget* dock : lab.window().findChildren<QDockWidget*>())
        if (!dock->isHidden()) {
            std::ostringstream place;
            const QRect at = dock->geometry();
            place << at.x() << ',' << at.y() << ' ' << at.width() << 'x' << at.height();
            shown[dock->objectName().toStdString()] = place.str();
        }
    return shown;
}

void present(LabWindow& lab) {
    lab.act("present");
    lab.layOut();
    REQUIRE(lab.window().presentation().isOn());
}

/// Presses keys where the keyboard is.
void type(LabWindow& lab, std::initializer_list<Qt::Key> keys) {
    for (const Qt::Key key : keys) {
        QWidget* focused = lab.window().focusWidget();
        QTest::keyClick(focused ? focused : &lab.window(), key);
        REQUIRE(lab.settle());
    }
}

} // namespace

TEST_CASE("presenting: only the figure, the text and the answers are in sight, and Esc brings all back",
          "[lab][presenting]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    lab.act("workspace.inspect");
    lab.layOut();
    const auto before = shownDocks(lab);
    const QByteArray layout = lab.window().session().document().layout;
    present(lab);
    CHECK(shownDocks(lab).size() == 1);
    CHECK(shownDocks(lab).contains("dock.attention"));
    CHECK(lab.find<QDockWidget>("dock.attention").titleBarWidget());
    for (const QWidget* hidden : {static_cast<QWidget*>(lab.window().menuBar()), &lab.find<QWidget>("workspaces"),
                                  &lab.find<QWidget>("attentionDisplay")})
        CHECK_FALSE(hidden->isVisible());
    CHECK(lab.find<TokenStrip>("presentWords").count() == std::ssize(lab.snapshot().sequence->tokens));
    const QString answers = lab.find<QLabel>("presentAnswers").text();
    CAPTURE(answers.toStdString());
    CHECK(answers.startsWith("Next token: "));
    CHECK(answers.count('%') == 3);
    CHECK(answers.count("“") == 3);                            // a full stop is a token too
    CHECK(lab.window().session().document().layout == layout); // what is saved is the usual window

    type(lab, {Qt::Key_Escape});
    lab.layOut();
    CHECK_FALSE(lab.window().presentation().isOn());
    CHECK(shownDocks(lab) == before);
    CHECK(lab.window().menuBar()->isVisible());
    CHECK(lab.find<QWidget>("workspaces").isVisible());
    CHECK(lab.find<QWidget>("attentionDisplay").isVisible());
    CHECK(lab.window().findChild<QWidget*>("presentation") == nullptr);
}

TEST_CASE("presenting: keys choose the head, the layer, the token and the level, and write", "[lab][presenting]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    lab.act("workspace.inspect");
    present(lab);
    const Workbench& bench = lab.window().workbench();
    const int layers = lab.snapshot().model->siteCount(), heads = lab.snapshot().model->site(0).heads;
    REQUIRE(layers >= 2);
    REQUIRE(heads >= 2);
    lab.window().workbench().selectHead(0, 0);
    type(lab, {Qt::Key_Left, Qt::Key_Up}); // there is none before the first
    CHECK(std::pair(bench.selection().site, bench.selection().head) == std::pair(0, 0));
    type(lab, {Qt::Key_Right, Qt::Key_Down});
    CHECK(std::pair(bench.selection().site, bench.selection().head) == std::pair(1, 1));
    CHECK(lab.find<QLabel>("presentPlace").text() == bench.headLabel(1, 1));

    const int last = bench.tokenCount() - 1;
    type(lab, {Qt::Key_PageUp});
    CHECK(bench.selection().row == last - 1);
    CHECK(lab.find<TokenStrip>("presentWords").markedQuery() == last - 1);
    const auto& answers = lab.find<QLabel>("presentAnswers"); // the run keeps no prediction after earlier tokens
    CHECK(answers.text().startsWith("Next token, after the last token: "));
    type(lab, {Qt::Key_PageDown, Qt::Key_PageDown});
    CHECK(bench.selection().row == last);
    CHECK(answers.text().startsWith("Next token: "));
    type(lab, {Qt::Key_PageUp});

    CHECK(lab.find<HeatmapView>("attentionHeatmap").isVisible());
    type(lab, {Qt::Key_Return});
    CHECK_FALSE(lab.find<HeatmapView>("attentionHeatmap").isVisible());
    type(lab, {Qt::Key_Return});
    CHECK(lab.find<HeatmapView>("attentionHeatmap").isVisible());

    type(lab, {Qt::Key_Space});
    REQUIRE(lab.waitFor([&] { return bench.tokenCount() == last + 2; }));
    CHECK(lab.find<TokenStrip>("presentWords").count() == last + 2);
    CHECK(lab.find<TokenStrip>("presentWords").markedQuery() == last + 1); // the new token
    CHECK(lab.window().presentation().isOn());
}

TEST_CASE("presenting: the source of a translation stands above the target", "[lab][presenting]") {
    LabWindow lab((std::string(ATTN_TEST_DIR) + "/golden/t5_gated").c_str(), "the cat is small.");
    REQUIRE(lab.settle());
    const auto siteOf = [&](int stream) { // the first whose queries are rows of a stream
        int site = 0;
        while (lab.snapshot().model->site(site).queryStream != stream) ++site;
        return site;
    };
    lab.window().workbench().selectHead(siteOf(1), 0);
    present(lab);
    const auto& source = lab.find<QLabel>("presentSource");
    CHECK(source.isVisible());
    CHECK(source.text() == "Source: the cat is small.");
    lab.window().workbench().selectHead(siteOf(0), 0); // now the words are the source
    CHECK_FALSE(source.isVisible());
    CHECK(lab.find<TokenStrip>("presentWords").count() == 6);
    type(lab, {Qt::Key_Escape});
}

TEST_CASE("presenting: it ends when another panel is asked for, and takes no keys from then on", "[lab][presenting]") {
    LabWindow lab("builtin:english", "The teacher gave the books");
    const int head = lab.window().workbench().selection().head;
    for (const char* action : {"focusPrompt", "workspace.train", "panel.model", "resetLayout", "present"}) {
        CAPTURE(action);
        present(lab);
        lab.act(action);
        lab.layOut();
        CHECK_FALSE(lab.window().presentation().isOn());
        CHECK(lab.window().menuBar()->isVisible());
        CHECK(lab.find<QWidget>("workspaces").isVisible());
    }
    type(lab, {Qt::Key_Right});
    CHECK(lab.window().workbench().selection().head == head);
    present(lab);
    lab.act("attentionAll"); // is there already
    CHECK(lab.window().presentation().isOn());
}

TEST_CASE("presenting: a picture has its classes, and keys choose a patch", "[lab][presenting]") {
    LabWindow lab("builtin:vit-shapes");
    REQUIRE(lab.settle());
    present(lab);
    const QString answers = lab.find<QLabel>("presentAnswers").text();
    CAPTURE(answers.toStdString());
    CHECK(answers.startsWith("Class: "));
    CHECK_FALSE(lab.find<TokenStrip>("presentWords").isVisible());
    const Workbench& bench = lab.window().workbench();
    type(lab, {Qt::Key_PageDown});
    CHECK(bench.selection().row == 0);
    type(lab, {Qt::Key_PageUp});
    CHECK_FALSE(bench.selection().row);
}

TEST_CASE("presenting: a small window of a projector starts with the figure alone", "[lab][presenting]") {
    LabWindow lab("builtin:english", "The teacher gave the books to the students because");
    const bool isWide = GENERATE(false, true);
    lab.window().resize(isWide ? QSize(1280, 800) : QSize(1024, 700));
    lab.action("themeProjector").trigger();
    lab.window().presentation().startOnSmallScreen();
    lab.act("step");
    CHECK(lab.window().presentation().isOn() == !isWide);
    lab.action("themeLight").trigger();
}

TEST_CASE("presenting: the figure has most of a small screen", "[lab][presenting][room]") {
    LabWindow lab("builtin:english", "The teacher gave the books to the students because");
    lab.act("workspace.inspect");
    lab.window().resize(1024, 700);
    lab.action("themeProjector").trigger();
    present(lab);
    const QSize figure = lab.find<HeatmapView>("attentionHeatmap").size();
    const double share = static_cast<double>(figure.width()) * figure.height() / (1024 * 700);
    CAPTURE(figure.width(), figure.height(), share);
    CHECK(share >= 0.6);
    lab.action("themeLight").trigger();
}
