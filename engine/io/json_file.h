#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The most bytes of a JSON file. The largest tokenizers have 34 MB, the largest indices of shards 9 MB.
inline constexpr uint64_t kMostJsonBytes = uint64_t{64} << 20;
/// How deep JSON may be nested, so that recursive code cannot exhaust the stack.
inline constexpr int kDeepestJson = 64;
/// The most numbers, texts, lists and objects in one text: twice those of the largest tokenizers, and half a gigabyte
/// once parsed.
inline constexpr size_t kMostJsonValues = size_t{1} << 22;

/// Whether a text is the pointer that Git-LFS leaves in place of a large file.
bool isGitLfsPointer(std::string_view text);

/// Parses JSON of at most kMostJsonValues values, nested at most kDeepestJson deep, in linear time. Of a repeated key,
/// the last value counts.
/// @param file      name for messages
/// @param repeated  gets the keys that an object has more than once, each once
/// @param firstLine of the text in the file, for messages
/// @throws Error naming the file and the position of the mistake
nlohmann::json parseJson(std::string_view text, const std::string& file, std::vector<std::string>* repeated = nullptr,
                         size_t firstLine = 1);

/// Parses a JSON file of at most kMostJsonBytes, with the limits of parseJson().
/// @throws Error naming the file and the position of the mistake
nlohmann::json readJsonFile(const std::filesystem::path& path);
/// Reads a JSON file. @param warnings receives a sentence that names repeated keys, if there are any
nlohmann::json readJsonFile(const std::filesystem::path& path, std::vector<std::string>& warnings);

/// The beginning of a value's JSON, for messages.
std::string shownJson(const nlohmann::json& value);

/// Whether a value of any field switches nothing on: null, false, an empty text, list or object.
bool isOff(const nlohmann::json& value);

/// What this program knows of the fields of a settings file that it does not read.
struct UnreadSettings {
    struct Known {
        std::string_view field;
        std::string_view usual; ///< the JSON of the value that changes nothing
    };
    std::string_view file;                    ///< its name
    std::span<const Known> known;             ///< fields that change a result and are not obeyed
    std::span<const std::string_view> silent; ///< globs of fields that change no result
    bool namesUnknown = true;                 ///< whether all other fields are named, too

    /// A sentence that names the fields that are not obeyed and those that are not known, unless they are off or have
    /// their usual value. @param unread object of the fields that nobody read  @return empty if there are none
    std::string sentenceOn(const nlohmann::json& unread) const;
};

} // namespace attn
