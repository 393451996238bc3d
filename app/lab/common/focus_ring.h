#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace attn {

/// Draws a ring around the control that has the keyboard focus, in the palette's highlight: outside its edge where
/// there is room. One ring serves every kind of control, so that none can be without.
class FocusRing : public QObject {
public:
    static constexpr int kWidth = 2; ///< pixels
    /// The property of a popup whose controls have the ring. Lists mark their items themselves.
    static constexpr auto kPopover = "attnPopover";

    /// @param parent lives as long as the application
    explicit FocusRing(QObject* parent);

    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void follow(QWidget* widget);
    void place();

    QPointer<QWidget> ring_;             ///< a child of the window, or of the scroll area, that holds the control
    QPointer<QWidget> target_;           ///< has the focus
    QList<QPointer<QWidget>> ancestors_; ///< the target, and what moves it
    QMetaObject::Connection tabMoved_;   ///< of a tab bar that has the focus
};

/// The widget that takes the focus for a group of controls: the group itself, or its first control in sight.
QWidget* focusableIn(QWidget& group);

/// Whether a widget is on screen: Qt keeps a panel whose tab is behind others outside its window, and calls it visible.
bool isInSight(const QWidget& widget);

} // namespace attn
