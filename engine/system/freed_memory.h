#pragma once

namespace attn {

/// Makes the C library return freed memory to the system. Call it before threads start.
void returnFreedMemory();

} // namespace attn
