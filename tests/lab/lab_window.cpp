#include "tests/lab/lab_window.h"

namespace attn {

void makeApplication(const QString& folder) {
    if (!qApp) {
        static int argc = 1;
        static char name[] = "test_lab";
        static char* argv[] = {name, nullptr};
        // Lives until the process ends: Qt's statics outlive no QApplication gladly, but it outlives them.
        static auto* application = new QApplication(argc, argv);
        Q_UNUSED(application)
        QCoreApplication::setOrganizationName("attention-lab-test");
        QCoreApplication::setApplicationName("attention-lab-test");
        QSettings::setDefaultFormat(QSettings::IniFormat);
    }
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder);
    QSettings().clear();
}

LabWindow::LabWindow(const QString& path, const QString& prompt, const QStringList& opens) {
    makeApplication(folder_.path());
    MainWindow::Setup setup{.preferences = Preferences{},
                            .device = {},
                            .path = path,
                            .opens = opens,
                            .prompt = prompt,
                            .autosaveFolder = folder_.path() + "/autosave",
                            .runsFolder = folder_.path() + "/runs"};
    setup.startScope = [this](const QStringList& arguments) {
        startedScopes_.push_back(arguments);
        return std::optional<Failure>();
    };
    window_ = std::make_unique<MainWindow>(std::move(setup));
    QObject::connect(&window_->bridge(), &SessionBridge::posted, window_.get(),
                     [this](const Command& command) { posted_.push_back(command); });
    window_->workbench().undoSteps().setClock([this] { return undoTimeMs_; });
    window_->resize(1280, 800);
    window_->show();
    window_->activateWindow();
    (void)QTest::qWaitForWindowActive(window_.get());
    REQUIRE(settle());
}

bool LabWindow::waitFor(const std::function<bool()>& condition, int timeoutMs) {
    return QTest::qWaitFor(condition, timeoutMs);
}

void LabWindow::pause() { undoTimeMs_ += UndoSteps::kPauseMs + 1; }

bool LabWindow::settle() {
    QTest::qWait(100);
    // A file that was read may type a text, which is posted after a short pause, and then runs.
    const auto isRead = [this] { return !window_->files().isOpening(); };
    const auto isPosted = [this] {
        return std::ranges::none_of(window_->findChildren<QTimer*>("typingPause"), &QTimer::isActive);
    };
    const auto isShown = [this] {
        return window_->workbench().snapshot() && window_->workbench().snapshot() == window_->bridge().latest();
    };
    do {
        if (!waitFor(isRead) || !waitFor(isPosted) || !window_->bridge().waitIdle() || !waitFor(isShown)) return false;
    } while (!isRead() || !isPosted());
    return true;
}

void LabWindow::saveSession(const QString& path) {
    window_->files().saveSessionAs(path);
    REQUIRE(waitFor([this] { return !window_->files().isSaving(); }));
    REQUIRE(QFile::exists(path));
}

void LabWindow::showPanel(const char* id) {
    auto& dock = find<QDockWidget>((std::string("dock.") + id).c_str());
    dock.show();
    dock.raise();
    QCoreApplication::processEvents();
}

void LabWindow::closeGate(int site, int head, float gate) {
    Changes changes = window_->workbench().changes();
    changes.setGate(site, head, gate);
    window_->workbench().setChanges(std::move(changes));
}

void LabWindow::layOut() {
    for (int round = 0; round < 10; ++round) {
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        QCoreApplication::processEvents();
    }
}

void LabWindow::press(const QAction& action) { QTest::keySequence(window_.get(), action.shortcut()); }

void LabWindow::act(const char* name) {
    press(action(name));
    REQUIRE(settle());
}

void LabWindow::click(const char* button) { QTest::mouseClick(&find<QPushButton>(button), Qt::LeftButton); }

void LabWindow::clickAndSettle(const char* button) {
    click(button);
    REQUIRE(settle());
}

QByteArray withFields(QJsonObject object, const std::string& fields) {
    const QJsonObject others = QJsonDocument::fromJson(QByteArray::fromStdString(fields)).object();
    for (auto field = others.begin(); field != others.end(); ++field) object[field.key()] = field.value();
    return QJsonDocument(object).toJson();
}

void writeText(const QString& path, const QByteArray& text) {
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(text);
}

Banner& banner(LabWindow& lab, const char* bar) { return *lab.window().findChild<QWidget*>(bar)->findChild<Banner*>(); }

} // namespace attn
