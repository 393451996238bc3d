#include "engine/session/session.h"

#include "engine/session/worker.h"

namespace attn {

Session::Session(DeviceChoice choice) : worker_(std::make_unique<Worker>(std::move(choice))) {}
Session::Session() : Session(DeviceChoice{}) {}
Session::~Session() = default;

void Session::post(Command command) { worker_->post(std::move(command)); }
std::shared_ptr<const Snapshot> Session::latest() const { return worker_->snapshots().latest(); }
void Session::setListener(std::function<void()> listener) { worker_->snapshots().setListener(std::move(listener)); }
bool Session::waitIdle(double timeoutSeconds) { return worker_->waitIdle(timeoutSeconds); }

} // namespace attn
