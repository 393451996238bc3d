#include "app/lab/shell/launch_options.h"

#include "app/arguments/arguments.h"
#include "app/arguments/numbers.h"
#include "engine/models/bundled.h"

#include <algorithm>

namespace attn {

std::variant<LaunchOptions, LaunchMessage> parseLaunchOptions(const QStringList& arguments) {
    cli::Command program("attention-lab", "Open a transformer and see its attention live",
                         "attention-lab " ATTN_VERSION);
    std::vector<std::string> files;
    std::string prompt, device, screenshot, session, lesson;
    LaunchOptions options;
    program.about("Writes text with a model, token by token, and shows what every attention head does: all heads as "
                  "thumbnails, one head as a heatmap with its tokens, one cell as the arithmetic behind it. Models, "
                  "pictures and sessions can also be dropped on the window.");
    program
        .argument("PATH ...", files,
                  "model folder, .safetensors file, folder of a training run, .attnlab session, link to a view, "
                  "picture, lesson, text for the prompt, or built-in model; of several, the window opens the first. "
                  "Built-in models: " +
                      builtinModelNames())
        .defaultText("builtin:english");
    program.option("--prompt TEXT", prompt, "prompt for the model").defaultText("the model's own example");
    program
        .option("--device DEVICE", device, "Vulkan device, by index or by part of its name; see attention-cli devices")
        .defaultText("the one in Preferences, ATTN_DEVICE, or the best device");
    program.textOption(
        "--theme THEME",
        [&](const std::string& text) {
            const QString key = QString::fromStdString(text);
            options.theme = themeFromKey(key);
            return themeKey(*options.theme) == key ? std::string()
                                                   : "'" + text + "' is unknown; choose light, dark or projector";
        },
        "light, dark or projector");
    program.textOption(
        "--size WxH",
        [&](const std::string& text) {
            const auto sides = cli::wholeNumbers(text, "x");
            if (!sides || std::ranges::min(*sides) < 100 || std::ranges::max(*sides) > 16384)
                return "'" + text + "' is not a size; write for example 1280x800";
            options.size = QSize(static_cast<int>(sides->front()), static_cast<int>(sides->back()));
            return std::string();
        },
        "size of the window in pixels, for example 1280x800");
    program.option("--session FILE", session, "session file to open");
    program.option("--lesson LESSON", lesson, "lesson to open: its number, its name, or a lesson file");
    program.option("--screenshot FILE", screenshot,
                   "write the first complete picture of the window to a PNG file and quit");
    program.list("Environment", {{"ATTN_DEVICE", "Vulkan device to use when --device is not given"},
                                 {"ATTN_VALIDATION", "1 loads the Khronos validation layer"},
                                 {"XDG_CACHE_HOME", "compiled pipelines are kept in its folder attention-lab"}});
    program.list("Exit status", {{"0", "the window was closed"},
                                 {"1", "something failed; a message says what"},
                                 {"2", "the command line is wrong"}});
    program.example("attention-lab");
    program.example("attention-lab ~/models/stories260k --prompt \"Once upon a time\"");
    program.example("attention-lab --theme projector lesson.attnlab");
    program.seeAlso({"attention-cli", "attention-scope"});

    std::vector<std::string> words;
    for (const QString& argument : arguments.mid(1)) words.push_back(argument.toStdString());
    if (const auto reply = program.parse(std::move(words)))
        return LaunchMessage{QString::fromStdString(reply->text), reply->exitCode};
    for (const std::string& file : files) options.files << QString::fromStdString(file);
    options.prompt = QString::fromStdString(prompt);
    options.device = QString::fromStdString(device);
    options.screenshot = QString::fromStdString(screenshot);
    options.session = QString::fromStdString(session);
    options.lesson = QString::fromStdString(lesson);
    return options;
}

} // namespace attn
