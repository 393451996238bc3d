#include "app/lab/panels/catalogue.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// Whether a widget draws something itself, besides its children and an even background.
bool isPainted(QWidget& widget) {
    const QString type = widget.metaObject()->className();
    if (type.startsWith("Q") && type != "QWidget") return false; // Qt's own widgets speak for themselves
    QImage image(widget.size(), QImage::Format_RGB32);
    image.fill(QColor(1, 2, 3));
    widget.render(&image, {}, {}, QWidget::RenderFlags());
    QImage even = image;
    even.fill(image.pixel(0, 0));
    return image != even;
}

/// The widget that screen readers find for it: an area that scrolls stands for what is drawn in it.
QWidget& spokenFor(QWidget& widget) {
    return widget.objectName() == "qt_scrollarea_viewport" ? *widget.parentWidget() : widget;
}

QString textOf(QWidget& widget, QAccessible::Text kind) {
    QAccessibleInterface* face = QAccessible::queryAccessibleInterface(&widget);
    return face ? face->text(kind) : QString();
}

int checkPainted(QWidget& root) {
    int painted = 0;
    for (QWidget* widget : root.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->size().isEmpty()) continue;
        if (widget->testAttribute(Qt::WA_TransparentForMouseEvents) || !isPainted(*widget)) continue;
        QWidget& spoken = spokenFor(*widget);
        if (QString(spoken.metaObject()->className()).startsWith("Q") && &spoken != widget) continue;
        ++painted;
        INFO(spoken.metaObject()->className() << " '" << spoken.objectName().toStdString() << "' in "
                                              << spoken.parentWidget()->objectName().toStdString());
        CHECK_FALSE(textOf(spoken, QAccessible::Name).isEmpty());
        CHECK_FALSE((textOf(spoken, QAccessible::Description) + textOf(spoken, QAccessible::Value)).isEmpty());
    }
    return painted;
}

} // namespace

TEST_CASE("lab: every painted widget has a name and says what it shows", "[lab]") {
    LabWindow lab;
    int painted = 0;
    for (const PanelDescriptor& panel : panelCatalogue()) {
        INFO(panel.id);
        lab.showPanel(panel.id);
        REQUIRE(lab.settle());
        painted += checkPainted(lab.window());
    }
    CHECK(painted > 40); // widgets that stay in view count more than once
}

TEST_CASE("lab: no name hides the text of a label", "[lab]") {
    LabWindow lab;
    int labels = 0;
    for (const PanelDescriptor& panel : panelCatalogue()) {
        lab.showPanel(panel.id);
        REQUIRE(lab.settle());
        for (QLabel* label : lab.window().findChildren<QLabel*>()) {
            const QString text = label->text().remove('&');
            if (!label->isVisible() || text.size() < 2 || Qt::mightBeRichText(text))
                continue; // one character: a symbol
            ++labels;
            CHECK(textOf(*label, QAccessible::Name).remove('&').toStdString() == text.toStdString());
        }
    }
    CHECK(labels > 100);
}

TEST_CASE("lab: what a painted widget says follows the pointer and the arrow keys", "[lab]") {
    LabWindow lab;
    lab.showPanel("playground");
    REQUIRE(lab.settle());
    REQUIRE(lab.waitFor([&] { return lab.window().findChild<MatrixView*>("map.pattern") != nullptr; }));
    auto& pattern = lab.find<MatrixView>("map.pattern");
    const QString before = pattern.accessibleDescription();
    pattern.setFocus();
    QTest::keyClick(&pattern, Qt::Key_Down);
    QTest::keyClick(&pattern, Qt::Key_Down);
    const QString first = pattern.accessibleDescription();
    CHECK(first != before);
    CHECK(first.contains("query i = 1"));
    QTest::keyClick(&pattern, Qt::Key_Right);
    CHECK(pattern.accessibleDescription() != first);
    CHECK(pattern.accessibleDescription().contains("key j = 1"));

    lab.find<QTabWidget>("playViews").setCurrentIndex(4);
    auto& bias = lab.find<LinesView>("positionAdded");
    REQUIRE(lab.waitFor([&] { return bias.isVisible() && !bias.figure().isEmpty(); }));
    bias.setFocus();
    QTest::keyClick(&bias, Qt::Key_Right);
    const QString at = bias.accessibleDescription();
    QTest::keyClick(&bias, Qt::Key_Right);
    CHECK(bias.accessibleDescription() != at);
}

TEST_CASE("lab: every column of every table is explained by its header", "[lab]") {
    LabWindow lab;
    for (const PanelDescriptor& panel : panelCatalogue()) {
        lab.showPanel(panel.id);
        REQUIRE(lab.settle());
    }
    int tables = 0;
    for (const QTreeView* table : lab.window().findChildren<QTreeView*>()) {
        INFO(table->objectName().toStdString());
        const QAbstractItemModel& model = *table->model();
        if (model.columnCount() == 0 || (table->isHidden() && model.rowCount() == 0)) continue; // has no result yet
        ++tables;
        CHECK_FALSE(table->isHeaderHidden());
        for (int column = 0; column < model.columnCount(); ++column) {
            INFO("column " << column);
            CHECK(model.headerData(column, Qt::Horizontal).toString().size() > 1 - table->isColumnHidden(column));
            CHECK(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().split(' ').size() > 2);
        }
    }
    CHECK(tables > 8);
}
