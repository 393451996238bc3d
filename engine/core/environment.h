#pragma once

#include <optional>
#include <string>

// The one place that reads or writes environment variables.

namespace attn::environment {

std::optional<std::string> device(); ///< ATTN_DEVICE: index or part of a device's name
bool validation();                   ///< ATTN_VALIDATION=1: load the Khronos validation layer
std::string cacheDirectory();        ///< XDG_CACHE_HOME or ~/.cache, plus /attention-lab; empty if neither exists
/// Chooses how software Vulkan (lavapipe) runs before the next instance is created: 0 inline on the submitting thread,
/// empty its own default. An LP_NUM_THREADS that the user set is left alone.
void setSoftwareVulkanThreads(std::optional<int> threads);

} // namespace attn::environment
