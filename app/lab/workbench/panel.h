#pragma once

#include "app/figures/figure.h"
#include "app/lab/workbench/workbench.h"

#include <QJsonObject>
#include <QWidget>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace attn {

/// Content of one dock. It shows snapshots, reads the workbench and asks it to change, and keeps no state of its own
/// that other panels show too.
class Panel : public QWidget {
    Q_OBJECT

public:
    explicit Panel(Workbench& bench, QWidget* parent = nullptr) : QWidget(parent), bench_(bench) {}

    /// Receives each new snapshot, after the workbench. Parts that did not change are the same objects as before.
    virtual void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) { Q_UNUSED(snapshot) }

    /// How its dock is called for the open model; empty: as the catalogue of panels calls it.
    virtual QString titleNow() const { return {}; }

    /// View settings for session files, under keys of the panel's choice.
    virtual QJsonObject saveView() const { return {}; }
    virtual void restoreView(const QJsonObject& view) { Q_UNUSED(view) }

    /// Something inside the panel that the finder lists.
    struct Place {
        QString title, kind; ///< the kind is translated, such as "Lesson"
        std::function<void()> open;
        QString help; ///< one or two sentences
    };
    virtual std::vector<Place> places() { return {}; }

    /// The widget that export draws, as it is on screen.
    virtual QWidget* figure() { return this; }
    /// The numbers of the figure. Taking them is quick; forming the text or the arrays may not be.
    virtual ExportNumbers numbers() const { return {}; }

    /// What tells the exported figure from those of other panels, for the name of its file: "L2-H3".
    virtual QString exportName() const { return objectName(); }
    /// The head whose numbers those are; none: several, or no head's.
    virtual std::optional<std::pair<int, int>> exportedHead() const { return std::nullopt; }
    /// The run that the numbers compare the current one with; null: none.
    virtual std::shared_ptr<const Snapshot> comparedRun() const { return nullptr; }

protected:
    Workbench& bench_;
};

} // namespace attn
