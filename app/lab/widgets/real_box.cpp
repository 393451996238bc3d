#include "app/lab/widgets/real_box.h"

#include <QRegularExpression>

namespace attn {
namespace {

constexpr int kDigits = 10;       ///< with fewer, 0.1 + 0.2 would look odd; nobody types more
constexpr int kKeptDecimals = 30; ///< the precision to which QDoubleSpinBox rounds

} // namespace

RealBox::RealBox(int decimals, QWidget* parent) : RangedBox(parent), shownDecimals_(decimals) {
    setDecimals(kKeptDecimals);
}

QString RealBox::textFromValue(double value) const {
    const QString digits = QString::number(value, 'g', kDigits);
    const QString fixed = QString::number(value, 'f', shownDecimals_);
    return shownDecimals_ > 0 && fixed.toDouble() == digits.toDouble() ? fixed : digits;
}

double RealBox::valueFromText(const QString& text) const {
    if (text.trimmed() == textFromValue(value())) return value(); // the value may have more digits than the text
    return text.trimmed().toDouble();
}

QValidator::State RealBox::validate(QString& text, int&) const {
    bool isNumber = false;
    const double value = text.trimmed().toDouble(&isNumber);
    if (isNumber && value >= minimum() && value <= maximum()) return QValidator::Acceptable;
    static const QRegularExpression kBegun(QStringLiteral("^\\s*[-+]?\\d*\\.?\\d*([eE][-+]?\\d*)?\\s*$"));
    return kBegun.match(text).hasMatch() ? QValidator::Intermediate : QValidator::Invalid;
}

void RealBox::stepBy(int steps) {
    if (value() != 0 || stepType() == DefaultStepType) return QDoubleSpinBox::stepBy(steps);
    setValue(steps * singleStep());
    selectAll();
}

} // namespace attn
