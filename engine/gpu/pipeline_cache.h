#pragma once

#include "engine/gpu/context.h"

#include <filesystem>

namespace attn::gpu {

/// Keeps compiled pipelines on disk, in one file per device and driver version. A missing, foreign or damaged file
/// counts as an empty cache, never as an error.
class PipelineCache {
public:
    explicit PipelineCache(Context& context); ///< in the user's cache folder
    /// @param folder empty: keeps nothing on disk
    PipelineCache(Context& context, const std::filesystem::path& folder);
    ~PipelineCache(); ///< saves new pipelines
    PipelineCache(PipelineCache&&) noexcept = default;
    PipelineCache& operator=(PipelineCache&& other) noexcept;

    VkPipelineCache get() const { return cache_.get(); }
    const std::filesystem::path& file() const { return file_; }
    /// The size of this driver's data in the file when it was opened, in bytes; 0 on the first start.
    size_t loadedBytes() const { return loadedBytes_; }

    /// Writes the file if the cache has grown. The old file stays intact until the new one is complete.
    /// @return false if the folder cannot be written; the only consequence is a slower start
    bool save() noexcept;

private:
    VkDevice device_ = VK_NULL_HANDLE;
    Owned<VkPipelineCache, vkDestroyPipelineCache> cache_;
    std::filesystem::path file_;
    size_t loadedBytes_ = 0;
    size_t savedBytes_ = 0;
};

} // namespace attn::gpu
