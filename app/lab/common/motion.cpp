#include "app/lab/common/motion.h"

namespace attn {
namespace {
constexpr int kMotionMs = 180;
bool moves = true; // of the window's thread
} // namespace

int motionMs() { return moves ? kMotionMs : 0; }

void setMotion(bool isOn) { moves = isOn; }

} // namespace attn
