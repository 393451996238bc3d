#pragma once

#include <QWidget>

#include <functional>
#include <string>

class QLabel;
class QLineEdit;
class QPushButton;

namespace attn {

class Error;

/// @return one sentence with the problem and its remedy
QString sentenceOf(const Error& error);
/// Shows a sentence in a label. Hides the label if the sentence is empty.
void showSentence(QLabel* label, const QString& sentence);
/// Sets the text of a line, unless the user is typing an equivalent text.
/// @param isMeant whether the typed text is equivalent; may throw Error
void putText(QLineEdit* line, const std::string& text, const std::function<bool(const std::string&)>& isMeant);

/// A composition as a line of text, with a sentence about a mistake and a button that replaces it with the nearest
/// valid composition.
class SpecLine : public QWidget {
    Q_OBJECT

public:
    /// @param name prefix of the object names, for tests and locks: name + "Text", "Error", "Problem", "Nearest"
    SpecLine(const QString& title, const QString& help, const QString& name, QWidget* parent = nullptr);

    QString text() const;
    /// Sets the text like putText().
    void setText(const std::string& text, const std::function<bool(const std::string&)>& isMeant);
    /// Shows the reason why the text cannot be read; empty: it can be read.
    void showError(const QString& sentence);
    bool hasError() const;
    /// Shows the reason why the composition does not work. @param nearest a valid composition; empty: none is known
    void showProblem(const QString& sentence, const std::string& nearest);
    void setPlaceholder(const QString& text);

signals:
    void typed(const QString& text);
    void finished();
    /// The user pressed the button. @param nearest the valid composition
    void mended(const QString& nearest);

private:
    QLineEdit* line_;
    QLabel *error_, *problem_;
    QPushButton* mend_;
    QString nearest_;
};

} // namespace attn
