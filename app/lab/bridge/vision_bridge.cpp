#include "app/lab/bridge/vision_bridge.h"

namespace attn {

VisionBridge::VisionBridge(VisionSession::Options options, QObject* parent)
    : QObject(parent), delivery_(*this, [this] {
          snapshot_ = session_->latest();
          emit changed(snapshot_);
      }) {
    session_ = std::make_unique<VisionSession>(std::move(options));
    session_->setListener([this] { delivery_.request(); });
}

VisionBridge::~VisionBridge() {
    delivery_.close();
    session_.reset();
}

} // namespace attn
