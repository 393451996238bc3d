#include "engine/core/failure.h"

namespace attn {

std::string Failure::sentence() const {
    std::string text;
    if (!where.empty()) text += where + ": ";
    text += what;
    if (!hint.empty()) text += "; " + hint;
    return text;
}

} // namespace attn
