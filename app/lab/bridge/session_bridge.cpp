#include "app/lab/bridge/session_bridge.h"

#include <utility>

namespace attn {

SessionBridge::SessionBridge(DeviceChoice choice, QObject* parent)
    : QObject(parent), delivery_([this] { deliver(); }), session_(std::make_unique<Session>(std::move(choice))) {
    session_->setListener([this] { receive(); });
    delivery_.request(); // a snapshot from before the listener was set must not be missed
}

SessionBridge::~SessionBridge() {
    delivery_.close();
} // before the session, which the worker asks for its newest snapshot

bool SessionBridge::isOpeningModel() const {
    const auto snapshot = latest();
    return snapshot->openings < openings_ || snapshot->status.activity == Activity::Loading;
}

void SessionBridge::post(Command command) {
    if (std::holds_alternative<OpenModelCommand>(command)) ++openings_;
    if (auto* prompt = std::get_if<SetPromptCommand>(&command)) prompt->number = ++texts_;
    if (auto* restored = std::get_if<RestoreBranchesCommand>(&command)) restored->number = ++texts_;
    emit posted(command);
    session_->post(std::move(command));
}

void SessionBridge::receive() {
    delivery_.request([this] {
        const auto snapshot = session_->latest();
        if (!snapshot->failure || snapshot->failureCount == failureCount_) return;
        failureCount_ = snapshot->failureCount;
        const std::lock_guard lock(mutex_);
        failures_.push_back(*snapshot->failure);
    });
}

void SessionBridge::deliver() {
    std::vector<Failure> failures;
    {
        const std::lock_guard lock(mutex_);
        failures.swap(failures_);
    }
    emit snapshotChanged(session_->latest());
    for (const Failure& failure : failures) emit failed(failure);
}

} // namespace attn
