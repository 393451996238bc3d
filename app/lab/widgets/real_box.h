#pragma once

#include <QDoubleSpinBox>

namespace attn {

/// A box for a number of any size. It keeps every digit of its value and shows as many as say it: "0.003", "5.9e-05".
/// It takes both ways of writing.
class RealBox : public QDoubleSpinBox {
public:
    /// @param decimals shown where they say the number exactly, as in a column of numbers: "1.00"; 0: as few as
    /// possible
    explicit RealBox(int decimals = 0, QWidget* parent = nullptr);

    QString textFromValue(double value) const override;
    double valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& position) const override;
    /// From zero, a step is singleStep() also where steps follow the size of the number.
    void stepBy(int steps) override;

private:
    int shownDecimals_;
};

} // namespace attn
