#pragma once

#include <filesystem>
#include <string>

namespace attn {

/// A new folder in the system's temporary folder, with a name that nobody can guess and for this user only. The
/// destructor removes it with everything in it.
class TemporaryFolder {
public:
    /// @throws Error naming the folder, the reason and the remedy
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

} // namespace attn
