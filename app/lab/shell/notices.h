#pragma once

#include "app/lab/shell/banner_stack.h"
#include "engine/core/failure.h"

#include <QList>
#include <QObject>

#include <functional>

class QUndoStack;

namespace attn {

class StatusStrip;
struct Snapshot;

/// What the window tells: failures and messages in banners, and work beside the window in the status bar.
class Notices : public QObject {
    Q_OBJECT

public:
    explicit Notices(QMainWindow& window);

    /// @param isOfModel another model takes it away, also the first one
    void fail(const Failure& failure, bool isOfModel = false);
    void succeed(const QString& text);
    void offer(const QString& text, const QList<Banner::Choice>& choices = {});
    /// An offer about what is open: it goes when undo takes back the step that opened it or another model is opened,
    /// and comes back with redo. @param before index of the stack before that step, which may still be to come
    void offerOfStep(const QString& text, const QUndoStack& stack, int before);
    /// The place of offers and successes.
    Banner& message() { return *message_; }
    BannerStack& banners() { return *banners_; }
    StatusStrip& status() { return *status_; }

    /// Shows work beside the window, with a Cancel button, if it takes longer than a moment.
    void showWork(const QString& what, std::function<bool()> isRunning);
    void endWork();
    /// Shows the activity of the session, and takes a failure away that is over. @param before null: none
    void follow(const Snapshot* before, const Snapshot& now);

signals:
    void failureShown(const QString& sentence);

private:
    StatusStrip* status_;
    BannerStack* banners_;
    Banner *failure_, *message_;
    bool isOfModel_ = false; ///< the failure in the banner
    QMetaObject::Connection ofStep_;
};

} // namespace attn
