#pragma once

#include <QWidget>

#include <utility>
#include <vector>

class QHBoxLayout;
class QToolButton;

namespace attn {

/// Offers prompts worth trying on a bundled model, from prompts.json in its folder: a button for each of the first, as
/// many as fit in one line, and a menu of the rest. Hidden for a model without such prompts.
class PromptSuggestions : public QWidget {
    Q_OBJECT

public:
    explicit PromptSuggestions(QWidget* parent = nullptr);

    /// @param path of the open model, such as "builtin:stories"
    void showFor(const QString& path);

signals:
    void chosen(const QString& prompt);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void fit();

    std::vector<std::pair<QString, QString>> prompts_; ///< title and prompt
    std::vector<QToolButton*> buttons_;                ///< one a prompt
    QToolButton* rest_;
    QHBoxLayout* row_;
};

} // namespace attn
