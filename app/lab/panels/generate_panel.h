#pragma once

#include "app/lab/widgets/limited_editor.h"
#include "app/lab/workbench/panel.h"

#include <QTimer>

#include <deque>
#include <string>

class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;

namespace attn {

class GeneratedText;
class TokenChips;

/// Editor of the prompt. It leaves undo and redo to the window, which also undoes branches and gates.
class PromptEditor : public LimitedEditor {
    Q_OBJECT

public:
    explicit PromptEditor(QWidget* parent = nullptr);

signals:
    void runRequested();

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
};

/// Shows the prompt with its tokens, the buttons that generate, and the text shaded by probability.
class GeneratePanel : public Panel {
    Q_OBJECT

public:
    explicit GeneratePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;

    void run();
    void step();
    void stop();
    void reset();
    void focusPrompt();

private:
    QWidget* makePromptGroup();
    QWidget* makeRunGroup();
    QWidget* makeTextGroup();
    void postPrompt();
    void syncPrompt(const Snapshot& snapshot);
    void goTo(int tokenIndex);
    double tokensPerSecond() const;
    void showSpeed();
    void updateButtons();

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    PromptEditor* prompt_;
    TokenChips* chips_;
    QLabel* tokenCount_;
    QPushButton *run_, *step_, *stop_, *reset_;
    QSlider* speed_;
    QLabel* speedLabel_;
    QSpinBox* amount_;
    GeneratedText* text_;
    QLabel* notice_;
    QTimer typing_;
    /// Prompts that were posted but not yet shown. A snapshot with one of them must not overwrite newer typing.
    std::deque<std::string> inFlight_;
    std::string shownPrompt_; ///< prompt of the last snapshot
    uint64_t failureCount_ = 0;
};

} // namespace attn
