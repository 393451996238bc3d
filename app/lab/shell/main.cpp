#include "app/arguments/run_program.h"
#include "app/lab/common/fit_screen.h"
#include "app/lab/common/number_locale.h"
#include "app/lab/shell/launch_options.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/shell/presentation.h"
#include "app/lab/shell/quit_on_signals.h"
#include "app/lab/shell/screenshot.h"
#include "engine/core/error.h"
#include "engine/models/bundled.h"
#include "engine/system/address_space.h"
#include "engine/system/freed_memory.h"
#include "engine/system/private_file.h"

#include <QApplication>
#include <QFileInfo>
#include <QMessageBox>
#include <QSettings>
#include <QStandardPaths>

#include <cstddef>
#include <cstdio>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

namespace {

/// Says in a box why the program ends, for those who did not start it in a terminal.
void showLastWords(const QString& sentence) {
    QMessageBox box(QMessageBox::Critical, QStringLiteral("Attention Lab"), {}, QMessageBox::Ok);
    box.setTextFormat(Qt::PlainText); // the theme may not be there yet
    box.setText(sentence + '.');
    box.exec();
}

/// Ends the program with a sentence if an event handler runs out of memory. The automatic copy of the session stays.
class Application : public QApplication {
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override {
        try {
            return QApplication::notify(receiver, event);
        } catch (const std::bad_alloc&) {
            if (std::exchange(isOut_, true)) return false;
            std::fputs("attention-lab: memory is short\n", stderr);
            showLastWords(tr("Memory is short, so the program ends. Close other programs and start it again: it offers "
                             "the session as it was"));
            exit(1);
            return false;
        }
    }

private:
    bool isOut_ = false;
};

/// Address space that the window takes at its start: libraries, textures, and stacks and heaps of the threads of a
/// software driver.
size_t addressSpaceNeeded() { return (size_t{1024} + size_t{64} * std::thread::hardware_concurrency()) << 20; }
constexpr size_t kBoxBytes = size_t{400} << 20; ///< of a box with a message alone

int run(int argc, char** argv) {
    attn::returnFreedMemory();
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
    std::optional<QString> shortage;
    try {
        attn::requireAddressSpace(addressSpaceNeeded());
    } catch (const attn::Error& error) {
        if (!options.screenshot.isEmpty()) throw;
        shortage = QString::fromUtf8(error.what());
        shortage->replace(0, 1, shortage->front().toUpper());
        std::fprintf(stderr, "attention-lab: %s\n", error.what());
        try {
            attn::requireAddressSpace(kBoxBytes);
        } catch (const attn::Error&) {
            return 1;
        }
    }
    Application application(argc, argv);
    attn::writeNumbersWithPoint();
    if (shortage) {
        showLastWords(*shortage);
        return 1;
    }

    const QString data = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation),
                  settings = QSettings().fileName(); // which hold prompts, names of files and runs
    for (const QString& folder : {data, QFileInfo(settings).path()}) attn::makePrivateFolder(folder.toStdString());
    attn::makePrivateFile(settings.toStdString());
    attn::MainWindow::Setup setup{.preferences = attn::Preferences::load()};
    if (options.theme) setup.preferences.theme = *options.theme;
    const QString device = options.device.isEmpty() ? setup.preferences.device : options.device;
    if (!device.isEmpty()) setup.device.device = device.toStdString();
    if (setup.preferences.softwareThreads >= 0) setup.device.softwareThreads = setup.preferences.softwareThreads;
    if (setup.preferences.kernels == "shader") setup.device.kernels = attn::Kernels::Shader;
    for (const attn::BundledModel& model : attn::bundledModels())
        if (model.title == "english") setup.path = QString::fromStdString(model.path);
    if (options.session.isEmpty()) setup.opens = options.files;
    setup.prompt = options.prompt;
    if (options.size) setup.size = *options.size;
    setup.runsFolder = data + "/runs";
    setup.lessonFolder = data + "/lessons";
    const bool isScreenshot = !options.screenshot.isEmpty();
    setup.greets = !isScreenshot && options.files.isEmpty() && options.session.isEmpty() && options.lesson.isEmpty();
    setup.asksStorage = !isScreenshot;
    if (isScreenshot)
        setup.remembersLayout = false;
    else
        setup.autosaveFolder = data;

    attn::MainWindow window(std::move(setup));
    if (options.size) {
        window.resize(*options.size);               // overrides the remembered size
        if (!isScreenshot) attn::fitScreen(window); // a picture has the size that was asked for
    }
    if (isScreenshot) attn::takeScreenshotAndQuit(window, options.screenshot);
    attn::onQuitSignal(&window, [&window] {
        window.saveForNextStart();
        QApplication::exit(0); // the training session saves when the window is destroyed
    });
    window.show();
    if (!isScreenshot && options.lesson.isEmpty()) window.presentation().startOnSmallScreen();
    if (!options.session.isEmpty()) window.files().openSession(options.session);
    if (!options.lesson.isEmpty()) window.lessons().open(options.lesson);
    return QApplication::exec();
}

} // namespace

int main(int argc, char** argv) {
    return attn::cli::runProgram("attention-lab", [&] { return run(argc, argv); });
}
