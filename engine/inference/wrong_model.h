#pragma once

#include "engine/core/error.h"

namespace attn {

/// Something was asked that only a model of text, or only one of pictures, can do.
class WrongModel : public Error {
public:
    using Error::Error;
};

} // namespace attn
