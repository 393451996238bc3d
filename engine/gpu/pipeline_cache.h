#pragma once

#include "engine/gpu/context.h"

#include <filesystem>

namespace attn::gpu {

/// Compiled pipelines kept on disk between runs, one file per device and driver version. A missing, foreign or damaged
/// file is an empty cache, never an error.
class PipelineCache {
public:
    explicit PipelineCache(Context& context); ///< in the user's cache folder
    /// @param folder empty to keep nothing on disk
    PipelineCache(Context& context, const std::filesystem::path& folder);
    ~PipelineCache(); ///< saves what is new
    PipelineCache(PipelineCache&&) noexcept = default;
    PipelineCache& operator=(PipelineCache&& other) noexcept;

    VkPipelineCache get() const { return cache_.get(); }
    const std::filesystem::path& file() const { return file_; }
    /// Bytes that the file held for this driver when it was opened; 0 after a first start.
    size_t loadedBytes() const { return loadedBytes_; }

    /// Writes the file if the cache has grown. The old file stays whole until the new one is complete.
    /// @return false if the folder cannot be written: the program then merely starts slower
    bool save() noexcept;

private:
    VkDevice device_ = VK_NULL_HANDLE;
    Owned<VkPipelineCache, vkDestroyPipelineCache> cache_;
    std::filesystem::path file_;
    size_t loadedBytes_ = 0;
    size_t savedBytes_ = 0;
};

} // namespace attn::gpu
