#pragma once

#include <QWidget>

#include <functional>
#include <string>

class QLabel;
class QLineEdit;
class QPushButton;

namespace attn {

class Error;

/// What went wrong and what to do about it, in one sentence.
QString sentenceOf(const Error& error);
/// A label that is there only while it has something to say.
void showSentence(QLabel* label, const QString& sentence);
/// Writes a line, except that what is being typed stays as it is typed. @param isMeant whether a text means the same;
/// may throw Error
void putText(QLineEdit* line, const std::string& text, const std::function<bool(const std::string&)>& isMeant);

/// Attention as one line of text, the sentence about a mistake in it, and a button that mends it.
class SpecLine : public QWidget {
    Q_OBJECT

public:
    /// @param name of the parts for tests and locks: name + "Text", "Error", "Problem", "Nearest"
    SpecLine(const QString& title, const QString& help, const QString& name, QWidget* parent = nullptr);

    QString text() const;
    /// As putText.
    void setText(const std::string& text, const std::function<bool(const std::string&)>& isMeant);
    /// Why the text cannot be read; empty: it can.
    void showError(const QString& sentence);
    bool hasError() const;
    /// Why what the text says does not work. @param nearest what does; empty: none is known
    void showProblem(const QString& sentence, const std::string& nearest);
    void setPlaceholder(const QString& text);

signals:
    void typed(const QString& text);
    void finished();
    /// The button was pressed.
    void mended(const QString& nearest);

private:
    QLineEdit* line_;
    QLabel *error_, *problem_;
    QPushButton* mend_;
    QString nearest_;
};

} // namespace attn
