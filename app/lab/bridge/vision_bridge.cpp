#include "app/lab/bridge/vision_bridge.h"

namespace attn {

VisionBridge::VisionBridge(DeviceChoice choice, QObject* parent)
    : QObject(parent), choice_(std::move(choice)), delivery_([this] {
          snapshot_ = session_->latest();
          emit changed(snapshot_);
      }) {
    session_ = std::make_unique<VisionSession>(choice_);
    session_->setListener([this] { delivery_.request(); });
}

VisionBridge& VisionBridge::second() {
    if (!second_) second_ = std::make_unique<VisionBridge>(choice_);
    return *second_;
}

VisionBridge::~VisionBridge() {
    delivery_.close();
    session_.reset();
}

} // namespace attn
