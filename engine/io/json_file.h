#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Whether a text is the pointer that Git-LFS leaves in place of a large file.
bool isGitLfsPointer(std::string_view text);

/// Parses JSON. It may be nested at most 64 deep, so that recursive code cannot exhaust the stack.
/// @param file    name for messages
/// @param subject the part of the file that the text is, for messages
/// @param onKey   called with every key of the outermost object; the result holds a repeated key once
/// @throws Error naming the file and the position of the mistake
nlohmann::json parseJson(std::string_view text, const std::string& file, const std::string& subject = "the file",
                         const std::function<void(const std::string&)>& onKey = {});

/// Parses a JSON file, with the same limit. @throws Error naming the file and the position of the mistake
nlohmann::json readJsonFile(const std::filesystem::path& path);

/// The beginning of a value's JSON, for messages.
std::string shownJson(const nlohmann::json& value);

} // namespace attn
