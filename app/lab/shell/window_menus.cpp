#include "app/lab/shell/window_menus.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/common/icons.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/jobs_button.h"
#include "app/lab/panels/start_panel.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/export_controller.h"
#include "app/lab/shell/file_controller.h"
#include "app/lab/shell/lesson_controller.h"
#include "app/lab/shell/lock_controller.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/preferences_controller.h"
#include "app/lab/shell/presentation.h"
#include "app/lab/shell/scope_controller.h"
#include "app/lab/shell/session_controller.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/io/run_folder.h"
#include "engine/models/bundled.h"

#include <QActionGroup>
#include <QApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QUndoGroup>
#include <QWhatsThis>

#include <algorithm>
#include <string_view>

namespace attn {
namespace {

constexpr int kTextStep = 10; ///< per cent

/// The icons of actions, by the action's name. Others have none: a menu in which every line has an icon is no faster to
/// read.
constexpr std::pair<const char*, const char*> kIcons[] = {
    {"new", "new"},
    {"openFolder", "open"},
    {"openSession", "open"},
    {"openLink", "link"},
    {"saveSession", "save"},
    {"exportPng", "picture"},
    {"exportHtml", "export"},
    {"undo", "undo"},
    {"redo", "redo"},
    {"resetEdits", "reset"},
    {"copyFigure", "copy"},
    {"copyLink", "link"},
    {"preferences", "settings"},
    {"run", "play"},
    {"step", "step"},
    {"stop", "stop"},
    {"reset", "reset"},
    {"trainPlay", "play"},
    {"trainOneStep", "step"},
    {"trainAgain", "reset"},
    {"exportRunAnimation", "export"},
    {"resetLayout", "reset"},
    {"lessons", "learn"},
    {"find", "search"},
    {"whatIsThis", "help"},
};

constexpr char kPanelKeys[] = "1234567890QWERTYUIOPA"; ///< with Alt+Shift, in the order of the menu

/// Says what the control under the pointer is for.
/// @return whether it says so
bool explainPointedAt(QMainWindow& window) {
    const QPoint at = QCursor::pos();
    QStringList lines;
    for (const QWidget* widget = QApplication::widgetAt(at); widget && widget != &window;
         widget = widget->parentWidget()) {
        const QString name = widget->accessibleName(),
                      help = widget->whatsThis().isEmpty() ? widget->toolTip() : widget->whatsThis();
        if (!help.isEmpty()) {
            if (!name.isEmpty() && name != help) lines << QStringLiteral("<b>%1</b>").arg(name.toHtmlEscaped());
            lines << help.toHtmlEscaped();
            break;
        }
        if (qobject_cast<const Panel*>(widget)) break;
    }
    if (lines.isEmpty()) return false;
    QWhatsThis::showText(at, QStringLiteral("<p>%1</p>").arg(lines.join("<br>")), &window);
    return true;
}

void showAbout(QMainWindow& window) {
    auto* box = readsMarkup(new QMessageBox(QMessageBox::Information, QMainWindow::tr("About Attention Lab"), {},
                                            QMessageBox::Close, &window));
    box->setText(QMainWindow::tr(
                     "<h2>Attention Lab %1</h2><p>Runs transformers on a Vulkan compute engine and shows, live, what "
                     "attention does.</p><p>MIT licence. Built with Qt %2.</p>")
                     .arg(QStringLiteral(ATTN_VERSION), QString::fromLatin1(qVersion())));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace

WindowMenus::WindowMenus(const WindowParts& parts, const Targets& targets)
    : parts_(parts), to_(targets), generate_(panels_.the<GeneratePanel>()), train_(panels_.the<TrainPanel>()) {
    makeFileMenu();
    makeEditMenu();
    makeGenerateMenu();
    makeTrainMenu();
    makeViewMenu();
    makeHelpMenu();
    connect(&to_.files, &FileController::recentChanged, this, &WindowMenus::showRecent);
    connect(&to_.preferences, &PreferencesController::changed, this, &WindowMenus::update);
    connect(&bench_, &Workbench::headSelected, this, &WindowMenus::update);
    connect(&bench_, &Workbench::shownRunChanged, this, &WindowMenus::update);
    connect(&bench_, &Workbench::changesChanged, this, &WindowMenus::update);
    connect(&parts_.locks, &LockController::applied, this, [this] {
        showRecent();
        update();
    });
    showRecent();
}

QAction* WindowMenus::addAction(QMenu* menu, const char* id, const QString& text, const QString& toolTip,
                                const QString& shortcuts, const char* controlGroup, std::function<void()> slot) {
    auto* action = helped(new QAction(text, &window_), id, toolTip);
    action->setShortcuts(QKeySequence::listFromString(shortcuts));
    action->setStatusTip(toolTip);
    for (const auto& [name, icon] : kIcons)
        if (name == std::string_view(id)) action->setIcon(themedIcon(icon));
    if (controlGroup) assignControlGroup(action, controlGroup);
    if (slot) connect(action, &QAction::triggered, this, std::move(slot));
    menu->addAction(action);
    // Also on the window, so that keys work while the menu bar is hidden or a dock floats.
    window_.addAction(action);
    actions_[id] = action;
    return action;
}

void WindowMenus::makeFileMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&File"));
    addAction(menu, "new", tr("&New"), tr("Start afresh with the default model and its example. Undo leads back."),
              "Ctrl+N", "files", [this] { to_.session.openFresh(); });
    addAction(menu, "openFolder", tr("&Open model folder…"), tr("Open a folder with config.json and weights"), "Ctrl+O",
              "files", [this] { to_.files.chooseModelFolder(); });
    addAction(menu, "openFile", tr("Open model &file…"), tr("Open a .safetensors file"), "Ctrl+Shift+O", "files",
              [this] { to_.files.chooseModelFile(); });
    addAction(menu, "openPicture", tr("Op&en picture…"), tr("Open a picture for a model that reads pictures"),
              "Ctrl+Alt+I", "files", [this] { to_.files.choosePicture(); });
    addAction(menu, "openExample", tr("Open the e&xample that repeats a pattern"),
              tr("Open a small model whose weights come from formulas. After abcab it writes c, because it has seen "
                 "abc before."),
              "Ctrl+B", "files", [this] { to_.files.open("builtin:induction"); });
    QMenu* bundled = menu->addMenu(tr("&Models that come with the program"));
    bundled->menuAction()->setToolTip(tr("Open one of the trained models that come with the program"));
    int bundledKey = 1;
    for (const BundledModel& model : bundledModels()) {
        const QString title = QString::fromStdString(model.title);
        const QString keys = bundledKey > 10 ? QStringLiteral("Ctrl+Shift+F%1").arg(bundledKey - 10)
                                             : QStringLiteral("Ctrl+Shift+%1").arg(bundledKey % 10);
        ++bundledKey;
        addAction(bundled, QByteArray("bundled." + QByteArray::fromStdString(model.title)).constData(), title,
                  tr("Open the trained model %1, which %2").arg(title, StartPanel::blurbOf(title)), keys, "files",
                  [this, path = QString::fromStdString(model.path)] { to_.files.open(path); });
    }
    QMenu* recent = menu->addMenu(tr("&Recent"));
    recent->menuAction()->setToolTip(tr("Open a recent model or session"));
    for (int i = 1; i <= 9; ++i) {
        const QByteArray id = "recent" + QByteArray::number(i);
        QAction* action = addAction(recent, id.constData(), {}, {}, QStringLiteral("Ctrl+Alt+%1").arg(i), nullptr, {});
        connect(action, &QAction::triggered, this, [this, action] { to_.files.open(action->data().toString()); });
        recentActions_ << action;
    }
    menu->addSeparator();
    addAction(menu, "weightStorage", tr("Quantise &weights…"),
              tr("See what memory the weights of the open model take in 32, 16, 8 and 4 bits and how fast it would "
                 "write, and choose how to keep them"),
              "Ctrl+Alt+B", "files", [this] { to_.files.changeStorage(); });
    addAction(menu, "openSession", tr("Open sess&ion…"), tr("Open a .attnlab session file"), "Ctrl+Alt+O", "files",
              [this] { to_.files.chooseSession(); });
    addAction(menu, "openLink", tr("Open lin&k…"), tr("Open a link to a view that someone copied"), "Ctrl+Alt+K",
              "files", [this] { to_.files.chooseLink(); });
    addAction(menu, "saveSession", tr("&Save session"),
              tr("Save the model's path, prompt, branches, view and locks. Model files never change."), "Ctrl+S",
              nullptr, [this] { to_.files.saveSession(); });
    addAction(menu, "saveSessionAs", tr("Save session &as…"), tr("Save the session under another name"), "Ctrl+Shift+S",
              nullptr, [this] { to_.files.chooseSessionPath(); });
    addAction(menu, "lock", tr("&Lock for class…"),
              tr("For teachers: choose controls to lock or hide before you give the session to a class"), "Ctrl+L",
              nullptr, [this] { parts_.locks.showDialog(); });
    menu->addSeparator();
    addAction(menu, "exportFigure", tr("&Export figure…"),
              tr("Choose the format, the size and a caption of the current figure, with a preview"), "Ctrl+Alt+X",
              "export", [this] { to_.exports.chooseSheet(); });
    addAction(menu, "exportPng", tr("Export figure as &PNG…"), tr("Save the current figure as pixels"), "Ctrl+E",
              "export", [this] { to_.exports.chooseFigure("png"); });
    addAction(menu, "exportSvg", tr("Export figure as S&VG…"), tr("Save the current figure as vector graphics"),
              "Ctrl+Shift+E", "export", [this] { to_.exports.chooseFigure("svg"); });
    addAction(menu, "exportPdf", tr("Export figure as P&DF…"), tr("Save the current figure as a PDF page"),
              "Ctrl+Alt+E", "export", [this] { to_.exports.chooseFigure("pdf"); });
    addAction(menu, "exportHtml", tr("Save as &web page…"),
              tr("Save the current figure as a page that a browser opens without a network, with its numbers inside"),
              "Ctrl+Alt+W", "export", [this] { to_.exports.chooseFigure("html"); });
    addAction(menu, "exportCsv", tr("Export numbers as &CSV…"), tr("Save the numbers of the current figure"),
              "Ctrl+Alt+C", "export", [this] { to_.exports.chooseFigure("csv"); });
    addAction(menu, "exportNpz", tr("Export numbers for N&umPy…"),
              tr("Save the numbers of the current figure as an .npz archive"), "Ctrl+Alt+M", "export",
              [this] { to_.exports.chooseFigure("npz"); });
    addAction(menu, "capture", tr("Capture ac&tivations…"),
              tr("Run the text, then save every attention pattern and all logits in a file, to work on with Python"),
              "Ctrl+Alt+N", "export", [this] { to_.exports.chooseCapture(); });
    menu->addSeparator();
    addAction(menu, "quit", tr("&Quit"), tr("Close the program"), "Ctrl+Q", nullptr, [this] { window_.close(); });
}

void WindowMenus::makeEditMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&Edit"));
    QAction* undo =
        addAction(menu, "undo", tr("&Undo"), tr("Undo the last step: a prompt, a branch, a change or a view"), "Ctrl+Z",
                  nullptr, [this] { to_.undo.undo(); });
    QAction* redo = addAction(menu, "redo", tr("&Redo"), tr("Redo the last undone step"),
                              QKeySequence(QKeySequence::Redo).toString(), nullptr, [this] { to_.undo.redo(); });
    connect(&to_.undo, &QUndoGroup::canUndoChanged, undo, &QAction::setEnabled);
    connect(&to_.undo, &QUndoGroup::canRedoChanged, redo, &QAction::setEnabled);
    connect(&to_.undo, &QUndoGroup::undoTextChanged, undo,
            [undo](const QString& text) { undo->setText(tr("&Undo %1").arg(withoutKeys(text))); });
    connect(&to_.undo, &QUndoGroup::redoTextChanged, redo,
            [redo](const QString& text) { redo->setText(tr("&Redo %1").arg(withoutKeys(text))); });
    undo->setEnabled(false);
    redo->setEnabled(false);
    addAction(menu, "removeHead", tr("Remove &head"),
              tr("Run the model without the selected head. Press again to bring the head back."), "Ctrl+Shift+H",
              "heads", [this] { toggleHead(); })
        ->setCheckable(true);
    addAction(menu, "resetEdits", tr("Remove &all changes"), tr("Remove every change and set every gate to 1"),
              "Ctrl+Backspace", "heads", [this] { bench_.restoreOriginal(); });
    QAction* original = addAction(menu, "holdEdits", tr("Show &original"),
                                  tr("Show the model without your changes in every view. Press again to go back."),
                                  "Ctrl+Shift+Backspace", "heads", [this] { toggleShownRun(ShownRun::Original); });
    QAction* difference = addAction(menu, "showDifference", tr("Show &difference"),
                                    tr("Show the difference your changes make in every view. Press again to go back."),
                                    "Ctrl+Shift+D", "heads", [this] { toggleShownRun(ShownRun::Difference); });
    for (QAction* each : {original, difference}) each->setCheckable(true);
    addAction(menu, "formedPath", tr("Check against the exact &path"),
              tr("Check the program itself: show the prediction beside one that is computed step by step, without the "
                 "shortcuts that make a model fast. Both should be the same."),
              "Ctrl+Shift+F", "heads", [this] {
                  bench_.showPanel("lenses");
                  QJsonObject lens = panels_.view("lenses");
                  lens["page"] = "formed";
                  panels_.setView("lenses", lens);
              });
    menu->addSeparator();
    addAction(menu, "copyFigure", tr("&Copy figure"), tr("Copy the current figure to the clipboard"), "Ctrl+Shift+C",
              "export", [this] { to_.exports.copyFigure(); });
    addAction(menu, "copyLink", tr("Copy &link to this view"),
              tr("Copy a short text that opens this model, text and view again"), "Ctrl+Shift+K", "export",
              [this] { to_.files.copyLink(); });
    menu->addSeparator();
    addAction(menu, "preferences", tr("&Preferences…"), tr("Set the theme, text size, device and autosave"), "Ctrl+,",
              nullptr, [this] { to_.preferences.showDialog(); });
}

void WindowMenus::makeGenerateMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&Generate"));
    addAction(menu, "run", tr("&Run"), tr("Generate tokens until the chosen number is reached or you stop"),
              "Ctrl+R; F5", "generation", [this] { generate_.run(); });
    addAction(menu, "step", tr("S&tep"), tr("Generate one token"), "Ctrl+T; F10", "generation",
              [this] { generate_.step(); });
    addAction(menu, "stop", tr("&Stop"), tr("Stop writing, loading or exporting, and pause training"), "Ctrl+.; Esc",
              nullptr, [this] {
                  generate_.stop();
                  if (train_.isTraining()) bench_.training().session().pause();
              });
    addAction(menu, "reset", tr("R&eset"), tr("Return to the prompt; the branches are kept"), "Ctrl+Shift+R",
              "generation", [this] { generate_.reset(); });
    menu->addSeparator();
    addAction(menu, "focusPrompt", tr("Edit the &prompt"), tr("Put the cursor into the prompt"), "Ctrl+P", "prompt",
              [this] {
                  parts_.layout.showPanel("generate");
                  generate_.focusPrompt();
              });
}

void WindowMenus::makeTrainMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&Train"));
    addAction(menu, "trainPlay", tr("&Train or pause"), tr("Train a model with the current recipe, or pause"), "F6",
              "training", [this] {
                  bench_.showPanel("train");
                  train_.playOrPause();
              });
    addAction(menu, "trainOneStep", tr("One &step"), tr("Update the parameters once, then pause"), "F7", "training",
              [this] { train_.step(); });
    addAction(menu, "trainAgain", tr("&Reset"),
              tr("Start a new training run from untrained parameters. The current run stays in the list."), "F8",
              "training", [this] { train_.reset(); });
    addAction(menu, "trainWithModel", tr("Train from &here"),
              tr("Train the open model further, on the same task or another one"), "Shift+F6", "training",
              [this] { train_.trainFromHere(); });
    addAction(menu, "exportRunAnimation", tr("&Export the training run…"),
              tr("Save the current figure at every checkpoint, as a GIF or as PNG files"), "Ctrl+Shift+G", "export",
              [this] { to_.exports.chooseRun(); });
}

void WindowMenus::makeViewMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&View"));
    int key = 1;
    auto* group = new QActionGroup(this);
    for (const Workspace& workspace : workspaces()) {
        QAction* action =
            addAction(menu, (QByteArray("workspace.") + workspace.id).constData(), workspaceTitle(workspace),
                      workspaceToolTip(workspace), QStringLiteral("Alt+%1").arg(key++), nullptr,
                      [this, &workspace] { parts_.layout.enter(workspace); });
        action->setCheckable(true);
        group->addAction(action);
    }
    QMenu* panels = menu->addMenu(tr("&Go to panel"));
    QMenu* shown = menu->addMenu(tr("Panels in this &workspace"));
    key = 0;
    for (const PanelDescriptor& descriptor : windowPanels()) {
        const QString id = QString::fromLatin1(descriptor.id), title = panelTitle(descriptor);
        // One key brings a panel to the front wherever it is.
        addAction(panels, ("panel." + id).toLatin1().constData(), title, tr("Show the %1 panel").arg(title),
                  QStringLiteral("Alt+Shift+%1").arg(QLatin1Char(kPanelKeys[key++])), descriptor.controlGroup,
                  [this, id] {
                      parts_.layout.showPanel(id);
                      focusableIn(*panels_.panel(id).figure())->setFocus();
                  });
        shown->addAction(identified(panels_.dock(id).toggleViewAction(), "shown." + id));
    }
    addAction(menu, "resetLayout", tr("Restore this wor&kspace"),
              tr("Put the panels of this workspace back in their places"), "Ctrl+Alt+0", nullptr, [this] {
                  parts_.layout.reset();
                  parts_.locks.apply();
              });
    menu->addSeparator();
    // The panels' own actions are in the menu and the shortcut sheet too, and work from anywhere in the window.
    for (const PanelDescriptor& descriptor : windowPanels()) {
        for (QAction* action : panels_.panel(QString::fromLatin1(descriptor.id)).actions()) {
            menu->addAction(action);
            window_.addAction(action);
        }
    }
    menu->addSeparator();
    auto* themes = new QActionGroup(this);
    const std::tuple<const char*, QString, QString, const char*, ThemeId> choices[] = {
        {"themeLight", tr("&Light"), tr("Use the light theme"), "Ctrl+Alt+L", ThemeId::Light},
        {"themeDark", tr("&Dark"), tr("Use the dark theme"), "Ctrl+Alt+D", ThemeId::Dark},
        {"themeProjector", tr("&Projector"), tr("Use large text and high contrast, for the back row"), "Ctrl+Alt+P",
         ThemeId::Projector}};
    for (const auto& [id, text, help, keys, theme] : choices) {
        QAction* action =
            addAction(menu, id, text, help, keys, nullptr, [this, theme = theme] { to_.preferences.setTheme(theme); });
        action->setCheckable(true);
        themes->addAction(action);
    }
    menu->addSeparator();
    const auto scaleText = [this](int step) { to_.preferences.setTextSize(to_.preferences.now().textSize + step); };
    addAction(menu, "textLarger", tr("L&arger text"), tr("Make the size of all text larger"), "Ctrl++; Ctrl+=", nullptr,
              [scaleText] { scaleText(kTextStep); });
    addAction(menu, "textSmaller", tr("S&maller text"), tr("Make the size of all text smaller"), "Ctrl+-", nullptr,
              [scaleText] { scaleText(-kTextStep); });
    addAction(menu, "textNormal", tr("&Normal text"), tr("Use the theme's own text size"), "Ctrl+0", nullptr,
              [this] { to_.preferences.setTextSize(100); });
    menu->addSeparator();
    addAction(menu, "jobs", tr("&Jobs"),
              tr("Show what is running and training runs that are not finished. Pause, continue or stop them."),
              "Ctrl+J", nullptr, [this] { window_.findChild<JobsButton*>()->open(); });
    addAction(menu, "openInScope", tr("Open in s&cope"),
              tr("Show this model, prompt and head in a window of its own, for example on a second screen. It follows "
                 "what you do here."),
              "Ctrl+Alt+S", nullptr, [this] { to_.scopes.open(); });
    addAction(menu, "fullScreen", tr("&Full screen"), tr("Use the whole screen. Press again to go back."), "F11",
              nullptr, [this] { window_.setWindowState(window_.windowState() ^ Qt::WindowFullScreen); })
        ->setCheckable(true);
    addAction(menu, "present", tr("Prese&nt"),
              tr("Show a class the attention, the text and the next token, and nothing else. Keys choose the head, the "
                 "layer and the token. Press again to go back."),
              "F9", nullptr, [this] { to_.presentation.toggle(); })
        ->setCheckable(true);
    connect(&to_.presentation, &Presentation::changed, this, &WindowMenus::update);
    connect(&to_.presentation, &Presentation::tokenAsked, actions_.at("step"), &QAction::trigger);
    connect(menu, &QMenu::aboutToShow, this, &WindowMenus::update); // the window manager changes it too
}

void WindowMenus::makeHelpMenu() {
    QMenu* menu = window_.menuBar()->addMenu(tr("&Help"));
    addAction(menu, "start", tr("&Start page"), tr("Show all the ways to start"), "Alt+Home", nullptr,
              [this] { parts_.layout.enter(workspaceNamed("learn")); });
    addAction(menu, "lessons", tr("&Lessons"), tr("Show the list of lessons"), "Shift+F2", nullptr,
              [this] { to_.lessons.showList(); });
    addAction(menu, "manual", tr("&Manual"), tr("Read and search the pages about this program"), "Ctrl+F2", nullptr,
              [this] { showManual(); });
    addAction(menu, "find", tr("&Find…"),
              tr("Find any action, control, panel, part, lesson or model, and what a word means"), "Ctrl+K", nullptr,
              [this] { showFinder(); });
    addAction(menu, "whatIsThis", tr("&Explain the control under the pointer"),
              tr("Point at a control and press the key: a note says what it is for. Elsewhere, the manual opens."),
              "F1", nullptr, [this] {
                  if (!explainPointedAt(window_)) showManual();
              });
    addAction(menu, "shortcuts", tr("&Keyboard shortcuts"), tr("Show every action and its keys"), "Ctrl+F1; ?", nullptr,
              [this] { showShortcuts(); });
    addAction(menu, "about", tr("&About Attention Lab"), tr("Show the version and the licence"), "Shift+F1", nullptr,
              [this] { showAbout(window_); });
}

void WindowMenus::showRecent() {
    const QStringList paths = recentPaths();
    for (qsizetype i = 0; i < recentActions_.size(); ++i) {
        QAction* action = recentActions_[i];
        const bool isUsed = i < paths.size();
        const QString path = isUsed ? paths[i] : QString();
        action->setVisible(isUsed);
        action->setEnabled(isUsed && parts_.locks.mayOpenFiles());
        action->setText(isUsed ? tr("&%1 %2").arg(i + 1).arg(withoutKeys(shownText(folderTitle(path.toStdString()))))
                               : tr("&%1 (empty)").arg(i + 1));
        action->setToolTip(isUsed ? tr("Open %1").arg(path) : tr("Models and sessions that you open appear here"));
        action->setData(path);
    }
}

bool WindowMenus::isHeadRemoved() const {
    const Selection& selected = bench_.selection();
    return bench_.hasModel() && bench_.shownShare(selected.site, selected.head) == 0;
}

void WindowMenus::toggleHead() {
    const Selection& selected = bench_.selection();
    if (isHeadRemoved())
        bench_.reopenHead(selected.site, selected.head, 1);
    else
        bench_.setGate(selected.site, selected.head, 0);
}

void WindowMenus::toggleShownRun(ShownRun run) { bench_.showRun(bench_.shownRun() == run ? ShownRun::Changed : run); }

void WindowMenus::update() {
    const bool hasNext = bench_.snapshot() && bench_.snapshot()->next;
    const Activity activity = bench_.snapshot() ? bench_.snapshot()->status.activity : Activity::Idle;
    const bool isWriting = activity == Activity::Generating;
    const bool canWrite = hasNext && bench_.snapshot()->model && bench_.snapshot()->model->writesText();
    enableUnlessLocked(actions_.at("run"), canWrite && !isWriting);
    enableUnlessLocked(actions_.at("step"), canWrite && !isWriting);
    enableUnlessLocked(actions_.at("reset"), canWrite);
    const bool isChanged = !bench_.changes().empty();
    enableUnlessLocked(actions_.at("removeHead"), bench_.hasModel());
    actions_.at("removeHead")->setChecked(isHeadRemoved());
    for (const char* id : {"resetEdits", "holdEdits", "showDifference"}) enableUnlessLocked(actions_.at(id), isChanged);
    actions_.at("holdEdits")->setChecked(bench_.shownRun() == ShownRun::Original);
    actions_.at("showDifference")->setChecked(bench_.shownRun() == ShownRun::Difference);
    actions_.at("fullScreen")->setChecked(window_.isFullScreen());
    actions_.at("present")->setEnabled(bench_.hasModel());
    actions_.at("present")->setChecked(to_.presentation.isOn());
    enableUnlessLocked(actions_.at("formedPath"), hasNext || (bench_.snapshot() && bench_.snapshot()->answer));
    enableUnlessLocked(actions_.at("capture"), hasNext || (bench_.snapshot() && bench_.snapshot()->answer));
    actions_.at("openInScope")->setEnabled(hasNext);
    const QStringList useless = bench_.snapshot() ? panels_.useless(*bench_.snapshot()) : QStringList();
    for (const QString& id : panels_.choosy()) {
        enableUnlessLocked(actions_.at("panel." + id), !useless.contains(id));
        panels_.dock(id).toggleViewAction()->setEnabled(!useless.contains(id));
    }
    actions_.at("trainWithModel")->setEnabled(bench_.hasModel());
    enableUnlessLocked(actions_.at("weightStorage"), bench_.hasModel() && !bench_.snapshot()->shown);
    enableUnlessLocked(actions_.at("saveSession"), bench_.snapshot() && bench_.snapshot()->model);
    enableUnlessLocked(actions_.at("saveSessionAs"), bench_.snapshot() && bench_.snapshot()->model);
    actions_.at("stop")->setEnabled(activity != Activity::Idle || train_.isTraining());
    const char* theme = to_.preferences.now().theme == ThemeId::Dark        ? "themeDark"
                        : to_.preferences.now().theme == ThemeId::Projector ? "themeProjector"
                                                                            : "themeLight";
    actions_.at(theme)->setChecked(true);
}

void WindowMenus::setWorkspace(const Workspace& workspace) {
    actions_.at(QStringLiteral("workspace.") + workspace.id)->setChecked(true);
}

} // namespace attn
