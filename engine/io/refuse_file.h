#pragma once

#include "engine/core/error.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

namespace attn {

/// @throws Error that names a person's file. @param what continues the file's name, as in "has no tab in line 3"
[[noreturn]] inline void refuseFile(const std::filesystem::path& path, std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = path.string(), .hint = std::move(hint)});
}

/// @throws Error that names a line of a person's file. @param what continues its number, as in "has no tab"
[[noreturn]] inline void refuseLine(const std::filesystem::path& path, size_t line, const std::string& what,
                                    std::string hint) {
    refuseFile(path, "line " + std::to_string(line) + " " + what, std::move(hint));
}

} // namespace attn
