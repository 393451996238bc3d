#pragma once

#include <filesystem>
#include <optional>

namespace attn {

/// Keeps the folder of a training run for one trainer at a time, by a lock on its file run.lock. The system releases
/// it when the process ends, however it ends.
class RunLock {
public:
    /// @throws Error if another trainer has the folder, naming its process, or if the file cannot be written
    explicit RunLock(const std::filesystem::path& run);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    /// Whether a process has the folder. @return its number, 0 if it is not known; none: nobody has it
    static std::optional<long> holder(const std::filesystem::path& run);
    RunLock& operator=(const RunLock&) = delete;

private:
    int descriptor_ = -1;
};

} // namespace attn
