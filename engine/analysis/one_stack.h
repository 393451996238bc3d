#pragma once

namespace attn {

class RunningModel;

/// @throws Error if the model has an encoder and a decoder, whose streams most analyses do not follow
void requireOneStack(const RunningModel& model);

} // namespace attn
