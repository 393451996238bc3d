#include "app/lab/widgets/real_box.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

TEST_CASE("real box: a number of any size is shown with its digits, and keeps them", "[lab]") {
    RealBox box;
    box.setRange(0, 100);
    box.setSingleStep(1e-5);
    box.setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    for (const auto& [value, text] : {std::pair{0.0, "0"},
                                      {0.003, "0.003"},
                                      {5.9e-5, "5.9e-05"},
                                      {1e-8, "1e-08"},
                                      {0.9999999, "0.9999999"},
                                      {100.0, "100"}}) {
        box.setValue(value);
        CHECK(box.text().toStdString() == text);
        CHECK(box.value() == value);
    }
    box.setValue(1.0 / 3e5); // more digits than it shows
    QTest::keyClick(&box, Qt::Key_Return);
    CHECK(box.value() == 1.0 / 3e5);
    box.selectAll();
    QTest::keyClicks(&box, "3e-4");
    QTest::keyClick(&box, Qt::Key_Return);
    CHECK(box.value() == 3e-4);
    QTest::keyClick(&box, Qt::Key_Up);
    CHECK(box.text() == "0.00031");
    box.setValue(0);
    QTest::keyClick(&box, Qt::Key_Up);
    CHECK(box.value() == 1e-5);
    QString text("4e-"), wrong("four"), large("101");
    int position = 0;
    CHECK(box.validate(text, position) == QValidator::Intermediate);
    CHECK(box.validate(wrong, position) == QValidator::Invalid);
    CHECK(box.validate(large, position) != QValidator::Acceptable);
}

TEST_CASE("real box: a number beside a slider has the decimals of the slider where they say it", "[lab]") {
    RealBox box(2);
    box.setValue(1);
    CHECK(box.text() == "1.00");
    box.setValue(0.0125);
    CHECK(box.text() == "0.0125");
}
