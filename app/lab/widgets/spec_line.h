#pragma once

#include <QWidget>

#include <functional>
#include <string>

class QLabel;
class QLineEdit;
class QPushButton;

namespace attn {

class Error;

/// @return one sentence: what went wrong and what to do about it
QString sentenceOf(const Error& error);
/// Shows a sentence in a label. Hides the label if the sentence is empty.
void showSentence(QLabel* label, const QString& sentence);
/// Writes text into a line. While a person types an equivalent text, the line stays as typed.
/// @param isMeant whether the typed text is equivalent; may throw Error
void putText(QLineEdit* line, const std::string& text, const std::function<bool(const std::string&)>& isMeant);

/// A composition as one line of text, with the sentence about a mistake in it and a button that replaces it with the
/// nearest valid one.
class SpecLine : public QWidget {
    Q_OBJECT

public:
    /// @param name prefix of the object names, for tests and locks: name + "Text", "Error", "Problem", "Nearest"
    SpecLine(const QString& title, const QString& help, const QString& name, QWidget* parent = nullptr);

    QString text() const;
    /// Sets the text like putText().
    void setText(const std::string& text, const std::function<bool(const std::string&)>& isMeant);
    /// Shows why the text cannot be read; empty: it can be read.
    void showError(const QString& sentence);
    bool hasError() const;
    /// Shows why the composition does not work. @param nearest a composition that does; empty: none is known
    void showProblem(const QString& sentence, const std::string& nearest);
    void setPlaceholder(const QString& text);

signals:
    void typed(const QString& text);
    void finished();
    /// The button was pressed. @param nearest the valid composition
    void mended(const QString& nearest);

private:
    QLineEdit* line_;
    QLabel *error_, *problem_;
    QPushButton* mend_;
    QString nearest_;
};

} // namespace attn
