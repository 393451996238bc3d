#include "app/lab/widgets/real_box.h"

#include <QRegularExpression>

namespace attn {
namespace {

constexpr int kDigits = 10;       ///< as many as a person types; fewer than make 0.1 + 0.2 look odd
constexpr int kKeptDecimals = 30; ///< QDoubleSpinBox rounds to so many

} // namespace

RealBox::RealBox(int decimals, QWidget* parent) : QDoubleSpinBox(parent), shownDecimals_(decimals) {
    setDecimals(kKeptDecimals);
}

QString RealBox::textFromValue(double value) const {
    const QString digits = QString::number(value, 'g', kDigits);
    const QString fixed = QString::number(value, 'f', shownDecimals_);
    return shownDecimals_ > 0 && fixed.toDouble() == digits.toDouble() ? fixed : digits;
}

double RealBox::valueFromText(const QString& text) const {
    if (text.trimmed() == textFromValue(value())) return value(); // which may have more digits than it shows
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
