#include "app/lab/common/focus_ring.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

TEST_CASE("focus ring: is as wide as its control after a scroll bar has gone", "[lab]") {
    QScrollArea area;
    const FocusRing ring(&area);
    area.setWidgetResizable(true);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    auto* control = new QPushButton("wide");
    control->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    auto* filler = new QWidget;
    filler->setFixedHeight(400);
    column->addWidget(control);
    column->addWidget(filler);
    area.setWidget(content);
    present(area, {240, 160});
    control->setFocus(Qt::TabFocusReason);
    const auto isAround = [&] {
        const auto* mark = area.findChild<QWidget*>("focusRing");
        return mark && mark->geometry() ==
                           control->rect()
                               .translated(control->mapTo(area.viewport(), QPoint()))
                               .adjusted(-FocusRing::kWidth, -FocusRing::kWidth, FocusRing::kWidth, FocusRing::kWidth)
                               .intersected(area.viewport()->rect());
    };
    REQUIRE(area.verticalScrollBar()->isVisible());
    REQUIRE(QTest::qWaitFor(isAround));
    const int narrow = control->width();
    filler->setFixedHeight(20);
    REQUIRE(QTest::qWaitFor([&] { return !area.verticalScrollBar()->isVisible() && control->width() > narrow; }));
    CHECK(QTest::qWaitFor(isAround, 1000));
}

TEST_CASE("focus ring: goes from window to window as the same widget", "[lab]") {
    QWidget first, second;
    const FocusRing ring(&first);
    std::vector<QLineEdit*> fields;
    for (QWidget* window : {&first, &second}) fields.push_back(new QLineEdit(window));
    present(first, {240, 160});
    fields[0]->setFocus();
    QPointer<QWidget> mark;
    REQUIRE(QTest::qWaitFor([&] { return (mark = first.findChild<QWidget*>("focusRing")) != nullptr; }));
    present(second, {240, 160});
    fields[1]->setFocus();
    REQUIRE(QTest::qWaitFor([&] { return second.findChild<QWidget*>("focusRing") != nullptr; }));
    CHECK(mark == second.findChild<QWidget*>("focusRing")); // Qt may hold it in a list of children that it shows
}
