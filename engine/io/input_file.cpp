#include "engine/io/input_file.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace attn {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const char* what, int code) {
    throw Error({.what = fmt::format("{}: {}", what, std::strerror(code)),
                 .where = path.string(),
                 .hint = remedyForReading(code)});
}

/// Opens a path without waiting for the other end of a pipe.
int openWithoutWaiting(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 && errno == ENOENT)
        throw Error({.what = "there is no such file", .where = path.string(), .hint = "check the path"});
    if (descriptor < 0) refuse(path, "cannot be opened", errno);
    return descriptor;
}

/// @param mode st_mode of the path
void requireRegular(const std::filesystem::path& path, mode_t mode) {
    if (S_ISREG(mode)) return;
    const char* kind = S_ISDIR(mode)    ? "a folder"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    throw Error({.what = fmt::format("is not a file but {}", kind),
                 .where = path.string(),
                 .hint = "name a file, or put the file back in its place"});
}

[[noreturn]] void refuseSize(const std::filesystem::path& path, uint64_t mostBytes) {
    throw Error({.what = fmt::format("is too large; at most {} MiB are read", mostBytes >> 20),
                 .where = path.string(),
                 .hint = "choose a smaller file"});
}

} // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)), descriptor_(openWithoutWaiting(path_)) {
    struct stat status {};
    try {
        if (fstat(descriptor_, &status) != 0) refuse(path_, "cannot be read", errno);
        requireRegular(path_, status.st_mode);
    } catch (const Error&) {
        close(descriptor_);
        throw;
    }
    sizeBytes_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), sizeBytes_(other.sizeBytes_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
    InputFile taken(std::move(other));
    std::swap(path_, taken.path_);
    std::swap(descriptor_, taken.descriptor_);
    std::swap(sizeBytes_, taken.sizeBytes_);
    return *this;
}

void InputFile::read(uint64_t at, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t count = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse(path_, "cannot be read", errno);
        if (count == 0)
            throw Error({.what = fmt::format("was shortened while it was open and now ends at byte {}", at),
                         .where = path_.string(),
                         .hint = "fetch the file again"});
        at += static_cast<uint64_t>(count);
        out = out.subspan(static_cast<size_t>(count));
    }
}

std::string remedyForReading(int code) {
    switch (code) {
    case EACCES:
    case EPERM:
        return "give yourself permission to read it and its folder";
    case ELOOP:
        return "remove the link that leads back to itself";
    case ENOTDIR:
        return "check the path: a part of it is a file, not a folder";
    case ENAMETOOLONG:
        return "check the path: a name in it is too long";
    default:
        return "check the path and the disk";
    }
}

std::string readTextFile(const std::filesystem::path& path, uint64_t mostBytes) {
    const InputFile file(path);
    if (file.sizeBytes() > mostBytes) refuseSize(path, mostBytes);
    std::string text(file.sizeBytes(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string withoutByteOrderMark(std::string text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    return text;
}

std::string readGivenText(const std::filesystem::path& path, uint64_t mostBytes) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
        return withoutByteOrderMark(readTextFile(path, mostBytes));
    const int descriptor = openWithoutWaiting(path);
    const auto closes = [](const int* open) { close(*open); };
    const std::unique_ptr<const int, decltype(closes)> guard(&descriptor, closes);
    std::string text;
    std::array<char, 1 << 16> piece{};
    for (;;) {
        const ssize_t count = ::read(descriptor, piece.data(), piece.size());
        if (count == 0) return withoutByteOrderMark(std::move(text));
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
            poll(&waiting, 1, -1);
            continue;
        }
        if (count < 0) refuse(path, "cannot be read", errno);
        text.append(piece.data(), static_cast<size_t>(count));
        if (text.size() > mostBytes) refuseSize(path, mostBytes);
    }
}

} // namespace attn
