#include "app/lab/shell/presentation.h"

#include "app/lab/bridge/session_bridge.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/present_strip.h"
#include "app/lab/workbench/input_kind.h"

#include <QAbstractButton>
#include <QApplication>
#include <QKeyEvent>
#include <QMainWindow>
#include <QMenuBar>
#include <QToolBar>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr int kSmallWindow = 1200; ///< a projector's picture below this width has room for one figure
constexpr int kKeys[] = {Qt::Key_Left,     Qt::Key_Right,  Qt::Key_Up,    Qt::Key_Down,  Qt::Key_PageUp,
                         Qt::Key_PageDown, Qt::Key_Return, Qt::Key_Enter, Qt::Key_Space, Qt::Key_Escape};

} // namespace

Presentation::Presentation(const WindowParts& parts) : parts_(parts) {
    connect(&parts_.layout, &DockLayout::aloneEnded, this, &Presentation::end);
}

Presentation::~Presentation() = default;

void Presentation::toggle() {
    if (isOn())
        parts_.layout.endAlone();
    else
        start();
}

void Presentation::goOn() {
    if (!isExpected_ || !parts_.bench.hasModel()) return;
    isExpected_ = false;
    const bool isSmall = parts_.window.width() < kSmallWindow && parts_.bench.theme() == ThemeId::Projector;
    if (isSmall && !isOn() && !parts_.layout.workspace().holds("start")) start();
}

void Presentation::start() {
    const bool hasHeads = parts_.bench.snapshot()->model->siteCount() > 0;
    auto& attention = parts_.panels.the<AttentionPanel>();
    const QDockWidget* front = parts_.layout.front();
    parts_.layout.showAlone(hasHeads || !front ? attention.objectName() : front->objectName().section('.', 1));
    attention.showTools(false);
    strip_ = new PresentStrip(parts_.bench, &parts_.window);
    connect(strip_, &PresentStrip::left, &parts_.layout, &DockLayout::endAlone, Qt::QueuedConnection);
    for (QWidget* bar : parts_.window.findChildren<QToolBar*>(Qt::FindDirectChildrenOnly)) {
        if (bar == strip_ || bar->isHidden()) continue;
        bar->hide();
        hidden_ << bar;
    }
    strip_->show();
    parts_.window.addToolBar(Qt::BottomToolBarArea, strip_);
    parts_.window.menuBar()->hide();
    focusableIn(*attention.figure())->setFocus();
    qApp->installEventFilter(this);
    parts_.locks.apply(); // to the strip too
    emit changed();
}

void Presentation::end() {
    qApp->removeEventFilter(this);
    for (QWidget* bar : std::exchange(hidden_, {})) bar->show();
    parts_.window.removeToolBar(strip_);
    std::exchange(strip_, nullptr)->deleteLater();
    parts_.panels.the<AttentionPanel>().showTools(true);
    parts_.window.menuBar()->show();
    emit changed();
}

bool Presentation::eventFilter(QObject* watched, QEvent* event) {
    const bool isKey = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    const auto* pressed = isKey ? qobject_cast<QWidget*>(watched) : nullptr;
    if (!pressed || pressed->window() != &parts_.window || qobject_cast<const QAbstractButton*>(pressed))
        return QObject::eventFilter(watched, event);
    const auto& key = static_cast<const QKeyEvent&>(*event);
    const bool isPlain = (key.modifiers() & ~Qt::KeyboardModifiers(Qt::KeypadModifier)) == Qt::NoModifier;
    const bool stops = key.key() == Qt::Key_Escape && parts_.bench.snapshot()->status.activity != Activity::Idle;
    if (!isPlain || stops || std::ranges::find(kKeys, key.key()) == std::end(kKeys))
        return QObject::eventFilter(watched, event);
    event->accept();
    if (event->type() == QEvent::KeyPress) press(key.key());
    return true;
}

void Presentation::press(int key) {
    auto& attention = parts_.panels.the<AttentionPanel>();
    switch (key) {
    case Qt::Key_Left:
        return attention.move(0, -1);
    case Qt::Key_Right:
        return attention.move(0, 1);
    case Qt::Key_Up:
        return attention.move(-1, 0);
    case Qt::Key_Down:
        return attention.move(1, 0);
    case Qt::Key_PageUp:
        return moveToken(-1);
    case Qt::Key_PageDown:
        return moveToken(1);
    case Qt::Key_Space:
        if (parts_.bench.snapshot()->hasEnded) return;                                          // the strip says so
        if (parts_.bench.snapshot()->model->writesText()) parts_.bench.selectRow(std::nullopt); // the new token
        return emit tokenAsked();
    case Qt::Key_Escape:
        return parts_.layout.endAlone();
    default:
        return attention.switchLevel();
    }
}

void Presentation::moveToken(int by) {
    Workbench& bench = parts_.bench;
    const int count = bench.hasModel() ? bench.input().rowCount(*bench.snapshot()) : 0;
    if (count == 0) return;
    const int none = bench.reads(AxisKind::Tokens) ? count - 1 : -1; // what an empty selection stands for
    const int next = bench.selection().row.value_or(none) + by;
    if (next < 0 && none < 0) return bench.selectRow(std::nullopt);
    bench.selectRow(std::clamp(next, 0, count - 1));
}

} // namespace attn
