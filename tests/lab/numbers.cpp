#include "app/lab/common/number_locale.h"
#include "tests/lab/lab_window.h"

#include <QLocale>

using namespace attn;

TEST_CASE("numbers: every text of the window has a point, whatever the locale", "[lab]") {
    LabWindow first; // an application
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    writeNumbersWithPoint();
    LabWindow lab("builtin:induction", "abcabc");
    int count = 0;
    for (const auto* box : lab.window().findChildren<QDoubleSpinBox*>()) {
        INFO(box->accessibleName().toStdString());
        CHECK_FALSE(box->text().contains(','));
        count += box->text().contains('.') ? 1 : 0;
    }
    CHECK(count > 0);
    static const QRegularExpression comma("[0-9],[0-9]"), groupedCount("\\b[1-9][0-9]{0,2}(,[0-9]{3})+\\b");
    for (const auto* label : lab.window().findChildren<QLabel*>()) {
        INFO(label->objectName().toStdString() << ": " << label->text().toStdString());
        CHECK_FALSE(label->text().remove(groupedCount).contains(comma)); // counts are grouped: 3,245,760
    }
    CHECK(QLocale().toString(1234567) == "1234567");
    CHECK(QLocale().toString(0.5) == "0.5");
    QLocale::setDefault(before);
}

TEST_CASE("numbers: the keys of Undo reach the window from a field without a change of its own", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().workbench().setGate(1, 1, 0.25f);
    REQUIRE(lab.settle());
    const auto gate = [&] { return lab.window().workbench().changes().gate(1, 1); };
    auto& amount = lab.find<QSpinBox>("amount");
    const int first = amount.value();
    const auto undo = [&](QWidget& field) {
        QTest::keyClick(&field, Qt::Key_Z, Qt::ControlModifier);
        REQUIRE(lab.settle());
    };
    amount.setFocus();
    undo(amount);
    CHECK(gate() == Approx(1));
    lab.action("redo").trigger();
    REQUIRE(gate() == Approx(0.25f));
    amount.selectAll();
    QTest::keyClicks(&amount, "7"); // its own change
    REQUIRE(amount.value() == 7);
    undo(amount);
    CHECK(amount.value() == first);
    CHECK(gate() == Approx(0.25f));
    amount.selectAll();
    QTest::keyClicks(&amount, "8");
    QTest::keyClick(&amount, Qt::Key_Return); // that is over
    undo(amount);
    CHECK(amount.value() == 8);
    CHECK(gate() == Approx(1));
    lab.action("redo").trigger();
    auto& line = lab.find<QLineEdit>("compareText");
    undo(line);
    CHECK(gate() == Approx(1));
}
