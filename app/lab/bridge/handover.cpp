#include "app/lab/bridge/handover.h"

#include <QCoreApplication>
#include <QEvent>

#include <utility>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace attn {
namespace {

/// Tells ThreadSanitizer that the writes of this thread happen before take() on another thread.
void give([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
    __tsan_release(object);
#endif
}

void take([[maybe_unused]] void* object) {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(object);
#endif
}

QEvent::Type callType() {
    static const int type = QEvent::registerEventType();
    return static_cast<QEvent::Type>(type);
}

struct CallEvent : QEvent {
    explicit CallEvent(std::function<void()> call) : QEvent(callType()), work(std::move(call)) {}
    std::function<void()> work;
};

} // namespace

void Handover::post(std::function<void()> work) {
    auto* call = new CallEvent(std::move(work));
    give(call);
    QCoreApplication::postEvent(this, call);
}

Handover& Handover::toWindow() {
    static auto* const handover = new Handover(QCoreApplication::instance());
    return *handover;
}

bool Handover::event(QEvent* event) {
    if (event->type() != callType()) return QObject::event(event);
    take(event);
    static_cast<CallEvent*>(event)->work();
    return true;
}

} // namespace attn
