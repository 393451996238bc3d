#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace attn {

/// A regular file, open for reading. It is read, not mapped, so that a file that shrinks or a disk that fails causes an
/// Error and not a signal.
class InputFile {
public:
    /// @throws Error naming the path, why it cannot be opened and the remedy
    explicit InputFile(std::filesystem::path path);
    ~InputFile();
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&& other) noexcept;

    const std::filesystem::path& path() const { return path_; }
    uint64_t sizeBytes() const { return sizeBytes_; }

    /// Fills `out` with the bytes from offset `at` on. @throws Error if the file ends too early or cannot be read
    void read(uint64_t at, std::span<std::byte> out) const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    uint64_t sizeBytes_ = 0;
};

/// The remedy for the user if a file or a folder cannot be read. @param code errno
std::string remedyForReading(int code);

/// Reads a whole regular file.
/// @throws Error naming the file if it has more than `mostBytes`, is no regular file or cannot be read
std::string readTextFile(const std::filesystem::path& path, uint64_t mostBytes);

/// Leaves out the byte order mark with which some editors begin a text in UTF-8.
std::string withoutByteOrderMark(std::string text);

/// Reads a text that a person named: a regular file, or what a pipe, a terminal or /dev/stdin gives until its end. It
/// does not wait for a pipe that nobody writes to. A byte order mark is left out. @throws Error as readTextFile()
std::string readGivenText(const std::filesystem::path& path, uint64_t mostBytes);

} // namespace attn
