#include "app/lab/common/motion.h"

namespace attn {
namespace {
constexpr int kMotionMs = 180;
bool moves = true; // used on the window's thread only
} // namespace

int motionMs() { return moves ? kMotionMs : 0; }

void setMotion(bool isOn) { moves = isOn; }

} // namespace attn
