#include "app/lab/bridge/vision_bridge.h"

namespace attn {

VisionBridge::VisionBridge(VisionSession::Options options, QObject* parent)
    : QObject(parent), options_(std::move(options)), delivery_(*this, [this] {
          snapshot_ = session_->latest();
          emit changed(snapshot_);
      }) {
    session_ = std::make_unique<VisionSession>(options_);
    session_->setListener([this] { delivery_.request(); });
}

VisionBridge& VisionBridge::second() {
    if (!second_) second_ = std::make_unique<VisionBridge>(options_);
    return *second_;
}

VisionBridge::~VisionBridge() {
    delivery_.close();
    session_.reset();
}

} // namespace attn
