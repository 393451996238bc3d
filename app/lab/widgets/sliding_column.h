#pragma once

#include <QVariantAnimation>
#include <QWidget>

namespace attn {

/// A column that slides in and out at the right edge of a figure.
class SlidingColumn : public QWidget {
    Q_OBJECT

public:
    explicit SlidingColumn(QWidget* content, QWidget* parent = nullptr);

    bool isOpen() const { return isOpen_; }
    void setOpen(bool isOpen);

    QSize sizeHint() const override;

signals:
    void closeAsked();

private:
    int openWidth() const;

    QWidget* content_;
    QVariantAnimation slide_;
    bool isOpen_ = false;
};

} // namespace attn
