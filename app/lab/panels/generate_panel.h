#pragma once

#include "app/lab/workbench/hidden_words.h"
#include "app/lab/workbench/panel.h"

#include <QTimer>

#include <deque>
#include <string>
#include <vector>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSlider;
class QSpinBox;

namespace attn {

class GeneratedText;
class PromptEditor;
class PromptSuggestions;
class TokenChips;
class WritingNotes;
struct SessionDocument;

/// Shows the prompt with its tokens, the buttons that generate, and the text shaded by probability. A model that fills
/// in hidden words reads a second text, and a click on a word hides it.
class GeneratePanel : public Panel {
    Q_OBJECT

public:
    explicit GeneratePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString titleNow() const override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;

    void run();   ///< if the model on screen writes
    void write(); ///< the same for a model that is on its way
    void step();
    void stop();
    void reset();
    void focusPrompt();
    const QString& typed() const { return typed_; } ///< the last text that was typed; empty: none
    /// Puts a text into the prompt, as if it were typed.
    void type(const QString& text);
    /// While a lesson runs, what is typed is not the user's own text.
    void setLesson(bool isLesson) { isLesson_ = isLesson; }
    /// Puts a prompt that was typed, but that the model has not read yet, into a document in place of its text.
    void addUnread(SessionDocument& document) const;

private:
    QWidget* makePromptGroup();
    QWidget* makeRunGroup();
    QWidget* makeTextGroup();
    bool postPrompt();               ///< of the editors, unless the model has it; false: it cannot be run
    bool canRunPrompt();             ///< after it is posted
    void refuse(const QString& why); ///< a text that is too long
    void hint(const QString& text, const QString& help = {}); ///< below the prompt. @param help empty: the text
    void hintAtEmpty();                                       ///< that the prompt is empty
    void syncPrompt(const Snapshot& snapshot);
    void clickToken(int tokenIndex);
    void goTo(int tokenIndex);
    bool readsSource() const; ///< whether the model reads the prompt with an encoder
    void showModel();         ///< shows the controls that the open model has a use for
    double tokensPerSecond() const;
    void showSpeed();
    void updateButtons();

    std::shared_ptr<const Snapshot> snapshot_;
    PromptEditor* prompt_;
    QLineEdit *second_, *tree_;
    PromptSuggestions* suggestions_;
    QCheckBox* showTokens_;
    TokenChips* chips_;
    QLabel *sourceTitle_, *targetTitle_; ///< of a model with an encoder
    int wantedAmount_ = 0;               ///< of tokens, while a target bounds them; 0: none does
    QLabel* tokenCount_;
    QWidget* generation_;
    QPushButton *run_, *step_, *stop_, *reset_;
    QPushButton* pressed_ = nullptr; ///< the one of run and step that gets the focus back from stop
    QSlider* speed_;
    QLabel* speedLabel_;
    QSpinBox* amount_;
    GeneratedText* text_;
    WritingNotes* notes_;
    QTimer typing_;
    WordHider hider_;
    /// A prompt as it stands in the editors.
    struct Posted {
        GivenText prompt;
        uint64_t number = 0; ///< SetPromptCommand::number
    };
    /// The text as the editors show it.
    static GivenText promptOf(const Snapshot& snapshot);
    GivenText typedPrompt() const;      ///< in the editors
    std::vector<int> typedTree() const; ///< empty if there is none, or it cannot be read
    /// Why what is typed is no tree; empty if it is one, or none is typed.
    QString objectionToTree(const std::vector<int>& parents) const;
    /// Prompts that were posted but not yet shown. A snapshot with one of them must not overwrite newer typing.
    std::deque<Posted> inFlight_;
    QString typed_;
    bool isLesson_ = false;
    GivenText shownPrompt_; ///< prompt of the last snapshot
};

} // namespace attn
