#pragma once

#include "engine/session/mirror_protocol.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace attn::scope {

/// Listens to another window's messages on a local socket that the other one serves.
class Follower {
public:
    /// @param path of the socket
    /// @param wake called on another thread when something has come, or the other one has gone
    /// @throws Error if nobody serves it, or this system has no such sockets
    Follower(const std::string& path, std::function<void()> wake);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    /// What has come since the last call, without waiting.
    std::vector<std::string> takeLines();
    bool isConnected() const { return isConnected_; } ///< the other one is still there

private:
    void listen();

    int socket_ = -1;
    std::function<void()> wake_;
    std::atomic<bool> isConnected_ = false;
    std::mutex mutex_;
    std::vector<std::string> lines_; ///< guarded by mutex_
    std::jthread listener_;          // ends first
};

} // namespace attn::scope
