#include "app/lab/shell/panel_docks.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/widgets/widget_makers.h"

#include <QApplication>
#include <QLayout>
#include <QMainWindow>
#include <QScrollArea>
#include <QScrollBar>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr int kMostWidth = 440; ///< two panels and the rail fit a window of 1024 pixels

/// A panel that needs more room than its dock has scrolls, so that small windows and large type clip nothing, and large
/// type does not widen the window. (A resizable QScrollArea would give panels with wrapping text their preferred
/// height, not the least.)
class PanelScroll : public QScrollArea {
public:
    explicit PanelScroll(QWidget* panel) {
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        setWidget(panel);
        panel->installEventFilter(this);
    }
    QSize minimumSizeHint() const override {
        const int wanted = widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width();
        return {std::min(wanted, kMostWidth), fontMetrics().height() * 5};
    }
    QSize sizeHint() const override { return widget()->sizeHint(); }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        fit();
    }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) {
            if (const int least = minimumSizeHint().width(); std::exchange(leastWidth_, least) != least)
                updateGeometry(); // else the dock keeps the width that larger text needed
            fit();
        }
        return QScrollArea::eventFilter(watched, event);
    }

private:
    void fit() {
        QSize room = maximumViewportSize();
        const int leastWidth = widget()->minimumSizeHint().width();
        if (leastWidth > room.width()) room.rheight() -= horizontalScrollBar()->sizeHint().height();
        int width = std::max(room.width(), leastWidth);
        const auto leastHeight = [&] {
            const QLayout* layout = widget()->layout();
            return layout && layout->hasHeightForWidth() ? layout->minimumHeightForWidth(width)
                                                         : widget()->minimumSizeHint().height();
        };
        int height = leastHeight();
        if (height > room.height()) {
            width = std::max(room.width() - verticalScrollBar()->sizeHint().width(), leastWidth);
            height = leastHeight();
            // Qt takes the height that text and rows of buttons lack at the least from the largest of them, and clips
            // it.
            if (const QLayout* layout = widget()->layout(); layout && layout->hasHeightForWidth())
                height = layout->totalHeightForWidth(width);
        }
        widget()->resize(width, std::max(height, room.height()));
    }

    int leastWidth_ = 0;
};

} // namespace

PanelDocks::PanelDocks(QMainWindow& window, Workbench& bench) {
    for (const PanelDescriptor& descriptor : windowPanels()) {
        const QString id = QString::fromLatin1(descriptor.id), title = panelTitle(descriptor);
        auto* dock = spoken(new QDockWidget(title, &window), "dock." + id, title);
        Panel* panel = descriptor.make(bench, dock);
        dock->setWidget(new PanelScroll(panel));
        if (descriptor.controlGroup) assignControlGroup(dock, descriptor.controlGroup);
        panel->setObjectName(id);
        panel->setAccessibleName(title);
        connect(&bench, &Workbench::snapshotChanged, panel, &Panel::setSnapshot);
        connect(dock, &QDockWidget::visibilityChanged, this, [this, panel](bool isInFront) {
            if (isInFront && QGuiApplication::mouseButtons() != Qt::NoButton) used_ = panel; // a click on its tab
        });
        panels_[id] = panel;
        docks_[id] = dock;
        if (descriptor.serves) choosy_ << id;
    }
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (QWidget* up = now; up; up = up->parentWidget())
            if (auto* panel = qobject_cast<Panel*>(up)) used_ = panel;
    });
}

Panel* PanelDocks::lastUsed() const { return used_ && isInSight(*used_) ? used_ : nullptr; }

PanelDocks::~PanelDocks() {
    disconnect(qApp, nullptr, this, nullptr);
    for (const auto& [id, dock] : docks_) delete dock;
}

QStringList PanelDocks::useless(const Snapshot& snapshot) const {
    QStringList ids;
    for (const PanelDescriptor& descriptor : windowPanels())
        if (snapshot.model && descriptor.serves && !descriptor.serves(*snapshot.model))
            ids << QString::fromLatin1(descriptor.id);
    return ids;
}

} // namespace attn
