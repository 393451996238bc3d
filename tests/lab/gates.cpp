#include "tests/lab/lab_window.h"

#include "app/lab/widgets/heads_grid.h"
#include "tests/support/hover.h"

using namespace attn;

TEST_CASE("heads: the stripe of the previous-token head lights up at the token before the newest", "[lab]") {
    LabWindow lab("builtin:induction", "abcdabc");
    auto& grid = lab.find<HeadsGrid>("headsGrid");
    const int keys = lab.snapshot().readoutRows->keys;
    const QImage picture = grid.viewport()->grab().toImage();
    const QRect cell = grid.cellRect(0, 0);
    const auto colourAt = [&](int key) {
        const int x = cell.left() + 1 + (2 * key + 1) * (cell.width() - 2) / (2 * keys);
        return picture.pixelColor(QPointF(x, cell.top() + 5).toPoint() * picture.devicePixelRatio());
    };
    // The hue is far from the grey of the ground: saturation tells whether a stripe is lit.
    CHECK(colourAt(keys - 2).saturation() > 150);
    for (int key = 0; key < keys; ++key)
        if (key != keys - 2) CHECK(colourAt(key).saturation() < 60);
}

TEST_CASE("heads: the gate slider removes a head and undo brings it back", "[lab]") {
    LabWindow lab;
    auto& grid = lab.find<HeadsGrid>("headsGrid");
    QTest::mouseClick(grid.viewport(), Qt::LeftButton, {}, grid.cellRect(1, 0).center());
    lab.find<QSlider>("gate").setValue(0);
    REQUIRE(lab.settle());
    const auto posted = lab.postedOf<SetChangesCommand>();
    REQUIRE(posted.size() == 1);
    CHECK(*posted[0].changes == Changes{.gates = {{{1, 0}, 0}}});
    CHECK(grid.gate(1, 0) == 0);
    lab.act("undo");
    CHECK(grid.gate(1, 0) == 1);
    CHECK(lab.find<QSlider>("gate").value() == 100);
}

TEST_CASE("heads: a drag of the gate is one step of undo, however long it takes", "[lab]") {
    LabWindow lab;
    auto& gate = lab.find<QSlider>("gate");
    const auto handle = [&] {
        lab.layOut(); // the label beside it may have grown
        QStyleOptionSlider option;
        option.initFrom(&gate);
        option.minimum = gate.minimum();
        option.maximum = gate.maximum();
        option.sliderPosition = option.sliderValue = gate.value();
        return gate.style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, &gate).center();
    };
    const auto drag = [&](std::initializer_list<double> shares) { // of the slider's width
        QPoint at = handle();
        QTest::mousePress(&gate, Qt::LeftButton, {}, at);
        REQUIRE(gate.isSliderDown());
        for (const double share : shares) {
            lab.pause();
            at.setX(static_cast<int>(share * gate.width()));
            hover(gate, at, Qt::LeftButton);
            REQUIRE(lab.settle());
        }
        QTest::mouseRelease(&gate, Qt::LeftButton, {}, at);
        REQUIRE(lab.settle());
    };
    const auto steps = [&] { return lab.window().workbench().undoStack().count(); };
    drag({0.75, 0.5, 0.25});
    CHECK(gate.value() < 50);
    CHECK(steps() == 1);
    lab.act("undo");
    CHECK(gate.value() == 100);
    // Another press is another step, however soon it comes.
    drag({0.25});
    drag({0.5});
    CHECK(steps() == 2);
    lab.act("undo");
    CHECK(gate.value() < 50);
}
