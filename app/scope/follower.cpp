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

#if __has_include(<sys/un.h>)

Follower::Follower(const std::string& path, std::function<void()> wake) : wake_(std::move(wake)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto fail = [&](const std::string& what) {
        if (socket_ >= 0) close(socket_);
        throw Error({.what = what,
                     .where = "--follow " + path,
                     .hint = "start it by Open in scope in attention-lab, or name a socket that a program serves"});
    };
    if (path.empty() || path.size() >= sizeof(address.sun_path)) fail("this is no path of a socket");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_ < 0) fail(std::string("no socket could be made: ") + std::strerror(errno));
    fcntl(socket_, F_SETFD, FD_CLOEXEC);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        fail(std::string("there is nothing to follow: ") + std::strerror(errno));
    isConnected_ = true;
    listener_ = std::jthread([this] { listen(); });
}

Follower::~Follower() {
    shutdown(socket_, SHUT_RDWR); // ends the listener's wait
    listener_.join();
    close(socket_);
}

void Follower::listen() {
    MirrorReader reader;
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break; // it went away
        const std::vector<std::string> lines = reader.add(std::string(bytes.data(), static_cast<size_t>(count)));
        {
            const std::lock_guard lock(mutex_);
            lines_.insert(lines_.end(), lines.begin(), lines.end());
        }
        wake_();
    }
    isConnected_ = false;
    wake_();
}

#else

Follower::Follower(const std::string& path, std::function<void()>) {
    throw Error({.what = "this system has no local sockets that can be followed",
                 .where = "--follow " + path,
                 .hint = "leave the option out"});
}

Follower::~Follower() = default;

void Follower::listen() {}

#endif

std::vector<std::string> Follower::takeLines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
}

} // namespace attn::scope
