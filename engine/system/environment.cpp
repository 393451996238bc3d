#include "engine/system/environment.h"

#include <cstdlib>
#include <sstream>

namespace attn::environment {
namespace {

std::optional<std::string> read(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

} // namespace

std::optional<std::string> device() { return read("ATTN_DEVICE"); }
std::optional<std::string> kernels() { return read("ATTN_KERNELS"); }
bool validation() { return read("ATTN_VALIDATION") == "1"; }

std::string cacheDirectory() {
    if (const auto xdg = read("XDG_CACHE_HOME")) return *xdg + "/attention-lab";
    if (const auto home = read("HOME")) return *home + "/.cache/attention-lab";
    return {};
}

std::string dataDirectory() {
    if (auto xdg = read("XDG_DATA_HOME")) return *xdg;
    if (const auto home = read("HOME")) return *home + "/.local/share";
    return {};
}

std::vector<std::string> dataDirectories() {
    std::vector<std::string> folders;
    std::istringstream list(read("XDG_DATA_DIRS").value_or("/usr/local/share:/usr/share"));
    for (std::string folder; std::getline(list, folder, ':');)
        if (!folder.empty()) folders.push_back(folder);
    return folders;
}

void setSoftwareVulkanThreads(std::optional<int> threads) {
    static const bool chosenByUser = read("LP_NUM_THREADS").has_value();
    if (chosenByUser) return;
    if (threads)
        setenv("LP_NUM_THREADS", std::to_string(*threads).c_str(), 1);
    else
        unsetenv("LP_NUM_THREADS");
}

} // namespace attn::environment
