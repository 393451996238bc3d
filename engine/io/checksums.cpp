#include "engine/io/checksums.h"

#include "engine/core/error.h"
#include "engine/io/input_file.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>
#include <zlib.h>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "checksums.sfv";
constexpr uint64_t kMostListBytes = uint64_t{1} << 20; // far more than a line for each file

/// The CRC-32 of a file's bytes as eight hexadecimal digits.
std::string checksumOf(const fs::path& path) {
    const InputFile file(path);
    std::vector<std::byte> piece(1 << 20);
    uLong crc = crc32(0, nullptr, 0);
    for (uint64_t at = 0; at < file.sizeBytes(); at += piece.size()) {
        piece.resize(std::min<uint64_t>(piece.size(), file.sizeBytes() - at));
        file.read(at, piece);
        crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    }
    return fmt::format("{:08x}", crc);
}

} // namespace

void writeChecksums(const fs::path& folder, std::span<const std::string_view> names) {
    std::string text;
    std::error_code error;
    for (const std::string_view name : names)
        if (fs::exists(folder / name, error)) text += fmt::format("{} {}\n", name, checksumOf(folder / name));
    writeAtomically(folder / kFile, text);
}

bool hasChecksums(const fs::path& folder) {
    std::error_code error;
    return fs::symlink_status(folder / kFile, error).type() != fs::file_type::not_found; // a link may lead nowhere
}

void removeChecksums(const fs::path& folder) {
    std::error_code error;
    fs::remove(folder / kFile, error);
    if (error)
        throw Error({.what = fmt::format("cannot be removed: {}", error.message()),
                     .where = (folder / kFile).string(),
                     .hint = remedyForWriting(error.value())});
}

void verifyChecksums(const fs::path& folder, std::span<const std::string_view> names) {
    if (!hasChecksums(folder)) return;
    std::error_code error;
    std::istringstream lines(readTextFile(folder / kFile, kMostListBytes));
    size_t number = 0, named = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.empty()) continue;
        ++named;
        std::istringstream words(line);
        std::string name, expected;
        if (!(words >> name >> expected))
            throw Error({.what = fmt::format("line {} is damaged", number),
                         .where = (folder / kFile).string(),
                         .hint = "use another checkpoint or a copy; delete the file if you know that the others are "
                                 "whole"});
        if (std::ranges::find(names, name) == names.end()) continue;
        if (!fs::exists(folder / name, error))
            throw Error({.what = fmt::format("is missing, but {} names it", kFile),
                         .where = (folder / name).string(),
                         .hint = fmt::format("use another checkpoint or a copy; delete {} if you removed the file "
                                             "yourself",
                                             kFile)});
        if (const std::string found = checksumOf(folder / name); found != expected)
            throw Error({.what = fmt::format("is damaged: its checksum is {} instead of {:.8}", found, expected),
                         .where = (folder / name).string(),
                         .hint = fmt::format("use another checkpoint or a copy; delete {} if you changed the file "
                                             "yourself",
                                             kFile)});
    }
    if (named == 0)
        throw Error(
            {.what = "names no file",
             .where = (folder / kFile).string(),
             .hint = "use another checkpoint or a copy; delete the file if you know that the others are whole"});
}

} // namespace attn
