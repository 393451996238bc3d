#pragma once

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <QWidget>

#include <functional>

namespace attn {

/// Fills a place that has no content yet: a sentence about the content, with buttons that create it.
class EmptyState : public QWidget {
    Q_OBJECT

public:
    /// @param id of the sentence, for tests
    explicit EmptyState(const QString& id, const QString& text, QWidget* parent = nullptr);

    void setText(const QString& text);
    /// Adds a button. @param help empty: the text needs no explanation  @return the button
    QPushButton* offer(const QString& text, const QString& help, std::function<void()> act);
    /// Adds a button for an action of the window. The action is looked up when the button is pressed.
    void offerAction(const char* action, const QString& text);

private:
    QLabel* text_;
    QVBoxLayout* buttons_;
};

} // namespace attn
