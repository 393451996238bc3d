#include "app/lab/shell/export_controller.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/train_panel.h"
#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/notices.h"
#include "app/lab/shell/panel_docks.h"
#include "app/lab/shell/run_animation.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/inference/named_changes.h"
#include "engine/io/run_folder.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMainWindow>

namespace attn {
namespace {

RunOrigin originOf(const Snapshot& snapshot, const Changes& changes, ShownRun shown) {
    const QString runs[] = {QStringLiteral("changed"), QStringLiteral("original"), QStringLiteral("difference")};
    RunOrigin origin{.model = QString::fromStdString(snapshot.model->name),
                     .modelPath = QString::fromStdString(snapshot.path()),
                     .run = changes.empty() ? QStringLiteral("as opened") : runs[static_cast<size_t>(shown)]};
    if (!changes.empty()) origin.changes = QString::fromStdString(changesToJson(changes, snapshot.model->structure));
    const auto texts = [](std::span<const TokenInfo> tokens) {
        std::vector<QString> result;
        for (const TokenInfo& token : tokens) result.push_back(QString::fromStdString(token.text));
        return result;
    };
    if (snapshot.sequence) origin.tokens = texts(snapshot.sequence->tokens);
    if (snapshot.sequence) origin.source = texts(snapshot.sequence->source);
    return origin;
}

} // namespace

ExportController::ExportController(const WindowParts& parts) : parts_(parts) {
    connect(&panels_.the<TrainPanel>(), &TrainPanel::exportRequested, this, &ExportController::chooseRun);
}

Panel& ExportController::currentPanel() const {
    // Else the figure is the panel with all its controls.
    const auto hasFigure = [](Panel& panel) { return !qobject_cast<Panel*>(panel.figure()) || panel.numbers().csv; };
    if (Panel* used = panels_.lastUsed(); used && hasFigure(*used)) return *used;
    // Who types a prompt and then exports wants the main figure.
    if (const QDockWidget* front = parts_.layout.front())
        if (Panel& panel = panels_.panel(front->objectName().section('.', 1)); hasFigure(panel)) return panel;
    for (const PanelDescriptor& descriptor : windowPanels()) {
        Panel& panel = panels_.panel(QString::fromLatin1(descriptor.id));
        if (panel.isVisible() && panel.numbers().csv) return panel;
    }
    return panels_.panel("attention");
}

QString ExportController::suggestedName(const QString& suffix) const {
    const ModelInfo* model = bench_.snapshot() ? bench_.snapshot()->model.get() : nullptr;
    QStringList parts{model ? QString::fromStdString(model->name) : QStringLiteral("attention-lab")};
    return fileNameOf(parts << currentPanel().exportName(), suffix);
}

Provenance ExportController::provenance(const Panel& panel) const {
    Provenance from{.program = QStringLiteral("Attention Lab " ATTN_VERSION)};
    const Snapshot* snapshot = bench_.snapshot().get();
    if (!snapshot || !snapshot->model) return from;
    if (const auto head = panel.exportedHead()) {
        const Site& site = snapshot->model->site(head->first);
        from.layer = site.layer;
        from.site = QString::fromStdString(site.name);
        from.head = head->second;
    }
    from.run = originOf(*snapshot, bench_.changes(), bench_.shownRun());
    from.device = QString::fromStdString(snapshot->status.device);
    if (const auto second = panel.comparedRun())
        from.second = originOf(*second, second->changes ? *second->changes : Changes(), second->run);
    return from;
}

bool ExportController::isExporting(const QString& path) {
    if (!exporting_.isRunning()) return false;
    notices_.fail({.what = "another export is still running",
                   .where = path.toStdString(),
                   .hint = "wait until it is done, or click Cancel in the status bar"});
    return true;
}

QString ExportController::caption(const Panel& panel) const {
    const Provenance from = provenance(panel);
    QStringList parts{panels_.title(panel)};
    if (from.head) parts << bench_.headLabel(bench_.selection().site, *from.head);
    parts << from.run.model;
    for (const std::vector<QString>* tokens : {&from.run.source, &from.run.tokens}) {
        const QString text = QStringList(tokens->begin(), tokens->end()).join(QString()).simplified();
        constexpr int kMost = 200; // letters of a text
        if (!text.isEmpty())
            parts << QStringLiteral("“%1”").arg(text.size() > kMost ? text.left(kMost) + QChar(0x2026) : text);
    }
    if (!from.run.changes.isEmpty()) parts << tr("with changes to the run");
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

void ExportController::chooseSheet() {
    Panel& panel = currentPanel();
    QStringList formats{"png", "svg", "pdf"};
    const auto* view = dynamic_cast<FigureWidget*>(panel.figure());
    const auto figure = view ? view->drawn() : nullptr;
    if (figure) formats << "html";
    if (panel.numbers().csv)
        formats << "csv"
                << "npz";
    auto* dialog = new ExportDialog(figure, view ? view->theme() : FigureTheme::light(), panel.figure()->size(),
                                    formats, panels_.title(panel), caption(panel), &parts_.window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        choosePath(
            parts_.window, tr("Export %1").arg(panels_.title(currentPanel())),
            tr("%1 files (*.%2)").arg(dialog->suffix().toUpper(), dialog->suffix()), dialog->suffix(),
            [this, sheet = dialog->sheet()](const QString& path) { exportFigure(path, sheet); },
            suggestedName(dialog->suffix()));
    });
    dialog->open();
}

void ExportController::exportFigure(const QString& path, const ExportSheet& sheet) {
    Panel& panel = currentPanel();
    const bool isText = path.endsWith(".csv", Qt::CaseInsensitive),
               isNumPy = path.endsWith(".npz", Qt::CaseInsensitive);
    Export web;
    if (path.endsWith(".html", Qt::CaseInsensitive)) {
        const Provenance from = provenance(panel);
        QStringList title{panels_.title(panel), from.run.model};
        if (from.head) title.insert(1, bench_.headLabel(bench_.selection().site, *from.head));
        web = webPageExport(*panel.figure(),
                            sheet.caption.isEmpty() ? title.join(QStringLiteral(" – ")) : sheet.caption, from, path);
        if (!web)
            return notices_.fail({.what = "this panel has no figure that a web page can hold",
                                  .where = panels_.title(panel).toStdString(),
                                  .hint = "click the Attention panel first"});
    }
    ExportNumbers numbers = isText || isNumPy ? panel.numbers() : ExportNumbers{};
    if ((isText || isNumPy) && !numbers.csv)
        return notices_.fail({.what = "this panel has no numbers to export",
                              .where = panels_.title(panel).toStdString(),
                              .hint = "click the Attention, Next token or Heads panel first"});
    if (isExporting(path)) return;
    exporting_.start<bool>(
        path.toStdString(),
        [write = web           ? std::move(web)
                 : numbers.csv ? numbersExport(std::move(numbers), provenance(panel), path)
                               : pictureExport(*panel.figure(), path, sheet)](
            const std::atomic<bool>& isStopped) -> std::variant<bool, Failure> {
            if (auto failure = write(isStopped)) return *failure;
            return true;
        },
        [this, path, title = panels_.title(panel)](std::variant<bool, Failure> result) {
            notices_.endWork();
            if (const auto* failure = std::get_if<Failure>(&result)) return notices_.fail(*failure);
            notices_.succeed(tr("Saved %1: %2").arg(title, path));
        },
        tr("Save %1").arg(QFileInfo(path).fileName().left(60)).toStdString());
    notices_.showWork(tr("Saving %1").arg(QFileInfo(path).fileName().left(60)),
                      [this] { return exporting_.isRunning(); });
}

void ExportController::chooseCapture() {
    auto* dialog = identified(new QInputDialog(&parts_.window), "captureDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Capture activations"));
    dialog->setLabelText(tr("Hooks to save, between commas; * stands for anything:"));
    dialog->setComboBoxItems({QStringLiteral("*attn.hook_pattern,logits"), QStringLiteral("*attn.hook_pattern"),
                              QStringLiteral("*hook_resid_*"), QStringLiteral("*hook_q,*hook_k,*hook_v,*hook_z"),
                              QStringLiteral("*attn.hook_attn_scores,*attn.hook_pattern"), QStringLiteral("*")});
    dialog->setComboBoxEditable(true);
    dialog->setOkButtonText(tr("Choose a file"));
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& hooks) {
        const QString name = QString::fromStdString(bench_.snapshot()->model->name);
        choosePath(
            parts_.window, tr("Capture activations"), tr("NumPy archive (*.npz);;Safetensors (*.safetensors)"), "npz",
            [this, hooks](const QString& path) {
                parts_.bridge.post(CaptureCommand{.hooks = hooks.toStdString(), .path = path.toStdString()});
            },
            fileNameOf({name, QStringLiteral("activations")}, "npz"));
    });
    dialog->open();
}

void ExportController::exportRun(const QString& path) {
    if (isExporting(path)) return;
    using Paths = std::vector<std::filesystem::path>;
    exporting_.start<Paths>(
        "timeline",
        [folder = bench_.runs().active().toStdString()](const std::atomic<bool>&) {
            return folder.empty() ? Paths() : checkpoints(folder);
        },
        [this, run = bench_.runs().active(), path](std::variant<Paths, Failure> found) {
            notices_.endWork();
            if (const auto* failure = std::get_if<Failure>(&found)) return notices_.fail(*failure);
            exportRun(run, std::get<Paths>(found), path);
        });
    notices_.showWork(tr("Reading the training run"), [this] { return exporting_.isRunning(); });
}

void ExportController::exportRun(const QString& run, const std::vector<std::filesystem::path>& all,
                                 const QString& path) {
    if (all.empty())
        return notices_.fail({.what = "there is no training run to export",
                              .where = "timeline",
                              .hint = "train a model or open a training run first"});
    Panel& panel = currentPanel();
    if (findChild<RunAnimation*>())
        return notices_.fail({.what = "another training run is still being exported",
                              .where = "timeline",
                              .hint = "wait until it is done, or click Cancel in the status bar"});
    auto* animation = new RunAnimation(bench_.training(), parts_.bridge, *panel.figure(), run, all, path, this);
    StatusStrip* status = &notices_.status();
    connect(animation, &RunAnimation::progressed, status, [status](int done, int count) {
        status->setWork(tr("Exporting the training run: %1 of %2").arg(done).arg(count),
                        static_cast<double>(done) / count);
    });
    connect(animation, &QObject::destroyed, status, [status] { status->setWork({}); });
    connect(status, &StatusStrip::cancelRequested, animation, &RunAnimation::cancel);
    connect(animation, &RunAnimation::failed, this, [this](const Failure& failure) { notices_.fail(failure); });
    connect(animation, &RunAnimation::finished, this, [this, path] { notices_.succeed(tr("Saved: %1").arg(path)); });
    animation->start();
}

void ExportController::copyFigure() {
    QGuiApplication::clipboard()->setImage(pictureOf(*currentPanel().figure()));
    notices_.succeed(tr("Copied %1 as a picture.").arg(panels_.title(currentPanel())));
}

void ExportController::chooseFigure(const QString& suffix) {
    choosePath(
        parts_.window, tr("Export %1").arg(panels_.title(currentPanel())),
        tr("%1 files (*.%2)").arg(suffix.toUpper(), suffix), suffix,
        [this](const QString& path) { exportFigure(path); }, suggestedName(suffix));
}

void ExportController::chooseRun() {
    choosePath(parts_.window, tr("Export the training run"), tr("Animation (*.gif);;Numbered images (*.png)"), "gif",
               [this](const QString& path) { exportRun(path); });
}

void ExportController::tellSaved(const Snapshot& snapshot) {
    if (!snapshot.finishedExport.empty() && snapshot.finishedExport != told_)
        notices_.succeed(tr("Saved: %1").arg(shownText(snapshot.finishedExport)));
    told_ = snapshot.finishedExport;
}

bool ExportController::cancel() {
    if (!exporting_.isRunning()) return false;
    exporting_.cancel();
    notices_.endWork();
    notices_.succeed(tr("Saving was cancelled."));
    return true;
}

} // namespace attn
