#include "app/lab/common/theme.h"
#include "app/lab/panels/catalogue.h"
#include "app/lab/shell/workspaces.h"
#include "app/lab/widgets/prompt_editor.h"
#include "tests/lab/lab_window.h"

using namespace attn;

// A layout whose size follows from its own size can ask for itself without end: within one call until the stack is
// full, or from event to event. Every panel must come to rest in a window of any size.

namespace {

/// Counts how often each widget gets another size.
class Resizes : public QObject {
public:
    Resizes() { qApp->installEventFilter(this); }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) {
            wasBusy_ = true;
            if (int& count = ++counts_[{watched, event->type()}]; count > most_) {
                most_ = count;
                name_ = std::string(watched->metaObject()->className()) + " " + watched->objectName().toStdString();
            }
        }
        return false;
    }
    /// Runs the event loop until nothing is laid out any more. Counts rounds, not time.
    bool rest() {
        counts_.clear();
        most_ = 0;
        int quiet = 0;
        for (int round = 0; round < 100 && quiet < 3; ++round) {
            wasBusy_ = false;
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
            QCoreApplication::processEvents();
            quiet = wasBusy_ ? 0 : quiet + 1;
        }
        return quiet >= 3;
    }
    int most() const { return most_; }
    const std::string& name() const { return name_; }

private:
    std::map<std::pair<const QObject*, QEvent::Type>, int> counts_;
    int most_ = 0;
    std::string name_;
    bool wasBusy_ = false;
};

/// A few for each level of layouts; without an end it would be hundreds.
constexpr int kMostLayouts = 16;

} // namespace

TEST_CASE("layouts: every panel comes to rest in a window of any size, text and theme", "[lab][layouts]") {
    struct Case {
        const char* model;
        ThemeId theme;
        int textSize;
    };
    const Case look =
        GENERATE(Case{"builtin:english", ThemeId::Light, 100}, Case{"builtin:vit-shapes", ThemeId::Dark, 170},
                 Case{"builtin:numbers-de", ThemeId::Projector, 60});
    LabWindow lab(look.model);
    applyTheme(look.theme, look.textSize);
    std::vector<QString> panels{"start"};
    for (const PanelDescriptor& panel : panelCatalogue()) panels.push_back(panel.id);
    Resizes resizes;
    const auto check = [&](QWidget& window, const QSize& size) {
        window.resize(size);
        CAPTURE(look.model, window.objectName().toStdString(), size.width(), size.height());
        const bool rests = resizes.rest();
        CAPTURE(resizes.most(), resizes.name());
        CHECK(rests);
        CHECK(resizes.most() <= kMostLayouts);
    };
    for (const QString& panel : panels) {
        lab.window().workbench().showPanel(panel);
        auto& dock = lab.find<QDockWidget>(("dock." + panel).toLatin1().constData());
        if (dock.isHidden()) continue; // of no use with this model
        dock.setFloating(true);
        for (int width = 200, height = 180; width <= 2000; width += 1 + width / 9) {
            check(dock, {width, height});
            height = height < 900 ? height + 90 : 180;
        }
        dock.setFloating(false);
        (void)resizes.rest();
    }
    for (const Workspace& workspace : workspaces()) {
        lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
        for (int width = 600, height = 400; width <= 1600; width += 77, height += 43)
            check(lab.window(), {width, height});
    }
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("layouts: lists of a fixed height show whole rows, in every size of text", "[lab][layouts]") {
    LabWindow lab;
    int count = 0;
    for (const int size : {100, 150, 70}) {
        applyTheme(ThemeId::Light, size);
        lab.layOut();
        for (auto* list : lab.window().findChildren<QTreeWidget*>()) {
            if (list->minimumHeight() != list->maximumHeight()) continue;
            ++count;
            list->resize(list->width(), list->maximumHeight());
            const QTreeWidgetItem item(list, {QStringLiteral("a row")});
            list->doItemsLayout();
            const int row = list->visualItemRect(&item).height();
            INFO(list->objectName().toStdString() << " at " << size << " %, a row of " << row << " pixels");
            CHECK((list->maximumHeight() - 2 * list->frameWidth() - list->header()->sizeHint().height()) % row == 0);
        }
    }
    CHECK(count >= 9);
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("layouts: lists that fill their panel end below a whole row, at every height", "[lab][layouts]") {
    LabWindow lab("builtin:stories", "Once upon a time there was a little girl who");
    int full = 0;
    const auto check = [&] {
        for (auto* list : lab.window().findChildren<QAbstractItemView*>()) {
            if (!list->isVisible() || list->visibleRegion().isEmpty()) continue;
            list->scrollToTop();
            const int height = list->viewport()->height();
            const QModelIndex last = list->indexAt({1, height - 1});
            INFO(list->objectName().toStdString() << ", " << height << " pixels");
            if (!last.isValid()) continue;
            CHECK(list->visualRect(last).bottom() < height);
            ++full;
        }
    };
    for (const auto& [theme, size] :
         {std::pair{ThemeId::Light, 100}, {ThemeId::Dark, 150}, {ThemeId::Projector, 100}}) {
        applyTheme(theme, size);
        lab.layOut();
        for (const char* panel : {"next", "model", "branches"}) {
            lab.showPanel(panel);
            for (const int height : {600, 613, 687, 731, 794, 860}) {
                INFO(panel << " at " << size << " %, window of " << height);
                lab.window().resize(1280, height);
                lab.layOut();
                QTest::qWait(20);
                check();
            }
        }
    }
    CHECK(full > 20);
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("layouts: lists and docks without room ask for no negative sizes", "[lab][layouts]") {
    LabWindow lab("builtin:stories", "Once upon a time");
    static QStringList complaints;
    complaints.clear();
    const QtMessageHandler usual =
        qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& text) {
            if (type == QtWarningMsg) complaints << text;
        });
    auto& list = lab.find<QAbstractItemView>("candidates");
    for (int height = 0; height < 40; ++height) {
        list.setMinimumHeight(1);
        list.resize(list.width(), height);
        QTest::qWait(1);
    }
    for (const int width : {1, 40, 300}) {
        lab.window().setMinimumSize(1, 1);
        lab.window().resize(width, width);
        for (const Workspace& workspace : workspaces())
            lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
    }
    qInstallMessageHandler(usual);
    const QStringList sizes = complaints.filter("Negative sizes") + complaints.filter("sizes need to be");
    CHECK(sizes.join('\n').toStdString() == "");
}

TEST_CASE("layouts: the prompt finds its size whether its text needs a bar or not", "[lab][layouts]") {
    makeApplication(QDir::tempPath());
    PromptEditor editor;
    editor.show();
    QString text;
    for (int words = 0; words < 60; words += 3) {
        text += "teacher of it ";
        editor.setPlainText(text);
        for (int width = 120; width < 400; width += 1)
            editor.resize(width, 40 + width * 7 % 60); // recursion without an end would overflow the stack
    }
    for (const int height : {44, 61, 78, 95}) {
        editor.resize(300, height);
        // Each line is shown whole or not at all.
        CHECK(editor.viewport()->height() <= height);
        CHECK((editor.viewport()->height() - qCeil(2 * editor.document()->documentMargin())) %
                  editor.fontMetrics().lineSpacing() ==
              0);
    }
}
