#include "app/lab/launch_options.h"
#include "app/lab/main_window.h"
#include "app/lab/quit_on_signals.h"
#include "app/lab/screenshot.h"
#include "engine/models/bundled.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QStandardPaths>
#include <QTimer>

#include <cstdio>

int main(int argc, char** argv) {
    QElapsedTimer sinceStart;
    sinceStart.start();
    QCoreApplication::setApplicationName("attention-lab");
    QCoreApplication::setOrganizationName("attention-lab");
    QCoreApplication::setApplicationVersion(ATTN_VERSION);
    QStringList arguments;
    for (int i = 0; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
    // Parsed before the display is opened, so that --help works without one. Qt removes its own options (-platform)
    // later.
    const auto parsed = attn::parseLaunchOptions(arguments);
    if (const auto* message = std::get_if<attn::LaunchMessage>(&parsed)) {
        std::fputs(message->text.toLocal8Bit().constData(), message->exitCode == 0 ? stdout : stderr);
        return message->exitCode;
    }
    const auto& options = std::get<attn::LaunchOptions>(parsed);
    QApplication application(argc, argv);

    attn::MainWindow::Setup setup{.preferences = attn::Preferences::load()};
    if (options.theme) setup.preferences.theme = *options.theme;
    const QString device = options.device.isEmpty() ? setup.preferences.device : options.device;
    if (!device.isEmpty()) setup.session.device = device.toStdString();
    if (setup.preferences.softwareThreads >= 0) setup.session.softwareThreads = setup.preferences.softwareThreads;
    for (const attn::BundledModel& model : attn::bundledModels())
        if (model.title == "stories")
            setup.path = QString::fromStdString(model.path);
        else if (model.title == "vit-shapes")
            setup.visionModel = QString::fromStdString(model.path);
    if (options.session.isEmpty()) setup.opens = options.path;
    setup.prompt = options.prompt;
    if (options.size) setup.size = *options.size;
    const QString data = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
    setup.runsFolder = data + "/runs";
    setup.lessonFolder = data + "/lessons";
    const bool isScreenshot = !options.screenshot.isEmpty();
    setup.greets = !isScreenshot && options.path.isEmpty() && options.session.isEmpty() && options.lesson.isEmpty();
    if (isScreenshot)
        setup.remembersLayout = false;
    else
        setup.autosaveFolder = data;

    attn::MainWindow window(std::move(setup));
    if (options.size) window.resize(*options.size); // overrides the remembered size
    if (options.printsStartupTime) {
        attn::onFirstPicture(window, [&sinceStart] {
            std::printf("first picture after %lld ms\n", static_cast<long long>(sinceStart.elapsed()));
        });
    }
    if (isScreenshot) attn::takeScreenshotAndQuit(window, options.screenshot);
    attn::onQuitSignal(&window, [&window] {
        window.saveForNextStart();
        QApplication::exit(0); // the training session saves when the window is destroyed
    });
    window.show();
    if (!options.session.isEmpty()) window.openSession(options.session);
    if (!options.lesson.isEmpty()) window.openLesson(options.lesson);
    return QApplication::exec();
}
