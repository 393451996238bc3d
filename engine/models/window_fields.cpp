#include "engine/models/window_fields.h"

#include "engine/core/quoting.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>

#include <string>

namespace attn {

std::vector<int64_t> windowsByLayer(const ConfigReader& read, const WindowFields& fields, int64_t layers) {
    constexpr const char *kWindow = "sliding_window", *kTypes = "layer_types";
    constexpr int64_t kUsualFirst = 28;    // of Qwen2
    constexpr int64_t kUsualWindow = 4096; // where the file has no "sliding_window"
    const bool isOn = !read.isNull(kWindow) && (!fields.byLayer || read.flag("use_sliding_window", false));
    const int64_t stored = read.has(kWindow) ? read.size(kWindow) : kUsualWindow, window = isOn ? stored : 0;
    const int64_t first = fields.byLayer ? read.wholeNumber("max_window_layers", kUsualFirst, 0, int64_t{1} << 30) : 0;
    std::vector<int64_t> windows(static_cast<size_t>(layers), 0);
    for (int64_t layer = first; layer < layers; ++layer) windows[static_cast<size_t>(layer)] = window;
    // The types of layers, which newer files have, restate all this or say it otherwise.
    if (!fields.byLayer || !read.has(kTypes)) return windows;
    const std::vector<std::string> kinds = read.texts(kTypes);
    if (std::ssize(kinds) != layers)
        read.fail(kTypes, fmt::format("describes {} layers but num_hidden_layers is {}", kinds.size(), layers));
    for (size_t layer = 0; layer < kinds.size(); ++layer) {
        const bool slides = kinds[layer] == "sliding_attention";
        if (!slides && kinds[layer] != "full_attention")
            read.fail(kTypes, fmt::format("holds {}", inQuotes(kinds[layer])),
                      "supported: full_attention, sliding_attention");
        if (slides && !isOn)
            read.fail(kTypes, fmt::format("gives layer {} a window, but {} switches windows off", layer,
                                          read.isNull(kWindow) ? "sliding_window null" : "use_sliding_window"));
        windows[layer] = slides ? window : 0;
    }
    return windows;
}

} // namespace attn
