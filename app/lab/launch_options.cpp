#include "app/lab/launch_options.h"

#include <QCommandLineParser>

namespace attn {

std::variant<LaunchOptions, LaunchMessage> parseLaunchOptions(const QStringList& arguments) {
    QCommandLineParser parser;
    parser.setApplicationDescription("Opens a transformer and shows its attention live.\n\nExamples:\n"
                                     "  attention-lab\n"
                                     "  attention-lab ~/models/stories260k --prompt \"Once upon a time\"\n"
                                     "  attention-lab --theme projector lesson.attnlab");
    const QCommandLineOption help = parser.addHelpOption(), version = parser.addVersionOption();
    parser.addPositionalArgument("path", "Model folder, .safetensors file, .attnlab session or builtin:induction.",
                                 "[path]");
    const QCommandLineOption prompt("prompt", "Prompt for the model.", "text");
    const QCommandLineOption device("device", "Vulkan device: its number or part of its name.", "device");
    const QCommandLineOption screenshot(
        "screenshot", "Write the first complete picture of the window to a PNG file and quit.", "file");
    const QCommandLineOption size("size", "Size of the window, for example 1280x800.", "WxH");
    const QCommandLineOption theme("theme", "Theme: light, dark or projector.", "theme");
    const QCommandLineOption session("session", "Session file to open.", "file");
    const QCommandLineOption lesson("lesson", "Lesson to open: its number, its name, or a lesson file.", "lesson");
    QCommandLineOption startupTime("startup-time", "Print the time to the first picture.");
    startupTime.setFlags(QCommandLineOption::HiddenFromHelp);
    parser.addOptions({prompt, device, screenshot, size, theme, session, lesson, startupTime});
    const auto mistake = [](const QString& text) {
        return LaunchMessage{QStringLiteral("attention-lab: %1\nTry 'attention-lab --help'.\n").arg(text), 2};
    };
    if (!parser.parse(arguments)) return mistake(parser.errorText());
    if (parser.isSet(help)) // no application exists yet, so Qt does not know the program's name
        return LaunchMessage{parser.helpText().replace("<executable_name>", "attention-lab"), 0};
    if (parser.isSet(version)) return LaunchMessage{QStringLiteral("attention-lab %1\n").arg(ATTN_VERSION), 0};
    const QStringList paths = parser.positionalArguments();
    if (paths.size() > 1) return mistake(QStringLiteral("give one path, not %1").arg(paths.size()));
    LaunchOptions options{.path = paths.value(0),
                          .prompt = parser.value(prompt),
                          .device = parser.value(device),
                          .screenshot = parser.value(screenshot),
                          .size = {},
                          .theme = {},
                          .session = parser.value(session),
                          .lesson = parser.value(lesson),
                          .printsStartupTime = parser.isSet(startupTime)};
    if (options.session.isEmpty() && options.path.endsWith(".attnlab"))
        options.session = std::exchange(options.path, {});
    if (parser.isSet(size)) {
        const QStringList sides = parser.value(size).split('x');
        const QSize wanted(sides.value(0).toInt(), sides.value(1).toInt());
        if (sides.size() != 2 || wanted.width() < 100 || wanted.height() < 100)
            return mistake(
                QStringLiteral("--size '%1' is not a size; write for example 1280x800").arg(parser.value(size)));
        options.size = wanted;
    }
    if (parser.isSet(theme)) {
        options.theme = themeFromKey(parser.value(theme));
        if (themeKey(*options.theme) != parser.value(theme))
            return mistake(
                QStringLiteral("--theme '%1' is unknown; choose light, dark or projector").arg(parser.value(theme)));
    }
    return options;
}

} // namespace attn
