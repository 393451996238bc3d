#include "app/scope/options.h"

#include "app/scope/views/catalogue.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace attn::scope {
namespace {

constexpr int kUsage = 2;                  // as in attention-cli: the command line was wrong
constexpr int kFramesBeforeScreenshot = 3; // layout settles in the first

std::string readSize(const std::string& text, Options& options) {
    std::istringstream stream(text);
    char by = 0, rest = 0;
    int width = 0, height = 0;
    if (!(stream >> width >> by >> height) || by != 'x' || stream >> rest || width < 100 || height < 100 ||
        width > 16384 || height > 16384)
        return "'" + text + "' is not a size; write for example 1280x800";
    options.width = width;
    options.height = height;
    return {};
}

std::string readRandom(const std::string& text, Options& options) {
    std::istringstream stream(text);
    char first = 0, second = 0, rest = 0;
    std::array<int64_t, 3> size{};
    if (!(stream >> size[0] >> first >> size[1] >> second >> size[2]) || first != ',' || second != ',' ||
        stream >> rest || size[0] < 2 || size[0] > 1 << 17 || size[1] < 1 || size[1] > 128 || size[2] < 1 ||
        size[2] > 256)
        return "'" + text + "' is not a size such as 32768,8,64; use at most 131072 tokens and 128 heads of width 256";
    options.random = size;
    return {};
}

} // namespace

std::variant<Options, Message> parseOptions(std::vector<std::string> arguments) {
    CLI::App app{"Shows a model's attention, tensors and kernels directly from device memory, or the long patterns of "
                 "random queries and keys.",
                 "attention-scope"};
    Options options;
    app.set_version_flag("--version", "attention-scope " ATTN_VERSION);
    app.add_option("PATH", options.path, "model folder, .safetensors file or builtin:induction")->capture_default_str();
    auto* prompt = app.add_option("--prompt", options.prompt, "text to start with; default: the model's own example");
    app.add_option("--tokens", options.tokens, "token ids instead of text, e.g. 1,403,407")->excludes(prompt);
    app.add_option_function<std::string>(
           "--random",
           [&](const std::string& text) {
               if (const std::string mistake = readRandom(text, options); !mistake.empty())
                   throw CLI::ValidationError("--random", mistake);
           },
           "show random queries and keys instead of a model, e.g. 32768,8,64 (tokens, heads, width)")
        ->type_name("T,H,D");
    std::vector<std::string> views;
    for (const ViewDescriptor& view : viewCatalogue()) views.emplace_back(view.name);
    app.add_option("--view", options.view, "view to show first: " + fmt::format("{}", fmt::join(views, ", ")))
        ->check([views](const std::string& name) {
            return viewNamed(name) != nullptr
                       ? std::string()
                       : fmt::format("'{}' is not a view; choose {}", name, fmt::join(views, ", "));
        })
        ->type_name("VIEW");
    app.add_flag("--present", options.presents, "start in full screen with only the figure, in large text");
    app.add_flag("--light", options.isLight, "start with the light theme");
    app.add_option("--follow", options.follow, "show what a program such as attention-lab sends over this local socket")
        ->type_name("SOCKET");
    app.add_option("--layer", options.layer, "layer to show first, from 0");
    app.add_option("--head", options.head, "head to show first, from 0");
    app.add_option("--device", options.device,
                   "index or part of the name of a Vulkan device (see: attention-cli devices)");
    app.add_option("--present-device", options.presentDevice,
                   "device that drives the display, if the computing device cannot; images are copied between the "
                   "two");
    app.add_flag("--validation", options.validation, "load the Vulkan validation layer");
    app.add_option("--frames", options.frames, "quit after this many frames and print the frame rate")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--screenshot", options.screenshot, "write the last frame to a PNG file and quit");
    app.add_option_function<std::string>(
           "--size",
           [&](const std::string& text) {
               if (const std::string mistake = readSize(text, options); !mistake.empty())
                   throw CLI::ValidationError("--size", mistake);
           },
           "size of the window, e.g. 1280x800")
        ->type_name("WxH");
    app.footer(
        "Keys: 1 to 9 choose the view; arrows choose the layer (up, down) and head (left, right); Enter opens the "
        "head selected in the grid;\n"
        "Space generates one token; R runs or stops; Backspace returns to the prompt; 0 fits; B brightens faint "
        "cells; T changes the theme;\n"
        "P or F11 presents; F toggles full screen; Esc ends the presentation or quits; Q quits. The wheel zooms or "
        "scrolls; dragging pans.");
    std::ranges::reverse(arguments); // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;
        const bool isFine = app.exit(error, out, err) == 0;
        return Message{isFine ? out.str() : "attention-scope: " + err.str(), isFine ? 0 : kUsage};
    }
    if (!options.screenshot.empty() && options.frames == 0) options.frames = kFramesBeforeScreenshot;
    return options;
}

} // namespace attn::scope
