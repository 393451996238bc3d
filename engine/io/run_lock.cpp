#include "engine/io/run_lock.h"

#include "engine/core/error.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attn {
namespace {

/// The process number that the holder of a lock wrote; 0 if it cannot be read.
long holderOf(int descriptor) {
    char text[32] = {};
    return pread(descriptor, text, sizeof text - 1, 0) > 0 ? std::strtol(text, nullptr, 10) : 0;
}

constexpr int kTries = 10;
constexpr useconds_t kPauseUs = 10'000;

} // namespace

std::optional<long> RunLock::holder(const std::filesystem::path& run) {
    const int descriptor = open((run / "run.lock").c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    std::optional<long> holder;
    if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = holderOf(descriptor);
    close(descriptor); // which also ends the lock
    return holder;
}

RunLock::RunLock(const std::filesystem::path& run) {
    const std::filesystem::path path = run / "run.lock";
    const auto refuse = [&](const std::filesystem::path& where, std::string what, std::string hint) {
        if (descriptor_ >= 0) close(descriptor_);
        throw Error({.what = std::move(what), .where = where.string(), .hint = std::move(hint)});
    };
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        refuse(path, fmt::format("cannot be written: {}", std::strerror(errno)), remedyForWriting(errno));
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) refuse(path, "is not a file", "remove it");
    // A file system without locks gives another error; training there must stay possible.
    bool isFree = flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    for (int again = 0; !isFree && again < kTries; ++again) { // holder() may only be looking
        usleep(kPauseUs);
        isFree = flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    }
    if (!isFree) {
        const long holder = holderOf(descriptor_);
        if (holder == getpid()) refuse(run, "this program trains it already", "pause that training run first");
        refuse(run,
               holder > 0 ? fmt::format("another program trains it already (process {})", holder)
                          : "another program trains it already",
               "stop that program first, or choose another folder");
    }
    const std::string number = fmt::format("{}\n", getpid()); // best effort: only shown in the message
    if (ftruncate(descriptor_, 0) == 0) (void)!pwrite(descriptor_, number.data(), number.size(), 0);
}

RunLock::~RunLock() { close(descriptor_); }

} // namespace attn
