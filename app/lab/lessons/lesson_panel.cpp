#include "app/lab/lessons/lesson_panel.h"

#include "app/lab/common/icons.h"
#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/lessons/lesson_step_view.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/widget_makers.h"

#include <QApplication>
#include <QKeyEvent>
#include <QListWidget>
#include <QPushButton>

#include <algorithm>

namespace attn {
namespace {
constexpr int kWidestLine = 100; // characters; longer lines are hard to read
}

LessonPanel::LessonPanel(Workbench& bench, QWidget* parent) : Panel(bench, parent), steps_(new LessonStepView) {
    auto* row = layoutOf<QHBoxLayout>(this, spacing::kGap);
    row->addStretch(0);
    page_ = makeList();
    // Not a stacked widget, because that would be as high as its highest page.
    for (QWidget* page : std::initializer_list<QWidget*>{page_, steps_}) {
        new FontFit(page,
                    [page](const QFontMetrics& font) { page->setMaximumWidth(font.averageCharWidth() * kWidestLine); });
        row->addWidget(page, 1);
    }
    row->addStretch(0);
    steps_->hide();
}

QWidget* LessonPanel::makeList() {
    auto* page = new QWidget;
    auto* about = makeHintLabel(
        {}, tr("Each lesson uses real models in this window. It asks for your prediction before it shows what "
               "happens. When you leave a lesson, your own work comes back."));
    list_ = named(new QListWidget, "lessonList", tr("Lessons"),
                  tr("Press Return to start the selected lesson. A tick marks finished lessons."));
    list_->setWordWrap(true);
    list_->setSpacing(spacing::kTight);
    list_->setMinimumHeight(fontMetrics().height() * 9);
    summary_ = makeTextLabel("lessonSummary");
    summary_->setMinimumHeight(fontMetrics().lineSpacing() * 3);
    summary_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    problems_ = makeHintLabel("lessonProblems");
    start_ =
        helped(new QPushButton(tr("&Start")), "lessonStart", tr("Start the lesson, or continue where you left it"));
    start_->setProperty("primary", true);
    start_->setIcon(themedIcon("play", QPalette::HighlightedText));
    again_ =
        helped(new QPushButton(tr("From the &beginning")), "lessonAgain", tr("Start the lesson at its first step"));
    auto* file =
        helped(new QPushButton(tr("Open a lesson &file…")), "lessonFile", tr("Try a lesson that you are writing"));
    file->setIcon(themedIcon("open", QPalette::ButtonText));
    auto* forget = helped(new QPushButton(tr("Clear &progress")), "lessonForget", tr("Clear all lesson progress"));
    makeColumn(
        page, 0,
        {about, {list_, 1}, summary_, makeRow({{start_, 1}, again_}), makeRow({file, forget, room()}), problems_});
    connect(list_, &QListWidget::currentRowChanged, this, &LessonPanel::showChosen);
    connect(list_, &QListWidget::itemActivated, this, [this] { start_->click(); });
    connect(start_, &QPushButton::clicked, this, [this] {
        if (const Lesson* lesson = chosen()) start(*lesson);
    });
    connect(again_, &QPushButton::clicked, this, [this] {
        if (const Lesson* lesson = chosen()) start(*lesson, 0);
    });
    connect(file, &QPushButton::clicked, this, &LessonPanel::chooseFile);
    connect(forget, &QPushButton::clicked, this, [this] {
        clearLessonProgress();
        fillList();
    });
    return page;
}

void LessonPanel::setPlayer(LessonPlayer& player, const QWidget& window, const QString& userFolder) {
    player_ = &player;
    window_ = &window;
    library_ = lessonLibrary(userFolder);
    QStringList problems;
    for (const Failure& failure : library_.failures) problems << QString::fromStdString(failure.sentence());
    problems_->setText(problems.join('\n'));
    problems_->setVisible(!problems.isEmpty());
    steps_->setPlayer(player);
    connect(&player, &LessonPlayer::changed, this, &LessonPanel::showPlayer);
    connect(&player, &LessonPlayer::ended, this, [this](const QString& id, bool isFinished) {
        LessonProgress progress = LessonProgress::load(id);
        if (isFinished) progress = {.isDone = true, .step = 0};
        progress.save(id);
        fillList();
        const auto at = std::ranges::find(library_.lessons, id, &Lesson::id) - library_.lessons.begin();
        if (isFinished && at + 1 < list_->count()) list_->setCurrentRow(static_cast<int>(at) + 1);
    });
    fillList();
}

void LessonPanel::fillList() {
    const int row = std::max(0, list_->currentRow());
    list_->clear();
    int number = 0;
    for (const Lesson& lesson : library_.lessons) {
        const LessonProgress progress = LessonProgress::load(lesson.id);
        const QString mark = progress.isDone ? QStringLiteral("✓") : QStringLiteral("○");
        QString text = tr("%1  %2. %3 · %4 min")
                           .arg(mark, QString::number(++number), lesson.title, QString::number(lesson.minutes));
        if (progress.step > 0) text += tr(" · left at step %1").arg(progress.step + 1);
        auto* item = new QListWidgetItem(text, list_);
        item->setToolTip(lesson.summary);
        item->setData(Qt::AccessibleDescriptionRole, progress.isDone ? tr("finished") : tr("not finished"));
    }
    list_->setCurrentRow(std::min(row, list_->count() - 1));
    showChosen();
}

const Lesson* LessonPanel::chosen() const {
    const int row = list_->currentRow();
    return row >= 0 && row < static_cast<int>(library_.lessons.size()) ? &library_.lessons[static_cast<size_t>(row)]
                                                                       : nullptr;
}

void LessonPanel::showChosen() {
    const Lesson* lesson = chosen();
    const int step = lesson ? LessonProgress::load(lesson->id).step : 0;
    summary_->setText(lesson ? lesson->summary : QString());
    start_->setEnabled(lesson && player_);
    start_->setText(step > 0 ? tr("&Continue at step %1").arg(step + 1) : tr("&Start"));
    again_->setVisible(step > 0);
}

void LessonPanel::start(const Lesson& lesson, int step) {
    if (const auto failure = checkControls(lesson, *window_)) return emit failed(*failure);
    if (step < 0) step = LessonProgress::load(lesson.id).step;
    const Lesson taken = lesson; // the library may be reloaded
    player_->start(taken, step);
}

std::vector<Panel::Place> LessonPanel::places() {
    std::vector<Place> places;
    for (const Lesson& lesson : library_.lessons)
        places.push_back({lesson.title, tr("Lesson"),
                          [this, lesson] {
                              bench_.showPanel("lessons");
                              start(lesson);
                          },
                          lesson.summary});
    return places;
}

void LessonPanel::focusList() { list_->setFocus(); }

void LessonPanel::chooseFile() {
    auto* dialog = makeFileDialog(this, tr("Open a lesson file"), QFileDialog::ExistingFile);
    dialog->setNameFilter(tr("Lessons (*.json)"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        auto loaded = loadLesson(path);
        if (const auto* failure = std::get_if<Failure>(&loaded)) return emit failed(*failure);
        start(std::get<Lesson>(loaded), 0);
    });
    dialog->open();
}

void LessonPanel::showPlayer() {
    if (!player_->isPlaying()) {
        const bool hadFocus = steps_->isAncestorOf(QApplication::focusWidget()) || steps_->hasFocus();
        steps_->hide();
        page_->show();
        steps_->forget();
        if (hadFocus) list_->setFocus();
        return;
    }
    // The step to continue from after leaving the lesson, or after a crash.
    LessonProgress progress = LessonProgress::load(player_->lesson().id);
    progress.step = player_->step();
    progress.save(player_->lesson().id);
    page_->hide();
    steps_->show();
    steps_->refresh();
}

/// Esc stops the model elsewhere; here it leaves the lesson.
bool LessonPanel::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && player_ && player_->isPlaying() &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    return Panel::event(event);
}

void LessonPanel::keyPressEvent(QKeyEvent* event) {
    if (!player_ || !player_->isPlaying()) return Panel::keyPressEvent(event);
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    auto* button = qobject_cast<QAbstractButton*>(QApplication::focusWidget());
    if (event->key() == Qt::Key_Escape) return player_->leave();
    if (isReturn && button && isAncestorOf(button)) return button->click();
    if (isReturn) return player_->next();
    if (event->key() >= Qt::Key_1 && event->key() <= Qt::Key_9) return player_->answer(event->key() - Qt::Key_1);
    Panel::keyPressEvent(event);
}

} // namespace attn
