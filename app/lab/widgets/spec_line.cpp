#include "app/lab/widgets/spec_line.h"

#include "app/lab/widgets/widget_makers.h"
#include "engine/core/error.h"

#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>

namespace attn {

QString sentenceOf(const Error& error) {
    QString text = QString::fromStdString(error.message());
    if (!error.hint().empty()) text += QStringLiteral("; ") + QString::fromStdString(error.hint());
    return text;
}

void showSentence(QLabel* label, const QString& sentence) {
    static const QRegularExpression word(QStringLiteral("^[a-z]+ ")); // no name such as "top-k" or a term with "="
    const bool isWord = word.match(sentence).hasMatch();
    label->setText(isWord ? sentence.front().toUpper() + sentence.mid(1) : sentence);
    label->setVisible(!sentence.isEmpty());
}

void putText(QLineEdit* line, const std::string& text, const std::function<bool(const std::string&)>& isMeant) {
    bool isTyped = false;
    try {
        isTyped = line->hasFocus() && isMeant(line->text().toStdString());
    } catch (const Error&) {
        isTyped = false;
    }
    if (isTyped) return;
    line->setText(QString::fromStdString(text));
    if (!line->hasFocus()) line->setCursorPosition(0); // otherwise a long text shows its end
}

SpecLine::SpecLine(const QString& title, const QString& help, const QString& name, QWidget* parent) : QWidget(parent) {
    auto* column = layoutOf<QVBoxLayout>(this);
    auto* label = plainLabel(title);
    line_ = named(new QLineEdit, name + "Text", title, help);
    label->setBuddy(line_);
    error_ = makeHintLabel(name + "Error");
    problem_ = makeHintLabel(name + "Problem");
    mend_ = identified(new QPushButton(tr("Use the nearest valid composition")), name + "Nearest");
    for (QWidget* widget : std::initializer_list<QWidget*>{label, line_, error_, problem_, mend_})
        column->addWidget(widget);
    connect(line_, &QLineEdit::textEdited, this, &SpecLine::typed);
    connect(line_, &QLineEdit::editingFinished, this, &SpecLine::finished);
    connect(mend_, &QPushButton::clicked, this, [this] { emit mended(QString(nearest_)); });
    showError({});
    showProblem({}, {});
}

QString SpecLine::text() const { return line_->text(); }

void SpecLine::setText(const std::string& text, const std::function<bool(const std::string&)>& isMeant) {
    putText(line_, text, isMeant);
    showError({});
}

void SpecLine::showError(const QString& sentence) { showSentence(error_, sentence); }

bool SpecLine::hasError() const { return !error_->text().isEmpty(); }

void SpecLine::showProblem(const QString& sentence, const std::string& nearest) {
    nearest_ = QString::fromStdString(nearest);
    showSentence(problem_, sentence);
    mend_->setVisible(!nearest.empty());
    mend_->setToolTip(nearest_);
}

void SpecLine::setPlaceholder(const QString& text) { line_->setPlaceholderText(text); }

} // namespace attn
