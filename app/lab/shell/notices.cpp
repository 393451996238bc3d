#include "app/lab/shell/notices.h"

#include "app/figures/token_label.h"
#include "app/lab/shell/model_step.h"
#include "app/lab/widgets/status_strip.h"

#include <QMainWindow>
#include <QStatusBar>
#include <QUndoStack>

#include <utility>

namespace attn {
namespace {

/// Why the last run has no result; empty: it has one.
QString problemOfRun(const Snapshot& snapshot) {
    return snapshot.runFailure ? shownText(snapshot.runFailure->sentence()) : QString();
}

} // namespace

Notices::Notices(QMainWindow& window) : status_(new StatusStrip(&window)) {
    window.statusBar()->addPermanentWidget(status_, 1);
    window.statusBar()->setSizeGripEnabled(false);
    banners_ = new BannerStack(window);
    failure_ = banners_->add("failureBanner", tr("Failure"));
    message_ = banners_->add("offerBanner", tr("Message"));
}

void Notices::fail(const Failure& failure, bool isOfModel) {
    isOfModel_ = isOfModel;
    const QString sentence = shownText(failure.sentence());
    failure_->present(Banner::Kind::Failure, sentence);
    emit failureShown(sentence);
}

void Notices::succeed(const QString& text) { message_->present(Banner::Kind::Success, text); }

void Notices::offer(const QString& text, const QList<Banner::Choice>& choices) {
    message_->present(Banner::Kind::Offer, text, choices);
}

void Notices::offerOfStep(const QString& text, const QUndoStack& stack, int before) {
    offer(text);
    disconnect(ofStep_);
    struct Followed {
        const QUndoCommand* own = nullptr; // which opened it; null: it was open already
        int first = -1;                    // index of the first step after it; negative: not yet known
        bool isTakenBack = false;
    };
    const auto opensAt = [&stack](int at) { return dynamic_cast<const ModelStep*>(stack.command(at)) != nullptr; };
    const auto look = [=, &stack](Followed& now, int index) {
        if (now.first >= 0 || index <= before) return;
        if (opensAt(before)) now.own = stack.command(before);
        now.first = now.own ? before + 1 : before;
    };
    Followed start;
    look(start, stack.index());
    ofStep_ = connect(&stack, &QUndoStack::indexChanged, this, [=, this, &stack, now = start](int index) mutable {
        look(now, index);
        if (now.own && stack.command(before) != now.own) { // other steps have replaced it
            disconnect(ofStep_);
            return;
        }
        const int first = now.first < 0 ? before : now.first;
        bool isThere = index >= first;
        for (int at = first; at < index; ++at) isThere = isThere && !opensAt(at);
        if (!isThere && message_->isVisible() && message_->text() == text) {
            now.isTakenBack = true;
            message_->withdraw(text);
        } else if (isThere && std::exchange(now.isTakenBack, false) && !message_->isVisible()) {
            offer(text);
        }
    });
}

void Notices::showWork(const QString& what, std::function<bool()> isRunning) {
    constexpr int kMomentMs = 300;
    QTimer::singleShot(kMomentMs, this, [this, what, isRunning = std::move(isRunning)] {
        if (isRunning()) status_->setWork(what);
    });
}

void Notices::endWork() { status_->setWork({}); }

void Notices::follow(const Snapshot* before, const Snapshot& now) {
    status_->setSnapshot(now);
    const bool isNewModel = now.model && (!before || before->model != now.model);
    const bool isNewInput = before && (before->sequence != now.sequence || before->picture != now.picture);
    const bool isOver = before && !problemOfRun(*before).isEmpty() && problemOfRun(*before) == failure_->text() &&
                        problemOfRun(now).isEmpty();
    // A session file that failed at the start is still named when the first model opens.
    const bool isFirst = !before || (!before->sequence && !before->picture);
    if ((isOver || isNewModel || isNewInput) && (isOfModel_ || !isFirst) && failure_->isVisible()) failure_->dismiss();
}

} // namespace attn
