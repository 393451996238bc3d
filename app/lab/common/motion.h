#pragma once

namespace attn {

/// How long a change on screen moves, in milliseconds; 0 if the user has switched motion off.
int motionMs();
void setMotion(bool isOn);

} // namespace attn
