#pragma once

#include "app/lab/widgets/banner.h"

#include <QPointer>
#include <QTimer>
#include <QVariantAnimation>

#include <vector>

namespace attn {

/// The messages of a window. They lie over it, at its lower edge, so that nothing below them moves. Offers stay until
/// they are dismissed; failures go after half a minute and other messages after some seconds, unless the pointer is on
/// them, for they cover what lies below.
class BannerStack : public QObject {
    Q_OBJECT

public:
    /// @param window the parent
    explicit BannerStack(QWidget& window);

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

    QWidget& window_;
    std::vector<QPointer<QWidget>> clear_; ///< of messages
    std::vector<Entry> entries_;
    QVariantAnimation slide_; ///< of the message that was presented last
    QWidget* sliding_ = nullptr;
};

} // namespace attn
