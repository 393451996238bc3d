#pragma once

#include "app/lab/widgets/ranged_box.h"

#include <vector>

namespace attn {

/// Chooses a site of a model: a number, or a name if layer numbers are ambiguous.
class SiteBox : public WholeBox {
    Q_OBJECT

public:
    using WholeBox::WholeBox;

    /// @param names one per site; empty: numbers
    void setNames(std::vector<QString> names);

protected:
    QString textFromValue(int value) const override;
    int valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& position) const override;

private:
    int indexOf(const QString& text) const; ///< index of a name or a number; -1 if unknown

    std::vector<QString> names_;
};

} // namespace attn
