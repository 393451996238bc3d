#pragma once

#include "app/lab/workbench/attention_settings.h"
#include "app/lab/workbench/input_kind.h"

#include <QJsonObject>
#include <QList>
#include <QWidget>

namespace attn {

struct Figure;

/// What the Attention panel shows of one kind of input, and where it keeps what is chosen in the panel's toolbar.
class AttentionPage : public QWidget {
    Q_OBJECT

public:
    AttentionPage(AxisKind axis, Workbench& bench) : axis_(axis), bench_(bench) {}

    AxisKind axis() const { return axis_; }
    bool isOpen() const { return bench_.input().axis() == axis_; } ///< the open model reads such an input

    /// Controls of this page alone, by their places in the panel's toolbar and in its menu.
    struct Tools {
        QList<QWidget*> beforeHead, afterHead, beforeColours, afterColours;
    };
    virtual Tools tools() { return {}; }

    /// Receives each snapshot while isOpen().
    virtual void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) = 0;
    /// Shows the settings in its controls and views, or hides its controls while it is not open.
    virtual void showSettings() = 0;
    virtual QJsonObject saveView() const = 0;
    virtual void restoreView(const QJsonObject& view) = 0;

    virtual AttentionLevel level() const = 0;
    virtual void setLevel(AttentionLevel level) = 0;
    virtual AttentionLevel wantedLevel() const { return level(); }   ///< once what a restored view waits for is there
    virtual AttentionLevel exportedLevel() const { return level(); } ///< which an export means
    virtual void forgetRestored() {}                                 ///< the user has chosen a level
    virtual bool isDifference() const { return false; }              ///< whose colours cannot be chosen
    virtual bool hasHead() const { return true; }                    ///< one layer is shown, not all of them at once
    virtual HeadAggregate aggregate() const = 0;
    virtual void setAggregate(HeadAggregate aggregate) = 0;
    virtual void choose(const HeadChoice& choice) = 0;
    /// Shows a head large beside its thumbnail, as if the pointer were on it; none: no longer.
    virtual void point(const std::optional<HeadChoice>& choice) { Q_UNUSED(choice) }
    virtual ColourMapId colours() const = 0;
    virtual void setColours(ColourMapId colours) = 0;

    virtual QWidget* view() { return figure(); } ///< which the keyboard reaches first
    virtual QWidget* figure() = 0;
    virtual const Figure* shownFigure() const = 0; ///< null: nothing was shown yet

signals:
    void changed();                              ///< the settings
    void chosen(const attn::HeadChoice& choice); ///< a head, in a view
    void levelChosen(attn::AttentionLevel level);

protected:
    AxisKind axis_;
    Workbench& bench_;
};

} // namespace attn
