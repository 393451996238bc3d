#include "app/lab/lessons/lesson_step_view.h"

#include "app/lab/common/focus_ring.h"
#include "app/lab/common/icons.h"
#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/widgets/heading.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QRegularExpression>
#include <QScrollArea>
#include <QShortcut>
#include <QStyle>
#include <QTextDocumentFragment>
#include <QTimer>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr int kAverageLines = 17; ///< height of the exercise

QLabel* makeText(const char* name) { return readsMarkup(makeTextLabel(name)); }

/// A frame in one of the theme's colours.
QFrame* makeCard(const char* kind) {
    auto* card = new QFrame;
    card->setProperty("card", QString::fromLatin1(kind));
    auto* column = new QVBoxLayout(card);
    column->setContentsMargins(spacing::kGap, spacing::kGap, spacing::kGap, spacing::kGap);
    return card;
}

/// A box for a number that also takes a fraction: "1/3".
class NumberBox : public RangedBox<QDoubleSpinBox> {
public:
    QValidator::State validate(QString& text, int& position) const override {
        static const QRegularExpression kBegun(QStringLiteral("^-?\\d+/\\d*$"));
        if (!text.contains('/')) return RangedBox::validate(text, position);
        if (!kBegun.match(text).hasMatch()) return QValidator::Invalid;
        return std::isfinite(quotient(text)) ? QValidator::Acceptable : QValidator::Intermediate;
    }
    double valueFromText(const QString& text) const override {
        return text.contains('/') ? quotient(text) : RangedBox::valueFromText(text);
    }

private:
    static double quotient(const QString& text) {
        return text.section('/', 0, 0).toDouble() / text.section('/', 1).toDouble();
    }
};

void put(QLabel* label, const QString& text) {
    label->setText(text);
    label->setVisible(!text.isEmpty());
}

} // namespace

ChoiceButton::ChoiceButton(const QString& key, const QString& text, QWidget* parent)
    : QPushButton(parent), label_(readsMarkup(plainLabel({}, this))), key_(key), text_(text) {
    mark(Mark::None);
    label_->setWordWrap(true);
    label_->setAttribute(Qt::WA_TransparentForMouseEvents);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(spacing::kGap, spacing::kGap, spacing::kGap, spacing::kGap);
    row->addWidget(label_);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setProperty("choice", true);
    setCheckable(true);
    connect(this, &QPushButton::toggled, this, &ChoiceButton::showRole);
}

void ChoiceButton::showRole() {
    const bool isOnAccent = isChecked() && !property("right").toBool();
    label_->setForegroundRole(isOnAccent ? QPalette::HighlightedText : QPalette::Text);
}

void ChoiceButton::mark(Mark mark) {
    const QString sign = mark == Mark::Right   ? QStringLiteral("✓")
                         : mark == Mark::Wrong ? QStringLiteral("✗")
                                               : QString();
    label_->setText(QStringLiteral("<b>%1</b>&nbsp; %2").arg(sign.isEmpty() ? key_ : sign, text_));
    setAccessibleDescription(mark == Mark::Right   ? LessonStepView::tr("the right answer")
                             : mark == Mark::Wrong ? LessonStepView::tr("not the right answer")
                                                   : QString());
    setProperty("right", mark == Mark::Right);
    style()->unpolish(this);
    style()->polish(this);
    showRole();
}

int ChoiceButton::heightForWidth(int width) const { return layout()->totalHeightForWidth(width); }
QSize ChoiceButton::sizeHint() const { return {200, heightForWidth(200)}; }
QSize ChoiceButton::minimumSizeHint() const { return {120, fontMetrics().height() + 2 * spacing::kGap}; }

LessonStepView::LessonStepView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setObjectName("lessonStep");
    setAccessibleName(tr("Step of the lesson"));
    auto* column = layoutOf<QVBoxLayout>(this, spacing::kGap); // room for the focus ring
    place_ = makeHintLabel("lessonPlace");
    title_ = identified(readsMarkup(new Heading(TextSize::Title)), "lessonTitle");
    title_->setWordWrap(true);
    text_ = makeText("lessonText");
    average_ = new AverageExercise;
    for (QWidget* widget : std::initializer_list<QWidget*>{place_, title_, text_}) column->addWidget(widget);
    average_->setFixedHeight(fontMetrics().lineSpacing() * kAverageLines); // so that a reply moves no answers
    column->addWidget(average_);
    makeQuestion(column);
    taskCard_ = makeCard("task");
    task_ = makeText("lessonTask");
    show_ = helped(new QPushButton(tr("Go to th&is control")), "lessonShow",
                   tr("Move the keyboard focus to the control with the ring"));
    taskCard_->layout()->addWidget(task_);
    taskCard_->layout()->addWidget(show_);
    taskCard_->layout()->setAlignment(show_, Qt::AlignLeft);
    outcomeCard_ = makeCard("outcome");
    outcome_ = makeText("lessonOutcome");
    outcomeCard_->layout()->addWidget(outcome_);
    column->addWidget(taskCard_);
    column->addWidget(outcomeCard_);
    column->addStretch(1);
    leave_ =
        helped(new QPushButton(tr("&Leave")), "lessonLeave", tr("Leave the lesson and restore your own work (Esc)"));
    back_ = helped(new QPushButton(tr("&Back")), "lessonBack", tr("Go to the previous step"));
    next_ =
        helped(new QPushButton(tr("&Next")), "lessonNext", tr("Go to the next step when this one is done (Return)"));
    next_->setProperty("primary", true);
    back_->setIcon(themedIcon("previous", QPalette::ButtonText));
    next_->setIcon(themedIcon("next", QPalette::HighlightedText));
    next_->setLayoutDirection(Qt::RightToLeft); // the arrow points away from the text
    column->addLayout(makeRow({leave_, room(), back_, next_}));
    connect(leave_, &QPushButton::clicked, this, [this] { player_->leave(); });
    connect(back_, &QPushButton::clicked, this, [this] { player_->back(); });
    connect(next_, &QPushButton::clicked, this, [this] { player_->next(); });
    connect(show_, &QPushButton::clicked, this, [this] {
        QWidget* target = player_->target();
        if (!target) return;
        for (QWidget* around = target; around; around = around->parentWidget())
            if (auto* dock = qobject_cast<QDockWidget*>(around)) { // it may be closed, or behind another tab
                dock->show();
                dock->raise();
            }
        focusableIn(*target)->setFocus(Qt::TabFocusReason);
    });
}

void LessonStepView::makeQuestion(QVBoxLayout* column) {
    questionCard_ = makeCard("question");
    question_ = makeText("lessonQuestion");
    choices_ = new QWidget;
    auto* choices = layoutOf<QVBoxLayout>(choices_);
    choices->setSpacing(spacing::kTight);
    numberRow_ = new QWidget;
    number_ = named(new NumberBox, "lessonNumber", tr("Your prediction"), tr("Type the number that you expect"));
    number_->setRange(-1e6, 1e6);
    answer_ = helped(new QPushButton(tr("&Answer")), "lessonAnswer", tr("Submit this number as your prediction"));
    makeRow(numberRow_, 0, {{number_, 1}, answer_});
    reply_ = makeText("lessonReply");
    for (QWidget* widget : std::initializer_list<QWidget*>{question_, choices_, numberRow_, reply_})
        questionCard_->layout()->addWidget(widget);
    column->addWidget(questionCard_);
    connect(answer_, &QPushButton::clicked, this, &LessonStepView::answer);
    for (const auto key : {Qt::Key_Return, Qt::Key_Enter})
        connect(new QShortcut(key, number_, nullptr, nullptr, Qt::WidgetWithChildrenShortcut), &QShortcut::activated,
                this, &LessonStepView::answer);
}

void LessonStepView::answer() {
    if (!number_->hasAcceptableInput()) return; // the fraction is incomplete
    number_->interpretText();
    player_->answerNumber(number_->value());
    setFocus();
}

/// Rebuilds the parts that change only with the step.
/// @return whether it is another step
bool LessonStepView::showStep() {
    const LessonStep& step = player_->currentStep();
    const QString now = QStringLiteral("%1/%2").arg(player_->lesson().id, QString::number(player_->step()));
    const bool isNew = std::exchange(shown_, now) != now;
    if (!isNew && player_->isAnswered()) return false;
    title_->setText(step.title);
    put(text_, step.text);
    average_->setVisible(step.average.has_value());
    if (step.average) average_->setAverage(*step.average);
    // The clicked button may still be emitting its signal, so the buttons are deleted later.
    for (auto* old : choices_->findChildren<ChoiceButton*>()) {
        old->hide();
        old->setObjectName({});
        choices_->layout()->removeWidget(old);
        old->deleteLater();
    }
    questionCard_->setVisible(step.prediction.has_value());
    numberRow_->setVisible(step.prediction && step.prediction->number);
    choices_->setVisible(step.prediction && !step.prediction->number);
    if (!step.prediction) return isNew;
    question_->setText(tr("<b>What do you expect?</b> %1").arg(step.prediction->question));
    if (step.prediction && step.prediction->number) { // a count has no decimals
        const double value = step.prediction->number->answer;
        number_->setDecimals(value == std::floor(value) ? 0 : 2);
    }
    number_->setValue(player_->progress().number.value_or(0));
    for (size_t i = 0; i < step.prediction->choices.size(); ++i) {
        const QString& text = step.prediction->choices[i].text;
        auto* button = named(new ChoiceButton(QString::number(i + 1), text), QStringLiteral("lessonChoice%1").arg(i),
                             tr("Choice %1: %2").arg(i + 1).arg(QTextDocumentFragment::fromHtml(text).toPlainText()),
                             tr("Press %1").arg(i + 1));
        choices_->layout()->addWidget(button);
        connect(button, &QPushButton::clicked, this, [this, i] {
            player_->answer(static_cast<int>(i));
            refresh();  // updates the buttons, because a second click unchecks a choice
            setFocus(); // so that Return goes to the next step
        });
    }
    return isNew;
}

/// Scrolls a small panel to a part when the new layout is complete.
void LessonStepView::scrollTo(QWidget* part) {
    QTimer::singleShot(0, this, [this, part] {
        for (QWidget* up = parentWidget(); up; up = up->parentWidget())
            if (auto* area = qobject_cast<QScrollArea*>(up)) area->ensureWidgetVisible(part, 0, 0);
    });
}

void LessonStepView::refresh() {
    const LessonStep& step = player_->currentStep();
    const auto& progress = player_->progress();
    const int count = static_cast<int>(player_->lesson().steps.size());
    place_->setText(tr("%1 · step %2 of %3")
                        .arg(player_->lesson().title, QString::number(player_->step() + 1), QString::number(count)));
    const bool isNew = showStep();
    const bool isAnswered = player_->isAnswered();
    const auto buttons = choices_->findChildren<ChoiceButton*>();
    for (auto* button : buttons) {
        if (!button->isVisibleTo(choices_)) continue;
        const int choice = button->objectName().right(1).toInt();
        button->setChecked(progress.choice == choice);
        button->setEnabled(!isAnswered || progress.choice == choice);
        const bool isRight = step.prediction->choices[static_cast<size_t>(choice)].isRight;
        button->mark(isAnswered && isRight                                 ? ChoiceButton::Mark::Right
                     : isAnswered && progress.choice == choice && !isRight ? ChoiceButton::Mark::Wrong
                                                                           : ChoiceButton::Mark::None);
    }
    number_->setEnabled(!isAnswered);
    answer_->setEnabled(!isAnswered);
    average_->setEnabled(isAnswered);
    put(reply_, player_->reply());
    taskCard_->setVisible(isAnswered && !step.task.isEmpty());
    task_->setText((progress.isDone ? tr("<b>Done:</b> ") : tr("<b>Now:</b> ")) + step.task);
    show_->setVisible(!step.pointAt.isEmpty() && !progress.isDone);
    const bool showsOutcome = progress.isDone && !step.outcome.isEmpty();
    outcomeCard_->setVisible(showsOutcome);
    const QString verdict = !step.prediction   ? QString()
                            : progress.isRight ? tr("<b>As you expected.</b> ")
                                               : tr("<b>Not what you expected?</b> ");
    outcome_->setText(verdict + step.outcome);
    back_->setEnabled(player_->step() > 0);
    next_->setEnabled(progress.isDone);
    next_->setText(player_->step() + 1 == count ? tr("Fi&nish") : tr("&Next"));
    const bool hadOutcome = std::exchange(showsOutcome_, showsOutcome);
    const bool hadTask = std::exchange(showsTask_, !taskCard_->isHidden());
    if (isNew)
        scrollTo(place_);
    else if (showsTask_ && !hadTask)
        scrollTo(taskCard_);
    else if (showsOutcome && !hadOutcome)
        scrollTo(next_);
    // The button that led here is now locked, so Qt gives the focus to another control.
    if (!isNew) return;
    if (step.prediction && step.prediction->number && !isAnswered) {
        number_->setFocus();
        number_->selectAll();
    } else {
        setFocus();
    }
}

} // namespace attn
