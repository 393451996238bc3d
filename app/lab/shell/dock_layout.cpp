#include "app/lab/shell/dock_layout.h"

#include "app/lab/common/focus_ring.h"
#include "app/lab/workbench/panel.h"

#include <QApplication>
#include <QCloseEvent>
#include <QCursor>
#include <QDataStream>
#include <QDockWidget>
#include <QEvent>
#include <QLayout>
#include <QMainWindow>
#include <QMouseEvent>
#include <QPointer>
#include <QSettings>
#include <QTabBar>
#include <QToolBar>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

/// Increase this when docks are added or renamed, so that an old arrangement is not forced onto a new window.
constexpr int kVersion = 6;
constexpr double kLowerShare = 0.42; ///< height of the lower place of the column

QString settingsKey(const Workspace& workspace) { return QStringLiteral("workspaces/") + workspace.id; }

QString panelOf(const QDockWidget& dock) { return dock.objectName().section('.', 1); }

} // namespace

DockLayout::DockLayout(QMainWindow& window, std::map<QString, QDockWidget*> docks)
    : QObject(&window), window_(window), docks_(std::move(docks)), workspace_(&workspaces().front()) {
    // A dock that slides to its place is in no arrangement yet, and Qt shows freed widgets if another one takes over.
    window_.setAnimated(false);
    resized_.setSingleShot(true);
    connect(&resized_, &QTimer::timeout, this, &DockLayout::useSizes);
    window_.installEventFilter(this);
    for (const auto& [id, dock] : docks_) dock->installEventFilter(this);
}

void DockLayout::enter(const Workspace& workspace) {
    if (hasLesson_ && &workspace == &workspaceNamed("learn")) return arrangeFor(QStringList(lesson_));
    change(workspace);
}

void DockLayout::change(const Workspace& workspace) {
    const QPointer<QWidget> focused = window_.focusWidget();
    endDrag();
    endAlone();
    keep();
    if (isKept_ || (isLesson_ && hasLesson_)) emit left(*workspace_);
    isLesson_ = false;
    isKept_ = true;
    workspace_ = &workspace;
    const auto known = kept_.find(workspace.id);
    if (known != kept_.end() && window_.restoreState(known->second.docks, kVersion))
        leftOut_ = known->second.leftOut;
    else
        arrange();
    leaveOutAbsent();
    useSizes();
    emit entered(workspace);
    if (focused && window_.isVisible()) giveFocus(focused);
}

void DockLayout::giveFocus(QWidget* control) {
    if (const auto* rail = qobject_cast<QToolBar*>(control->parentWidget())) // a second button would look chosen
        return rail->findChild<QToolButton*>(QStringLiteral("workspace.") + workspace_->id)->setFocus();
    if (isInSight(*control)) return control->setFocus();
    QDockWidget* main = frontOf(workspace_->main);
    if (auto* panel = main ? main->findChild<Panel*>() : nullptr) focusableIn(*panel->figure())->setFocus();
}

void DockLayout::reset() {
    endAlone();
    if (isLesson_) return arrangeFor(QStringList(lesson_));
    endDrag();
    isKept_ = true;
    kept_.erase(workspace_->id);
    columns_.erase(workspace_->id);
    arrange();
    leaveOutAbsent();
    useSizes();
}

void DockLayout::setAbsent(const QStringList& panels) {
    if (panels == absent_) return;
    endDrag();
    absent_ = panels;
    if (!alone_) return showPresent();
    if (absent_.contains(panelOf(*alone_))) endAlone();
}

void DockLayout::showPresent() {
    if (const QDockWidget* main = front(); main && absent_.contains(panelOf(*main)))
        showPanel(workspace_->main.front());
    leaveOutAbsent();
}

void DockLayout::leaveOutAbsent() {
    for (const QString& id : QStringList(leftOut_)) {
        if (absent_.contains(id)) continue;
        leftOut_.removeOne(id);
        docks_.at(id)->show();
    }
    for (const QString& id : absent_) {
        QDockWidget* dock = docks_.at(id);
        if (dock->isHidden()) continue;
        dock->hide();
        leftOut_ << id;
    }
}

void DockLayout::endDrag() {
    if (std::exchange(isDragging_, false)) keepColumn();
    if (QApplication::mouseButtons() == Qt::NoButton) return;
    const auto release = [](QWidget& widget) {
        const QPoint at = QCursor::pos();
        QMouseEvent event(QEvent::MouseButtonRelease, widget.mapFromGlobal(at), at, Qt::LeftButton, Qt::NoButton,
                          Qt::NoModifier);
        QCoreApplication::sendEvent(&widget, &event);
    };
    release(window_); // an edge
    for (QTabBar* tabs : window_.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) release(*tabs);
    for (const auto& [id, dock] : docks_) { // closing ends a drag; the event alone hides nothing
        QCloseEvent event;
        QCoreApplication::sendEvent(dock, &event);
    }
}

void DockLayout::arrange() {
    leftOut_.clear();
    for (const auto& [id, dock] : docks_) {
        dock->setFloating(false);
        window_.removeDockWidget(dock);
    }
    const auto place = [this](const QStringList& ids, Qt::DockWidgetArea area) {
        QDockWidget* front = nullptr;
        for (const QString& id : ids) {
            QDockWidget* dock = docks_.at(id);
            if (front)
                window_.tabifyDockWidget(front, dock);
            else
                window_.addDockWidget(area, dock, Qt::Vertical);
            dock->show();
            if (!front) front = dock;
        }
        if (front) front->raise();
        return front;
    };
    place(workspace_->above, Qt::LeftDockWidgetArea);
    place(workspace_->below, Qt::LeftDockWidgetArea);
    QDockWidget* main = place(workspace_->main, Qt::RightDockWidgetArea);
    // The others wait behind the main figure, so that showing one of them gives it the large place.
    for (const auto& [id, dock] : docks_) {
        if (workspace_->holds(id)) continue;
        window_.tabifyDockWidget(main, dock);
        dock->hide();
    }
    main->raise();
}

void DockLayout::showAlone(const QString& panel) {
    endDrag();
    endAlone();
    keep();
    beforeAlone_ = arrangement();
    sizeBeforeAlone_ = window_.size();
    alone_ = docks_.at(panel);
    for (const auto& [id, dock] : docks_)
        if (dock != alone_) dock->hide();
    alone_->setFloating(false);
    alone_->setFeatures(QDockWidget::NoDockWidgetFeatures);
    alone_->show();
    alone_->raise();
}

void DockLayout::endAlone() {
    if (!alone_) return;
    std::exchange(alone_, nullptr)
        ->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable |
                      QDockWidget::DockWidgetFloatable);
    const bool isSameSize = window_.size() == sizeBeforeAlone_;
    emit aloneEnded(); // first: docks get their sizes beside what comes back
    window_.layout()->activate();
    if (window_.restoreState(beforeAlone_.docks, kVersion)) leftOut_ = beforeAlone_.leftOut;
    showPresent();
    if (!isSameSize) return useSizes();
    window_.layout()->activate();
    resized_.stop(); // every size is the one from before
}

void DockLayout::showPanel(const QString& id) {
    QDockWidget* dock = docks_.at(id);
    if (dock == alone_) return;
    endDrag();
    endAlone();
    if (dock->isHidden() && !isLesson_ && !workspace_->holds(id))
        for (const Workspace& each : workspaces())
            if (each.holds(id)) {
                enter(each);
                window_.layout()->activate(); // a tab that has not been laid out yet cannot be raised
                break;
            }
    dock->show();
    dock->raise();
}

void DockLayout::arrangeFor(const QStringList& panels) {
    endDrag();
    endAlone();
    if (!isLesson_) {
        if (!hasLesson_) beforeLesson_ = workspace_;
        change(workspaceNamed("learn"));
        keep();
    }
    isLesson_ = hasLesson_ = true;
    isKept_ = false;
    lesson_ = panels;
    leftOut_.clear();
    for (const auto& [id, dock] : docks_)
        if (id != QLatin1String("lessons") && !panels.contains(id)) dock->hide();
    QDockWidget* lesson = docks_.at("lessons");
    lesson->setFloating(false);
    window_.removeDockWidget(lesson);
    window_.addDockWidget(Qt::LeftDockWidgetArea, lesson);
    lesson->show();
    QDockWidget* last = nullptr;
    for (const QString& id : panels) {
        QDockWidget* dock = docks_.at(id);
        dock->setFloating(false);
        window_.removeDockWidget(dock);
        if (!last)
            window_.addDockWidget(Qt::RightDockWidgetArea, dock);
        else
            window_.splitDockWidget(last, dock, id == panels[1] ? Qt::Vertical : Qt::Horizontal);
        dock->show();
        dock->raise();
        last = dock;
    }
    lesson->raise();
    leaveOutAbsent();
    useSizes();
}

QByteArray DockLayout::save() const {
    QByteArray saved;
    QDataStream stream(&saved, QIODevice::WriteOnly);
    const auto chosen = columns_.find(workspace_->id);
    const ColumnSize column = chosen != columns_.end() ? chosen->second : ColumnSize{};
    const Arrangement shown = arrangement();
    stream << QString(workspace_->id) << shown.docks << shown.leftOut << column.width << column.lower;
    return saved;
}

void DockLayout::restore(const QByteArray& saved) {
    QDataStream stream(saved);
    QString id;
    Arrangement arrangement;
    stream >> id >> arrangement.docks;
    if (stream.status() != QDataStream::Ok || arrangement.docks.isEmpty()) return;
    if (!stream.atEnd()) stream >> arrangement.leftOut; // files from before 0.4 have none
    ColumnSize column;
    const bool hasColumn = !stream.atEnd(); // older files have none
    if (hasColumn) stream >> column.width >> column.lower;
    const Workspace& workspace = workspaceNamed(id);
    if (workspace.id != id) return;
    if (column.width > 0 && column.width < 1 << 14 && column.lower > 0 && column.lower < 1)
        columns_[workspace.id] = column;
    else if (hasColumn)
        columns_.erase(workspace.id);
    keepArrangement(id, std::move(arrangement));
    isKept_ = false; // what is on screen now must not replace the new state
    enter(workspace);
}

DockLayout::Arrangement DockLayout::arrangement() const {
    return alone_ ? beforeAlone_ : Arrangement{window_.saveState(kVersion), leftOut_};
}

void DockLayout::keepArrangement(const QString& id, Arrangement arrangement) {
    arrangement.leftOut.removeIf([this](const QString& panel) { return !docks_.contains(panel); });
    kept_[id] = std::move(arrangement);
}

void DockLayout::keep() {
    if (isKept_) kept_[workspace_->id] = arrangement();
}

void DockLayout::store() const {
    QSettings settings;
    settings.setValue("workspace", QString((isLesson_ ? beforeLesson_ : workspace_)->id));
    for (const Workspace& each : workspaces()) {
        const bool isHere = &each == workspace_ && isKept_;
        const auto known = kept_.find(each.id);
        if (isHere || known != kept_.end()) {
            const Arrangement shown = isHere ? arrangement() : known->second;
            settings.setValue(settingsKey(each), shown.docks);
            settings.setValue(settingsKey(each) + "LeftOut", shown.leftOut);
        } else {
            settings.remove(settingsKey(each));
        }
        const auto column = columns_.find(each.id);
        if (column == columns_.end()) continue;
        settings.setValue(settingsKey(each) + "Width", column->second.width);
        settings.setValue(settingsKey(each) + "Lower", column->second.lower);
    }
}

void DockLayout::load() {
    const QSettings settings;
    for (const Workspace& each : workspaces()) {
        if (const QByteArray state = settings.value(settingsKey(each)).toByteArray(); !state.isEmpty())
            keepArrangement(each.id, {state, settings.value(settingsKey(each) + "LeftOut").toStringList()});
        if (const int width = settings.value(settingsKey(each) + "Width").toInt(); width > 0)
            columns_[each.id] = {width, settings.value(settingsKey(each) + "Lower", kLowerShare).toDouble()};
    }
}

QDockWidget* DockLayout::frontOf(const QStringList& ids) const {
    QDockWidget* behind = nullptr;
    for (const QString& id : ids) {
        QDockWidget* dock = docks_.at(id);
        if (dock->isHidden() || dock->isFloating()) continue;
        // A tab that is not in front lies outside the window.
        if (window_.rect().intersects(dock->geometry())) return dock;
        if (!behind) behind = dock;
    }
    return behind;
}

DockLayout::ColumnSize DockLayout::column() const {
    if (isLesson_) return {std::clamp(window_.width() / 3, 300, 420)};
    if (const auto chosen = columns_.find(workspace_->id); chosen != columns_.end()) return chosen->second;
    const int letters = QFontMetrics(QApplication::font()).averageCharWidth() * 48;
    return {std::clamp(letters, 240, window_.width() * 3 / 10), kLowerShare};
}

void DockLayout::useSizes() {
    QDockWidget* const left = isLesson_ ? docks_.at("lessons") : frontOf(workspace_->above);
    QDockWidget* const main = frontOf(isLesson_ ? lesson_ : workspace_->main);
    if (!left || !main) return;
    window_.layout()->activate();
    const auto [width, share] = column();
    // Qt shrinks widths in proportion if their sum is more than there is.
    const auto resize = [&](QDockWidget* first, QDockWidget* second, int size, int both, Qt::Orientation along) {
        window_.resizeDocks({first, second}, {std::max(size, 1), std::max(both - size, 1)}, along);
    };
    resize(left, main, width, left->width() + main->width(), Qt::Horizontal);
    QDockWidget* const above = isLesson_ ? main : left;
    QDockWidget* const below = !isLesson_           ? frontOf(workspace_->below)
                               : lesson_.size() > 1 ? docks_.at(lesson_[1])
                                                    : nullptr;
    if (!below) return;
    const int both = above->height() + below->height();
    const int lower = static_cast<int>(both * (isLesson_ ? 0.3 : share));
    resize(above, below, both - lower, both, Qt::Vertical);
}

void DockLayout::keepColumn() {
    const QDockWidget *above = frontOf(workspace_->above), *below = frontOf(workspace_->below);
    if (!isKept_ || !above) return;
    const double lower =
        below ? static_cast<double>(below->height()) / (above->height() + below->height()) : kLowerShare;
    columns_[workspace_->id] = {above->width(), lower};
}

bool DockLayout::eventFilter(QObject* watched, QEvent* event) {
    if (watched == &window_) {
        // No widget covers the edges between docks: the window itself is pressed there.
        if (event->type() == QEvent::MouseButtonPress)
            isDragging_ = !window_.childAt(static_cast<QMouseEvent*>(event)->position().toPoint());
        if (event->type() == QEvent::MouseButtonRelease && isDragging_)
            QTimer::singleShot(0, this, [this] { // once the last move has been laid out
                keepColumn();
                isDragging_ = false;
            });
        if (event->type() == QEvent::Resize || event->type() == QEvent::FontChange) resized_.start(0);
    } else if (event->type() == QEvent::Resize && !resized_.isActive()) {
        const auto* resize = static_cast<QResizeEvent*>(event);
        if (isDragging_)
            keepColumn();
        else if (resize->oldSize().width() != resize->size().width())
            resized_.start(0); // the needs of a panel have moved the edge
    }
    return QObject::eventFilter(watched, event);
}

} // namespace attn
