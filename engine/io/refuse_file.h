#pragma once

#include "engine/core/error.h"

#include <filesystem>
#include <string>
#include <utility>

namespace attn {

/// @throws Error that names a person's file. @param what continues the file's name, as in "has no tab in line 3"
[[noreturn]] inline void refuseFile(const std::filesystem::path& path, std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = path.string(), .hint = std::move(hint)});
}

} // namespace attn
