#include "app/lab/dialogs/start_page.h"
#include "app/lab/lessons/lesson.h"
#include "app/lab/lessons/lesson_panel.h"
#include "app/lab/lessons/lesson_player.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/banner.h"

#include <QDockWidget>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>

#include <algorithm>

namespace attn {

void MainWindow::makeLessons(const QString& folder) {
    lessons_ = std::make_unique<LessonPlayer>(*this);
    lessonPanel_->setPlayer(*lessons_, *this, folder);
    connect(lessonPanel_, &LessonPanel::failed, this, &MainWindow::showFailure);
    connect(lessons_.get(), &LessonPlayer::ended, this, [this](const QString&, bool isFinished) {
        if (isFinished) offerBanner_->present(Banner::Kind::Success, tr("Lesson finished."));
    });
}

void MainWindow::greet() {
    const QString key = QStringLiteral("greeted");
    if (leftover_ || QSettings().value(key).toBool()) return;
    QSettings().setValue(key, true);
    offerBanner_->present(
        Banner::Kind::Offer, tr("New here? A lesson takes five minutes and runs in this window."),
        {{tr("Lessons"), tr("Show the list of lessons"), [this] { actions_.at("lessons")->trigger(); }},
         {tr("Start page"), tr("Show all the ways to start"), [this] { showStart(); }}});
}

std::optional<Recipe> MainWindow::recipe() const { return train_->recipe(); }

void MainWindow::arrangeFor(const QStringList& panels) {
    for (const auto& [id, dock] : docks_)
        if (id != QLatin1String("lessons") && !panels.contains(id)) dock->hide();
    QDockWidget* lesson = docks_.at("lessons");
    lesson->setFloating(false);
    removeDockWidget(lesson);
    addDockWidget(Qt::LeftDockWidgetArea, lesson);
    lesson->show();
    std::vector<QDockWidget*> shown;
    for (const QString& id : panels) {
        QDockWidget* dock = docks_.at(id);
        dock->setFloating(false);
        removeDockWidget(dock);
        if (shown.empty())
            addDockWidget(Qt::RightDockWidgetArea, dock);
        else
            splitDockWidget(shown.back(), dock, shown.size() == 1 ? Qt::Vertical : Qt::Horizontal);
        dock->show();
        dock->raise();
        shown.push_back(dock);
    }
    lesson->raise();
    if (shown.empty()) return;
    const int left = std::clamp(width() / 3, 300, 420);
    resizeDocks({lesson, shown.front()}, {left, width() - left}, Qt::Horizontal);
    if (shown.size() > 1) resizeDocks({shown[0], shown[1]}, {height() * 6 / 10, height() * 4 / 10}, Qt::Vertical);
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

void MainWindow::showStart() {
    StartPage::Offers offers;
    const auto& lessons = lessonPanel_->lessons();
    if (const auto left = std::ranges::find(lessons, unfinishedLesson(), &Lesson::id); left != lessons.end())
        offers.lesson = left->title;
    if (leftover_) offers.session = leftover_->title();
    offers.recent = recentPaths();
    offers.mayOpen = locksInForce().value("files") == ControlState::Free;
    auto* page = new StartPage(offers, this);
    page->setAttribute(Qt::WA_DeleteOnClose);
    connect(page, &StartPage::lessonContinued, this, [this] { openUnfinishedLesson(); });
    connect(page, &StartPage::sessionContinued, this, [this] {
        if (leftover_) restore(*leftover_);
    });
    connect(page, &StartPage::modelChosen, this, [this](const QString& path) { open(path); });
    connect(page, &StartPage::openAsked, this, [this] { chooseModelFolder(); });
    connect(page, &StartPage::lessonsAsked, this, [this] { actions_.at("lessons")->trigger(); });
    connect(page, &StartPage::panelAsked, this, [this](const QString& id) { bench_.showPanel(id); });
    page->open();
}

void MainWindow::openUnfinishedLesson() {
    const auto& lessons = lessonPanel_->lessons();
    const auto left = std::ranges::find(lessons, unfinishedLesson(), &Lesson::id);
    if (left == lessons.end()) return;
    bench_.showPanel("lessons");
    lessonPanel_->start(*left);
}

} // namespace attn
