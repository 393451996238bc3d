#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Whether this is the text that Git-LFS leaves in place of a large file.
bool isGitLfsPointer(std::string_view text);

/// Parses JSON that is nested at most 64 deep, so that walking it needs no more stack than there is.
/// @param file    for messages
/// @param subject what of the file the text is
/// @param onKey   hears every key of the outermost object; of keys that come twice, the result holds one
/// @throws Error naming the file and the place of the mistake
nlohmann::json parseJson(std::string_view text, const std::string& file, const std::string& subject = "the file",
                         const std::function<void(const std::string&)>& onKey = {});

/// Parses a JSON file. @throws Error likewise
nlohmann::json readJsonFile(const std::filesystem::path& path);

/// A value as a message shows it: the beginning of its JSON.
std::string shownJson(const nlohmann::json& value);

} // namespace attn
