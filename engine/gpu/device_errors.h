#pragma once

#include "engine/core/error.h"

namespace attn::gpu {

/// The driver has lost the device. Every object on it is lost, and the program must create a new Context.
class DeviceLost : public Error {
public:
    using Error::Error;
};

/// The driver or the device ran out of memory.
class OutOfMemory : public Error {
public:
    using Error::Error;
};

} // namespace attn::gpu
