#pragma once

#include "app/lab/widgets/banner.h"

#include <QPointer>
#include <QTimer>
#include <QVariantAnimation>

#include <vector>

class QMainWindow;
class QStatusBar;

namespace attn {

/// The messages of a window, at its lower edge. Offers stay until they are dismissed: they have a place of their own
/// above the status bar. Other messages lie over the window, so that nothing below them moves, and go by themselves:
/// failures after half a minute and successes after some seconds, unless the pointer is on them. Successes lie beside
/// the menus, where they cover no figure, if there is room.
class BannerStack : public QObject {
    Q_OBJECT

public:
    /// @param window the parent
    explicit BannerStack(QMainWindow& window);

    /// Adds a place for messages, above those that were added before.
    Banner* add(const char* name, const QString& title);
    /// Puts the messages to the right of a widget at the left edge while it is visible, or above the lowest row of one
    /// that fills the window. Of several widgets, the widest counts.
    void keepClearOf(QWidget& widget);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Entry {
        QWidget* holder;
        Banner* banner;
        QTimer* expiry;
    };
    void present(const Entry& entry);
    void place();
    void reserve(int height); ///< for offers
    int beginOfTop() const;   ///< pixels: right of the menus
    bool isAtTop(const Entry& entry) const;
    void placeSuccesses(); ///< beside the menus, where no figure is

    QWidget& window_;
    QStatusBar& status_;                   ///< of the window
    std::vector<QPointer<QWidget>> clear_; ///< of messages
    std::vector<Entry> entries_;
    QVariantAnimation slide_; ///< of the message that was presented last
    QWidget* sliding_ = nullptr;
};

} // namespace attn
