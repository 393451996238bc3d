#pragma once

namespace attn {

/// The duration of animations in milliseconds; 0 if the user has switched them off.
int motionMs();
void setMotion(bool isOn);

} // namespace attn
