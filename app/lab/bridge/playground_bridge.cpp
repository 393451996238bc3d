#include "app/lab/bridge/playground_bridge.h"

namespace attn {

PlaygroundBridge::PlaygroundBridge(PlaygroundSession::Options options, QObject* parent)
    : QObject(parent), maps_(*this,
                             [this] {
                                 snapshot_ = session_->latest();
                                 emit changed(snapshot_);
                             }),
      costing_(*this, [this] { emit costsChanged(costs_->latest()); }),
      costs_(std::make_unique<CostSession>(CostSession::Options{
          .device = options.device, .softwareThreads = options.softwareThreads, .validation = options.validation})) {
    session_ = std::make_unique<PlaygroundSession>(std::move(options));
    session_->setListener([this] { maps_.request(); });
    costs_->setListener([this] { costing_.request(); });
}

PlaygroundBridge::~PlaygroundBridge() {
    maps_.close();
    costing_.close();
    costs_.reset();
    session_.reset();
}

} // namespace attn
