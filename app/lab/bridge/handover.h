#pragma once

#include <QObject>

#include <functional>

namespace attn {

/// Runs functions on the thread of this object, in order. Functions that still wait when it is destroyed never run.
/// Qt's own queue would suffice, but ThreadSanitizer cannot see its order, so this class tells it.
class Handover : public QObject {
public:
    using QObject::QObject;

    /// Runs a function later. Call this from any thread.
    void post(std::function<void()> work);
    /// Leads to the window's thread. Call this there first.
    static Handover& toWindow();

    bool event(QEvent* event) override;
};

} // namespace attn
