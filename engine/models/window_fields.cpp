#include "engine/models/window_fields.h"

#include "engine/core/quoting.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace attn {
namespace {

constexpr const char *kWindow = "sliding_window", *kSwitch = "use_sliding_window", *kTypes = "layer_types";

/// Sets the windows by the types of layers, which newer files have: they restate the other fields or win.
void followTypes(const ConfigReader& read, int64_t window, std::vector<int64_t>& windows) {
    const std::vector<std::string> kinds = read.texts(kTypes);
    if (kinds.size() != windows.size())
        read.fail(kTypes, fmt::format("describes {} layers but num_hidden_layers is {}", kinds.size(), windows.size()));
    for (size_t layer = 0; layer < kinds.size(); ++layer) {
        const bool slides = kinds[layer] == "sliding_attention";
        if (!slides && kinds[layer] != "full_attention")
            read.fail(kTypes, fmt::format("holds {}", inQuotes(kinds[layer])),
                      "supported: full_attention, sliding_attention");
        if (slides && window == 0)
            read.fail(kTypes, fmt::format("gives layer {} a window, but {} switches windows off", layer,
                                          read.isNull(kWindow) ? "sliding_window null" : kSwitch));
        windows[layer] = slides ? window : 0;
    }
}

} // namespace

std::vector<int64_t> windowsByLayer(const ConfigReader& read, const WindowFields& fields, int64_t layers) {
    constexpr int64_t kUsualFirst = 28;                 // of Qwen2
    constexpr int64_t kUsualWindow = 4096;              // where the file has no "sliding_window"
    const ConfigReader asked(read.json(), read.file()); // without a note that the fields are obeyed
    const bool isOn = !asked.isNull(kWindow) && (!fields.byLayer || asked.flag(kSwitch, false));
    const int64_t stored = asked.has(kWindow) ? asked.size(kWindow) : kUsualWindow, window = isOn ? stored : 0;
    const int64_t first = fields.byLayer ? read.wholeNumber("max_window_layers", kUsualFirst, 0, int64_t{1} << 30) : 0;
    std::vector<int64_t> windows(static_cast<size_t>(layers), 0);
    for (int64_t layer = first; layer < layers; ++layer) windows[static_cast<size_t>(layer)] = window;
    if (fields.byLayer && read.has(kTypes)) followTypes(read, window, windows);
    // A window that is asked for and that no layer has stays unread, so that the user is told.
    const bool isObeyed = !isOn || std::ranges::any_of(windows, [](int64_t each) { return each > 0; });
    for (const char* field : {kWindow, kSwitch}) {
        if (field == kSwitch && !fields.byLayer) continue;
        if (isObeyed)
            read.pass(field);
        else
            read.passOver(field);
    }
    // Mistral's class has no switch: one that says what the window does needs no words, another stays unread.
    if (!fields.byLayer && asked.flag(kSwitch, isOn) == isOn) read.pass(kSwitch);
    return windows;
}

} // namespace attn
