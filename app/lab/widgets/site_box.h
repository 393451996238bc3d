#pragma once

#include <QSpinBox>

#include <vector>

namespace attn {

/// Chooses a site of a model: a number, or its name where the numbers of layers do not tell sites apart.
class SiteBox : public QSpinBox {
    Q_OBJECT

public:
    using QSpinBox::QSpinBox;

    /// @param names one per site; empty: numbers
    void setNames(std::vector<QString> names);

protected:
    QString textFromValue(int value) const override;
    int valueFromText(const QString& text) const override;
    QValidator::State validate(QString& text, int& position) const override;

private:
    int indexOf(const QString& text) const; ///< of a name or a number; -1: none

    std::vector<QString> names_;
};

} // namespace attn
