#include "app/scope/follower.h"

#include "engine/core/error.h"

#if __has_include(<sys/un.h>)
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

#include <array>
#include <utility>

namespace attn::scope {
namespace {
constexpr size_t kMostWaitingBytes = size_t{32} << 20;
} // namespace

#if __has_include(<sys/un.h>)

Follower::Follower(const std::string& path, std::function<void()> wake) : wake_(std::move(wake)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto fail = [&](const std::string& what) {
        if (socket_ >= 0) close(socket_);
        throw Error({.what = what,
                     .where = "--follow " + path,
                     .hint = "use Open in scope in attention-lab, or give the socket of a running program"});
    };
    if (path.empty() || path.size() >= sizeof(address.sun_path)) fail("this is not a valid socket path");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_ < 0) fail(std::string("cannot create a socket: ") + std::strerror(errno));
    fcntl(socket_, F_SETFD, FD_CLOEXEC);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        fail(std::string("cannot connect to the socket: ") + std::strerror(errno));
    isConnected_ = true;
    listener_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

Follower::~Follower() {
    listener_.request_stop();
    shutdown(socket_, SHUT_RDWR); // wakes the listener
    listener_.join();
    close(socket_);
}

void Follower::listen(const std::stop_token& stop) {
    MirrorReader reader;
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break; // the other program closed the socket
        const std::vector<std::string> lines = reader.add(std::string(bytes.data(), static_cast<size_t>(count)));
        {
            std::unique_lock lock(mutex_);
            if (!taken_.wait(lock, stop, [this] { return waitingBytes_ < kMostWaitingBytes; })) break;
            lines_.insert(lines_.end(), lines.begin(), lines.end());
            for (const std::string& line : lines) waitingBytes_ += sizeof(std::string) + line.size();
        }
        wake_();
    }
    isConnected_ = false;
    wake_();
}

#else

Follower::Follower(const std::string& path, std::function<void()>) {
    throw Error({.what = "this system has no local sockets", .where = "--follow " + path, .hint = "omit the option"});
}

Follower::~Follower() = default;

void Follower::listen(const std::stop_token&) {}

#endif

std::vector<std::string> Follower::takeLines() {
    const std::lock_guard lock(mutex_);
    waitingBytes_ = 0;
    taken_.notify_all();
    return std::exchange(lines_, {});
}

} // namespace attn::scope
