#pragma once

#include <filesystem>

namespace attn {

/// Keeps the folder of a training run for one trainer at a time, by a lock on its file run.lock. The system releases
/// it when the process ends, however it ends.
class RunLock {
public:
    /// @throws Error if another trainer has the folder, naming its process, or if the file cannot be written
    explicit RunLock(const std::filesystem::path& run);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

private:
    int descriptor_ = -1;
};

} // namespace attn
