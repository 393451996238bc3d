#pragma once

#include <QFrame>
#include <QList>

#include <functional>

class QHBoxLayout;
class QLabel;
class QToolButton;

namespace attn {

/// A message that never blocks the window: selectable text, a button that copies a failure, the caller's buttons and a
/// close button.
class Banner : public QFrame {
    Q_OBJECT

public:
    enum class Kind { Failure, Offer, Success };
    struct Choice {
        QString text;
        QString toolTip;
        std::function<void()> action;
    };

    explicit Banner(QWidget* parent = nullptr);

    void present(Kind kind, const QString& text, const QList<Choice>& choices = {});
    void dismiss();
    /// Dismisses this message, if it is the one on screen.
    void withdraw(const QString& text);
    QString text() const;
    Kind kind() const { return kind_; }

    int heightForWidth(int width) const override;

signals:
    void dismissed();
    void presented();

private:
    QToolButton* addButton(const QString& text, const QString& toolTip);

    QHBoxLayout* row_;
    QLabel* symbol_;
    QLabel* label_;
    QToolButton* copy_;
    QList<QToolButton*> choices_;
    Kind kind_ = Kind::Failure;
};

} // namespace attn
