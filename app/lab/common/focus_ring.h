#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace attn {

/// Draws a ring around the control that has the keyboard focus, in the palette's highlight colour, outside its edge if
/// there is room. It serves every kind of control, so that none is left out.
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

    QPointer<QWidget> ring_;             ///< a child of the window or scroll area that contains the control
    QPointer<QWidget> target_;           ///< the control that has the focus
    QList<QPointer<QWidget>> ancestors_; ///< the target and its ancestors, which may move it
    QMetaObject::Connection tabMoved_;   ///< connected to a tab bar that has the focus
};

/// The widget that takes the focus for a group of controls: the group itself, or its first visible control.
QWidget* focusableIn(QWidget& group);

/// Whether a widget is on screen. Qt treats a panel behind other tabs as visible, but keeps it outside its window.
bool isInSight(const QWidget& widget);

} // namespace attn
