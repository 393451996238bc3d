#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/banner_stack.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/banner.h"

#include <QAction>
#include <QDockWidget>
#include <QSettings>

#include <algorithm>
#include <utility>

// The lessons and the start page.

namespace attn {
namespace {

constexpr auto kOpenLesson = "openLesson"; ///< the setting: id of the lesson that the end left open

} // namespace

void MainWindow::makeLessons(const QString& folder) {
    lessons_ = std::make_unique<LessonPlayer>(*this);
    for (const char* panel : {"lessons", "generate", "train"}) // controls are at the lower edge of their column
        findChild<BannerStack*>()->keepClearOf(*docks_.at(panel));
    lessonPanel_->setPlayer(*lessons_, *this, folder);
    connect(lessonPanel_, &LessonPanel::failed, this, &MainWindow::showFailure);
    connect(lessons_.get(), &LessonPlayer::ended, this, [this](const QString&, bool isFinished) {
        if (isFinished) offerBanner_->present(Banner::Kind::Success, tr("Lesson finished."));
    });
    connect(layout_, &DockLayout::entered, this, [this](const Workspace& workspace) {
        const QString text = tr("A lesson is running, so the controls here are locked.");
        if (!lessons_->isPlaying() || workspace.holds("lessons")) return offerBanner_->withdraw(text);
        offerBanner_->present(Banner::Kind::Offer, text,
                              {{tr("Back to the lesson"), tr("Show the panels of the lesson again"),
                                [this] { layout_->enter(workspaceNamed("learn")); }},
                               {tr("Leave the lesson"), tr("End the lesson and return to your own work"),
                                [this] { lessons_->leave(); }}});
    });
}

void MainWindow::greet() {
    if (leftover_) return; // that is what to go on with
    const QString key = QStringLiteral("greeted");
    lessonToResume_ = QSettings().value(kOpenLesson).toString();
    if (QSettings().value(key).toBool()) return;
    QSettings().setValue(key, true);
    const QString greeting =
        tr("Each tile is one attention head. Bright means more attention. Click one. New here? A lesson "
           "takes five minutes.");
    offerBanner_->present(Banner::Kind::Offer, greeting,
                          {{tr("Learn"), tr("Show the lessons and all other ways to start"),
                            [this] { layout_->enter(workspaceNamed("learn")); }}});
    const auto dismiss = [this, greeting] { offerBanner_->withdraw(greeting); };
    connect(layout_, &DockLayout::entered, offerBanner_, dismiss); // who goes on has read it
}

std::optional<Recipe> MainWindow::recipe() const { return train_->recipe(); }

bool MainWindow::isTraining() const { return train_->isTraining(); }

void MainWindow::continueTraining() {
    train_->play();
    training_.follow(true);
}

void MainWindow::arrangeFor(const QStringList& panels) { layout_->arrangeFor(panels); }

void MainWindow::setLessonUndo(bool isLesson) {
    lessonSteps_.clear();
    generate_->setLesson(isLesson);
    undo_.setActiveStack(isLesson ? &lessonSteps_ : &ownSteps_);
}

void MainWindow::openLesson(const QString& name) {
    if (!bench_.hasModel()) { // the lesson restores the session that is being opened
        connect(
            &bench_, &Workbench::snapshotShown, this, [this, name] { openLesson(name); },
            static_cast<Qt::ConnectionType>(Qt::SingleShotConnection | Qt::QueuedConnection));
        return;
    }
    bench_.showPanel("lessons");
    const auto& lessons = lessonPanel_->lessons();
    const int number = name.toInt();
    const auto found = std::ranges::find(lessons, name, &Lesson::id);
    if (number >= 1 && number <= static_cast<int>(lessons.size()))
        return lessonPanel_->start(lessons[static_cast<size_t>(number) - 1], 0);
    if (found != lessons.end()) return lessonPanel_->start(*found, 0);
    auto loaded = loadLesson(name);
    if (const auto* failure = std::get_if<Failure>(&loaded)) return showFailure(*failure);
    lessonPanel_->start(std::get<Lesson>(loaded), 0);
}

void MainWindow::makeStart() {
    start_ = findChild<StartPanel*>();
    connect(start_, &StartPanel::tourChosen, this, &MainWindow::takeTour);
    connect(start_, &StartPanel::lessonContinued, this, [this] { continueLesson(unfinishedLesson()); });
    connect(start_, &StartPanel::openAsked, this, [this] { chooseModelFolder(); });
    connect(start_, &StartPanel::lessonsAsked, this, [this] { actions_.at("lessons")->trigger(); });
}

void MainWindow::leaveStart() {
    if (std::exchange(leavesStart_, false) && layout_->workspace().holds("start") && !lessons_->before())
        layout_->enter(workspaceNamed("write"));
}

void MainWindow::offerStart() {
    const auto& lessons = lessonPanel_->lessons();
    const auto left = std::ranges::find(lessons, unfinishedLesson(), &Lesson::id);
    start_->setOffers({.lesson = left != lessons.end() ? left->title : QString(),
                       .recent = recentPaths(),
                       .mayOpen = locksInForce().value("files") == ControlState::Free});
}

void MainWindow::takeTour(StartPanel::Tour tour) {
    const auto enter = [this](const char* workspace, const char* level) {
        layout_->enter(workspaceNamed(workspace));
        QJsonObject look = view("attention"); // as the user left it
        for (const auto& [field, value] : {std::pair("level", level), {"drawnAs", "heatmap"}, {"aggregate", "none"}})
            look[QLatin1String(field)] = value;
        setView("attention", look);
    };
    const auto say = [this](const QString& text) { offerBanner_->present(Banner::Kind::Offer, text); };
    switch (tour) {
    case StartPanel::Tour::Write:
        enter("write", "all");
        openFresh(); // the text that is open may fill the context
        generate_->write();
        say(tr("The model writes one word after another. Each tile is one attention head: its lowest row is the newest "
               "word, and bright cells are the words that it looks at. Click a tile to see it large. Undo brings back "
               "the text that was open."));
        break;
    case StartPanel::Tour::Look:
        enter("inspect", "head");
        postModel("builtin:induction-trained", {});
        bench_.selectHead(1, 0);
        say(tr(
            "Rows are letters that look, columns are letters that are looked at. This head copies: each letter looks "
            "at what followed the same letter before. Click a bright cell to see its arithmetic."));
        break;
    case StartPanel::Tour::Train:
        enter("train", "all");
        bench_.post(StopCommand{});
        train_->play();
        training_.follow(true); // also if a text is still being written
        say(tr("A new model learns to sort digits, and its heads form. At first they look everywhere; soon each row "
               "looks at the digit that it must write next. Afterwards, drag the timeline to replay the run."));
        break;
    }
}

void MainWindow::continueLesson(const QString& id) {
    const auto& lessons = lessonPanel_->lessons();
    const auto left = std::ranges::find(lessons, id, &Lesson::id);
    if (left == lessons.end()) return;
    bench_.showPanel("lessons");
    lessonPanel_->start(*left);
}

void MainWindow::rememberLesson() {
    if (!remembersLayout_) return;
    const bool isLeftOpen = preferences_.autosaves && lessons_->isPlaying();
    QSettings().setValue(kOpenLesson, isLeftOpen ? lessons_->lesson().id : QString());
}

void MainWindow::resumeLesson() {
    if (lessonToResume_.isEmpty() || !bench_.hasModel() || !(bench_.snapshot()->sequence || bench_.readsPictures()))
        return;
    QSettings().remove(kOpenLesson); // once: a lesson that ends the program must not open again and again
    continueLesson(std::exchange(lessonToResume_, {}));
    if (lessons_->isPlaying()) pending_.reset(); // the lesson gives it back
}

} // namespace attn
