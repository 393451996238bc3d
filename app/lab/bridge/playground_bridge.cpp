#include "app/lab/bridge/playground_bridge.h"

namespace attn {

PlaygroundBridge::PlaygroundBridge(DeviceChoice choice, QObject* parent)
    : QObject(parent), maps_([this] {
          snapshot_ = session_->latest();
          emit changed(snapshot_);
      }),
      costing_([this] { emit costsChanged(costs_->latest()); }), costs_(std::make_unique<CostSession>(choice)) {
    session_ = std::make_unique<PlaygroundSession>(std::move(choice));
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
