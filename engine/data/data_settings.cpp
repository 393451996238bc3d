#include "engine/data/data_settings.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

void failParameter(std::string_view user, std::string_view parameter, std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = fmt::format("{}: {}", user, parameter), .hint = std::move(hint)});
}

} // namespace attn
