#pragma once

#include "app/lab/widgets/banner.h"

#include <QTimer>
#include <QVariantAnimation>

#include <vector>

class QMainWindow;
class QStatusBar;

namespace attn {

/// The messages of a window, in a place of their own above the status bar, so that they cover no figure. Successes lie
/// beside the menus instead, if there is room. Offers stay until they are dismissed. Other messages go by themselves:
/// failures after half a minute and successes after some seconds, unless the pointer is on them.
class BannerStack : public QObject {
    Q_OBJECT

public:
    /// @param window the parent
    explicit BannerStack(QMainWindow& window);

    /// Adds a place for messages, above those that were added before.
    Banner* add(const char* name, const QString& title);

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
    void reserve(int height); ///< above the status bar
    int beginOfTop() const;   ///< pixels: right of the menus
    bool isAtTop(const Entry& entry) const;
    void placeSuccesses(); ///< beside the menus, where no figure is

    QWidget& window_;
    QStatusBar& status_; ///< of the window
    std::vector<Entry> entries_;
    QVariantAnimation slide_; ///< of the message that was presented last
    QWidget* sliding_ = nullptr;
};

} // namespace attn
