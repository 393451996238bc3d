#pragma once

#include "app/lab/widgets/ranged_box.h"

namespace attn {

/// A box for a number of any size. It keeps all digits of its value and shows as few as identify it: "0.003",
/// "5.9e-05". It reads both notations.
class RealBox : public RangedBox<QDoubleSpinBox> {
public:
    /// @param decimals at least shown if they express the number exactly, as in a column of numbers: "1.00"; 0: as few
    /// as possible
    explicit RealBox(int decimals = 0, QWidget* parent = nullptr);

    QString textFromValue(double value) const override;
    double valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& position) const override;
    /// At zero, a step is singleStep(), even if steps are proportional to the number elsewhere.
    void stepBy(int steps) override;

private:
    int shownDecimals_;
};

} // namespace attn
