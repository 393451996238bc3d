#pragma once

#include <optional>
#include <string>
#include <vector>

// Only this file reads or writes environment variables.

namespace attn::environment {

std::optional<std::string> device();  ///< ATTN_DEVICE: a device's index or part of its name
std::optional<std::string> kernels(); ///< ATTN_KERNELS: auto, shader or host
bool validation();                    ///< ATTN_VALIDATION=1: load the Khronos validation layer
std::string cacheDirectory();         ///< XDG_CACHE_HOME or ~/.cache, plus /attention-lab; empty if neither exists
std::string dataDirectory();          ///< XDG_DATA_HOME or ~/.local/share; empty if neither exists
/// XDG_DATA_DIRS, or /usr/local/share and /usr/share: where programs have their data, the most important first.
std::vector<std::string> dataDirectories();
/// Sets the number of worker threads that software Vulkan (lavapipe) uses in instances created later.
/// @param threads 0 runs dispatches on the submitting thread; empty keeps lavapipe's default. An LP_NUM_THREADS that
/// the
///        user set takes precedence
void setSoftwareVulkanThreads(std::optional<int> threads);

} // namespace attn::environment
