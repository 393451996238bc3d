#include "engine/core/failure.h"

#include "engine/core/error.h"

namespace attn {

std::string Failure::sentence() const { return Error({.what = what, .where = where, .hint = hint}).what(); }

} // namespace attn
