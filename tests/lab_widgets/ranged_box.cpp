#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/real_box.h"
#include "app/lab/widgets/site_box.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

namespace {

void type(QAbstractSpinBox& box, const QString& text) {
    box.setFocus();
    box.selectAll();
    QTest::keyClicks(&box, text);
    QTest::keyClick(&box, Qt::Key_Return);
    QCoreApplication::processEvents();
}

/// What the window says of the last number; empty: nothing is visible.
QString note(QWidget& window) {
    for (const auto* label : window.findChildren<QLabel*>("rangeNote"))
        if (label->isVisible()) return label->text();
    return {};
}

} // namespace

TEST_CASE("ranged boxes: a number outside of the range becomes the bound, and a note says so", "[lab]") {
    QWidget window;
    WholeBox whole(&window);
    whole.setRange(1, 100);
    whole.setValue(50);
    whole.setSuffix(" tokens");
    RangedBox<QDoubleSpinBox> tenths(&window);
    tenths.setDecimals(1);
    tenths.setRange(0.5, 3);
    tenths.move(0, 60);
    RealBox real(0, &window);
    real.setRange(1e-6, 1);
    real.move(0, 90);
    SiteBox site(&window);
    site.setRange(0, 2);
    site.move(0, 120);
    present(window, {500, 200});
    struct Case {
        QAbstractSpinBox& box;
        const char *typed, *held, *says;
    };
    for (const Case& each : {Case{whole, "500", "100 tokens", "100 is the largest number here; 500 is above it."},
                             {whole, "0", "1 tokens", "1 is the smallest number here; 0 is below it."},
                             {whole, "-7", "1 tokens", "1 is the smallest number here; -7 is below it."},
                             {whole, "99999999999", "100 tokens", "100 is the largest number here"},
                             {whole, "2.6", "3 tokens", "cannot hold 2.6; 3 is the nearest"},
                             {whole, "42", "42 tokens", nullptr},
                             {tenths, "0.04", "0.5", "0.5 is the smallest"},
                             {tenths, "31", "3.0", "3.0 is the largest"},
                             {tenths, "1.26", "1.3", "cannot hold 1.26; 1.3 is the nearest"},
                             {tenths, "2.5", "2.5", nullptr},
                             {real, "7", "1", "1 is the largest"},
                             {real, "1e-9", "1e-06", "1e-06 is the smallest"},
                             {real, "3e-4", "0.0003", nullptr},
                             {site, "5", "2", "2 is the largest"}}) {
        CAPTURE(each.typed, each.held);
        type(each.box, each.typed);
        CHECK(each.box.text().toStdString() == each.held);
        if (each.says)
            CHECK_THAT(note(window).toStdString(), CONTAINS(each.says));
        else
            CHECK(note(window).isEmpty());
    }
    site.setNames({"Encoder L0", "Encoder L1", "Decoder L0"});
    type(site, "9");
    CHECK(site.value() == 2);
    CHECK(note(window) == "Decoder L0 is the largest number here; 9 is above it.");
    type(site, "encoder l1");
    CHECK(site.value() == 1);

    whole.setFocus(); // leaving the box decides like Return
    whole.selectAll();
    QTest::keyClicks(&whole, "200");
    tenths.setFocus();
    QCoreApplication::processEvents();
    CHECK(whole.value() == 100);
    CHECK(note(window) == "100 is the largest number here; 200 is above it.");
}
