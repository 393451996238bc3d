#include "engine/system/atomic_file.h"

#include "engine/core/error.h"
#include "engine/system/folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffix = ".part";

[[noreturn]] void refuse(const fs::path& path, const std::string& what, std::string hint) {
    throw Error({.what = what, .where = path.string(), .hint = std::move(hint)});
}
[[noreturn]] void refuse(const fs::path& path, int code) {
    refuse(path, fmt::format("cannot be written: {}", std::strerror(code)), remedyForWriting(code));
}

/// The file that a path names in the end, which need not exist.
fs::path followedLinks(const fs::path& path) {
    constexpr int kMostLinks = 40; // Linux's own limit
    fs::path target = path;
    std::error_code error;
    for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
        const fs::path next = fs::read_symlink(target, error);
        if (error || links == kMostLinks) refuse(path, error ? error.value() : ELOOP);
        target = target.parent_path() / next; // an absolute link replaces the left side
    }
    return target;
}

/// A file beside the target that is written first. The kernel releases its lock when the process ends, however it
/// ends, so a file without a lock is a leftover.
class Aside {
public:
    Aside(const fs::path& target, mode_t mode) {
        std::random_device random;
        do {
            path_ = target.string() + fmt::format(".{:08x}", random()) + std::string(kSuffix);
            descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        } while (descriptor_ < 0 && errno == EEXIST);
        if (descriptor_ < 0) refuse(target, errno);
        flock(descriptor_, LOCK_EX | LOCK_NB);
    }
    ~Aside() {
        if (!isRenamed_) unlink(path_.c_str());
        close(descriptor_);
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

    int descriptor() const { return descriptor_; }
    bool renameTo(const fs::path& target) { return isRenamed_ = rename(path_.c_str(), target.c_str()) == 0; }

private:
    std::string path_;
    int descriptor_ = -1;
    bool isRenamed_ = false;
};

/// Whether a name is one that Aside gives, or the process number that version 0.2.0 used in its place.
bool isAside(const std::string& name, const std::string& target) {
    if (name.size() <= target.size() + 1 + kSuffix.size() || !name.starts_with(target + ".") ||
        !name.ends_with(kSuffix))
        return false;
    const std::string_view middle =
        std::string_view(name).substr(target.size() + 1, name.size() - target.size() - 1 - kSuffix.size());
    return middle.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void removeLeftovers(const fs::path& target) {
    const std::string name = target.filename().string();
    std::error_code ignored;
    for (const fs::path& path : entriesOf(target.has_parent_path() ? target.parent_path() : ".", ignored)) {
        if (!isAside(path.filename().string(), name)) continue;
        const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0) continue;
        struct stat status {};
        constexpr int kYoungestSeconds = 60; // a process takes its lock just after it has made the file
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
            time(nullptr) - status.st_mtime >= kYoungestSeconds)
            unlink(path.c_str());
        close(descriptor);
    }
}

} // namespace

std::string remedyForWriting(int code) {
    switch (code) {
    case ENOSPC:
        return "free some disk space";
    case EDQUOT:
        return "free some of the disk space that you are allowed";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS:
        return "choose a folder that you may write to";
    case ENOENT:
        return "create the folder first";
    case ENOTDIR:
        return "choose another path: a part of this one is a file, not a folder";
    case ELOOP:
        return "remove the link that leads back to itself";
    case ENAMETOOLONG:
        return "choose a shorter name";
    default:
        return "check the path and the disk";
    }
}

void writeAtomically(const fs::path& path, std::span<const std::byte> bytes) {
    struct stat before {};
    const bool replaces = stat(path.c_str(), &before) == 0;
    if (replaces && !S_ISREG(before.st_mode))
        refuse(path, S_ISDIR(before.st_mode) ? "is a folder" : "is a device, a pipe or a socket, not a file",
               "choose another name");
    const fs::path target = followedLinks(path);
    removeLeftovers(target);
    // The system removes the bits of the user's umask. A file that others may not read is not readable before it is
    // complete.
    Aside aside(target, replaces ? before.st_mode & 0666 : 0666);
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t count = write(aside.descriptor(), bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse(path, errno);
        done += static_cast<size_t>(count);
    }
    if (replaces && fchmod(aside.descriptor(), before.st_mode & 0777) != 0) refuse(path, errno);
    if (fsync(aside.descriptor()) != 0) refuse(path, errno);
    if (!aside.renameTo(target)) refuse(path, errno);
    syncFolder(target.parent_path());
}

void writeAtomically(const fs::path& path, const std::string& text) {
    writeAtomically(path, std::as_bytes(std::span(text)));
}

} // namespace attn
