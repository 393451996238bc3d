#include "engine/io/input_file.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace attn {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const char* what, int code) {
    throw Error({.what = fmt::format("{}: {}", what, std::strerror(code)),
                 .where = path.string(),
                 .hint = code == EACCES || code == EPERM ? "give yourself permission to read it"
                                                         : "check the path and the disk"});
}

} // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
    const int descriptor =
        open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not block
    if (descriptor < 0) refuse(path_, "cannot be opened", errno);
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        throw Error({.what = "is not a file", .where = path_.string(), .hint = "fetch the file again"});
    }
    descriptor_ = descriptor;
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

std::string readTextFile(const std::filesystem::path& path) {
    const InputFile file(path);
    std::string text(file.sizeBytes(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
}

} // namespace attn
