#include "app/scope/options.h"

#include "app/arguments/arguments.h"
#include "app/arguments/numbers.h"
#include "app/scope/views/catalogue.h"
#include "engine/models/bundled.h"

#include <algorithm>

namespace attn::scope {
namespace {

constexpr int kFramesBeforeScreenshot = 3; // the first frame settles the layout

std::string readSize(const std::string& text, Options& options) {
    const auto sides = cli::wholeNumbers(text, "x");
    if (!sides || std::ranges::min(*sides) < 100 || std::ranges::max(*sides) > 16384)
        return "'" + text + "' is not a size; write for example 1280x800";
    options.width = static_cast<int>(sides->front());
    options.height = static_cast<int>(sides->back());
    return {};
}

std::string readRandom(const std::string& text, Options& options) {
    const auto size = cli::wholeNumbers(text, ",,");
    if (!size || (*size)[0] < 2 || (*size)[0] > 1 << 17 || (*size)[1] < 1 || (*size)[1] > 128 || (*size)[2] < 1 ||
        (*size)[2] > 256)
        return "'" + text + "' is not tokens,heads,width; write for example 32768,8,64, at most 131072,128,256";
    options.random = {(*size)[0], (*size)[1], (*size)[2]};
    return {};
}

} // namespace

std::variant<Options, Message> parseOptions(std::vector<std::string> arguments) {
    cli::Command program("attention-scope", "Look at attention, tensors and kernels straight in device memory",
                         "attention-scope " ATTN_VERSION);
    Options options;
    program.about("Runs a model, or draws random queries and keys, and shows its patterns and other tensors from the "
                  "buffers that the Vulkan engine wrote, without a copy to the host. Rows of a pattern are queries, "
                  "columns are keys; masked cells are grey.");
    program.argument("PATH", options.path,
                     "model folder, .safetensors file, folder of a training run, or built-in model: " +
                         builtinModelNames());
    const cli::Option& prompt = program.option("--prompt TEXT", options.prompt, "text that the model reads")
                                    .defaultText("the model's own example");
    program.option("--tokens IDS", options.tokens, "token ids instead of text, for example 1,403,407").excludes(prompt);
    program.textOption(
        "--random T,H,D", [&](const std::string& text) { return readRandom(text, options); },
        "instead of a model: random queries and keys of T tokens, H heads and head width D in the long-pattern view, "
        "for example 32768,8,64");
    std::string views;
    std::vector<std::pair<std::string, std::string>> viewRows;
    for (const ViewDescriptor& view : viewCatalogue()) {
        views += std::string(views.empty() ? "" : ", ") + view.name;
        viewRows.emplace_back(view.name, view.help);
    }
    program
        .textOption(
            "--view VIEW",
            [&, views](const std::string& name) {
                options.view = name;
                return viewNamed(name) ? std::string() : "there is no view '" + name + "'; choose one of " + views;
            },
            "view to show first: " + views)
        .defaultText("head; with --random, long-pattern");
    program.option("--layer N", options.site, "layer to show first, counted from 0");
    program.option("--head N", options.head, "head to show first, counted from 0");
    program.flag("--present", options.presents, "start full screen, in large type, with nothing but the view");
    program.flag("--light", options.isLight, "start with a light background");
    program.option("--follow SOCKET", options.follow,
                   "show what another program sends over this local socket, as attention-lab does");
    program
        .option("--device DEVICE", options.device,
                "Vulkan device that computes, by index or by part of its name; see attention-cli devices")
        .defaultText("ATTN_DEVICE, or the best device");
    program
        .option("--present-device DEVICE", options.presentDevice,
                "Vulkan device that draws the window, if another one computes; tensors are then copied")
        .defaultText("the device that computes, or the best one with a display");
    program.flag("--validation", options.validation, "load the Vulkan validation layer");
    program.option("--frames N", options.frames, "quit after this many frames and print how many were drawn per second")
        .range(1, 1000000)
        .defaultText("");
    program.option("--screenshot FILE", options.screenshot, "write the last frame to a PNG file and quit");
    program
        .textOption(
            "--size WxH", [&](const std::string& text) { return readSize(text, options); },
            "size of the window in pixels")
        .defaultText("960x800");
    program.list("Views, in the order of their keys", std::move(viewRows));
    program.list("Keys", {{"1 to 9", "choose a view"},
                          {"Up, Down", "previous or next layer"},
                          {"Left, Right", "previous or next head"},
                          {"Enter", "open the head that is chosen in the grid"},
                          {"Space", "write the most probable token; hold it for more"},
                          {"R", "write token after token, or stop"},
                          {"Backspace", "go back to the prompt"},
                          {"Wheel, drag", "zoom (in the grid: scroll; with Ctrl: zoom), and pan"},
                          {"0", "show the whole pattern"},
                          {"B", "make faint cells brighter"},
                          {"T", "switch between dark and light"},
                          {"P, F11", "present: full screen, large type, nothing but the view"},
                          {"F", "full screen"},
                          {"Esc", "leave full screen, or quit"},
                          {"Q", "quit"}});
    program.list(
        "Messages for --follow (one JSON object of at most 16 MiB per line, nested at most 64 deep; missing keys "
        "keep their values)",
        {{"path, prompt", "model and text to show"},
         {"types, tree", "with tokens: the type of each, and the dependency tree of the words"},
         {"tokens, promptLength", "the whole text as token ids, and how many of them are the prompt"},
         {"step", "number of tokens to write"},
         {"changes", "all changes to the run, as session files keep them"},
         {"layer, head, view", "what to show"},
         {"theme", "\"dark\" or \"light\""}});
    program.list("Environment", {{"ATTN_DEVICE", "Vulkan device to use when --device is not given"},
                                 {"ATTN_VALIDATION", "1 loads the Khronos validation layer"}});
    program.list("Exit status", {{"0", "the window was closed"},
                                 {"1", "the display, the device or the model failed; a message says what"},
                                 {"2", "the command line is wrong"}});
    program.example("attention-scope builtin:stories --view grid --present");
    program.example("attention-scope --random 32768,8,64");
    program.seeAlso({"attention-lab", "attention-cli"});
    if (auto reply = program.parse(std::move(arguments))) return Message{std::move(reply->text), reply->exitCode};
    if (!options.screenshot.empty() && options.frames == 0) options.frames = kFramesBeforeScreenshot;
    return options;
}

} // namespace attn::scope
