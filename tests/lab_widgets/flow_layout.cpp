#include "app/lab/widgets/flow_layout.h"

#include "tests/lab_widgets/windows.h"

using namespace attn;

TEST_CASE("flow layout: wraps, skips what is hidden, and mirrors", "[lab]") {
    QWidget window;
    auto* row = new FlowLayout(&window);
    std::vector<QPushButton*> buttons;
    for (int i = 0; i < 6; ++i) {
        buttons.push_back(new QPushButton(QStringLiteral("button %1").arg(i)));
        row->addWidget(buttons.back());
    }
    present(window, {200, 300});
    CHECK(row->heightForWidth(150) > row->heightForWidth(2000));
    CHECK(row->heightForWidth(2000) == buttons[0]->height());
    for (size_t i = 1; i < buttons.size(); ++i) {
        CHECK(window.rect().contains(buttons[i]->geometry()));
        CHECK_FALSE(buttons[i]->geometry().intersects(buttons[i - 1]->geometry()));
    }
    const QRect second = buttons[1]->geometry();
    buttons[0]->hide();
    QApplication::processEvents();
    CHECK(buttons[1]->geometry().left() == 0);
    CHECK(buttons[1]->geometry() != second);
    window.setLayoutDirection(Qt::RightToLeft);
    QApplication::processEvents();
    CHECK(buttons[1]->geometry().right() == window.width() - 1);
}

TEST_CASE("flow layout: a stretched control takes the room that is left in its line", "[lab]") {
    QWidget window;
    auto* row = new FlowLayout(&window);
    auto *first = new QPushButton("first"), *last = new QPushButton("last");
    auto* field = new QLineEdit;
    row->addWidget(first);
    row->addStretched(field);
    row->addWidget(last);
    present(window, {600, 100});
    CHECK(field->width() > field->sizeHint().width());
    CHECK(last->geometry().right() == window.width() - 1);
    CHECK(last->y() == first->y());
    window.resize(field->sizeHint().width() + 10, 200);
    QApplication::processEvents();
    CHECK(field->width() == window.width());
    CHECK(last->y() > field->y());
}
