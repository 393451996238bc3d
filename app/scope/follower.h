#pragma once

#include "engine/session/mirror_protocol.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace attn::scope {

/// Receives messages from another program over a local socket that the other program serves.
class Follower {
public:
    /// @param path the path of the socket
    /// @param wake called on another thread when a message arrives or the other program ends
    /// @throws Error if no program serves the socket, or the system has no local sockets
    Follower(const std::string& path, std::function<void()> wake);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    /// The lines that arrived since the last call. Does not wait. When 32 MiB of lines are waiting, the other program's
    /// writes wait until they are taken.
    std::vector<std::string> takeLines();
    bool isConnected() const { return isConnected_; } ///< the other program still runs

private:
    void listen(const std::stop_token& stop);

    int socket_ = -1;
    std::function<void()> wake_;
    std::atomic<bool> isConnected_ = false;
    std::mutex mutex_;
    std::condition_variable_any taken_;
    std::vector<std::string> lines_; ///< guarded by mutex_
    size_t waitingBytes_ = 0;        ///< of lines_; guarded by mutex_
    std::jthread listener_;          // destroyed first
};

} // namespace attn::scope
