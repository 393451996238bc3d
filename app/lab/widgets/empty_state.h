#pragma once

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <QWidget>

#include <functional>

namespace attn {

/// Stands in the middle of a place that has no content yet: says what goes there, with buttons that bring it.
class EmptyState : public QWidget {
    Q_OBJECT

public:
    /// @param id of the sentence, for tests
    explicit EmptyState(const QString& id, const QString& text, QWidget* parent = nullptr);

    void setText(const QString& text);
    /// Adds a button. @param help empty: the text says all
    void offer(const QString& text, const QString& help, std::function<void()> act);
    /// Adds a button for an action of the window, which is looked up when it is pressed.
    void offerAction(const char* action, const QString& text);

private:
    QLabel* text_;
    QVBoxLayout* buttons_;
};

} // namespace attn
