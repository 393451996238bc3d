#pragma once

#include <QWidget>

namespace attn {

/// A typeset formula in the colour of text. Its height fits the formula.
class FormulaView : public QWidget {
    Q_OBJECT

public:
    explicit FormulaView(QWidget* parent = nullptr);

    /// @param text as for Formula; screen readers read it too  @param hasVectors as for Formula
    void setText(const QString& text, bool hasVectors = true);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {0, heightForWidth(width())}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString text_;
    bool hasVectors_ = true;
};

} // namespace attn
