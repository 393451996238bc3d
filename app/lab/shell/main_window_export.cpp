#include "app/lab/shell/dock_layout.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/shell/run_animation.h"
#include "app/lab/shell/widget_export.h"
#include "app/lab/shell/window_panels.h"
#include "app/lab/widgets/banner.h"
#include "app/lab/widgets/status_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/inference/named_changes.h"
#include "engine/io/run_folder.h"

#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>

// What the window exports.

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

Panel* MainWindow::currentPanel() const {
    // Else the figure is the panel with all its controls.
    const auto hasFigure = [](Panel* panel) { return !qobject_cast<Panel*>(panel->figure()) || panel->numbers().csv; };
    if (focusedPanel_ && focusedPanel_->isVisible() && hasFigure(focusedPanel_)) return focusedPanel_;
    // Who types a prompt and then exports wants the main figure.
    if (const QDockWidget* front = layout_->front())
        if (Panel* panel = panels_.at(front->objectName().section('.', 1)); hasFigure(panel)) return panel;
    for (const PanelDescriptor& descriptor : windowPanels()) {
        Panel* panel = panels_.at(QString::fromLatin1(descriptor.id));
        if (panel->isVisible() && panel->numbers().csv) return panel;
    }
    return panels_.at("attention");
}

QString MainWindow::suggestedName(const QString& suffix) const {
    const ModelInfo* model = bench_.snapshot() ? bench_.snapshot()->model.get() : nullptr;
    QStringList parts{model ? QString::fromStdString(model->name) : QStringLiteral("attention-lab")};
    return fileNameOf(parts << currentPanel()->exportName(), suffix);
}

Provenance MainWindow::provenance(const Panel& panel) const {
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

bool MainWindow::isExporting(const QString& path) {
    if (!exporting_.isRunning()) return false;
    showFailure({.what = "another export is still running",
                 .where = path.toStdString(),
                 .hint = "wait until it is done, or click Cancel in the status bar"});
    return true;
}

void MainWindow::exportFigure(const QString& path) {
    Panel* panel = currentPanel();
    const bool isText = path.endsWith(".csv", Qt::CaseInsensitive),
               isNumPy = path.endsWith(".npz", Qt::CaseInsensitive);
    Export web;
    if (path.endsWith(".html", Qt::CaseInsensitive)) {
        const Provenance from = provenance(*panel);
        QStringList title{docks_.at(panel->objectName())->windowTitle(), from.run.model};
        if (from.head) title.insert(1, bench_.headLabel(bench_.selection().site, *from.head));
        web = webPageExport(*panel->figure(), title.join(QStringLiteral(" – ")), from, path);
        if (!web)
            return showFailure({.what = "this panel has no figure that a web page can hold",
                                .where = docks_.at(panel->objectName())->windowTitle().toStdString(),
                                .hint = "click the Attention panel first"});
    }
    ExportNumbers numbers = isText || isNumPy ? panel->numbers() : ExportNumbers{};
    if ((isText || isNumPy) && !numbers.csv)
        return showFailure({.what = "this panel has no numbers to export",
                            .where = docks_.at(panel->objectName())->windowTitle().toStdString(),
                            .hint = "click the Attention, Next token or Heads panel first"});
    if (isExporting(path)) return;
    exporting_.start<bool>(
        path.toStdString(),
        [write = web           ? std::move(web)
                 : numbers.csv ? numbersExport(std::move(numbers), provenance(*panel), path)
                               : pictureExport(*panel->figure(), path)](
            const std::atomic<bool>& isStopped) -> std::variant<bool, Failure> {
            if (auto failure = write(isStopped)) return *failure;
            return true;
        },
        [this, path, title = docks_.at(panel->objectName())->windowTitle()](std::variant<bool, Failure> result) {
            status_->setWork({});
            if (const auto* failure = std::get_if<Failure>(&result)) return showFailure(*failure);
            offerBanner_->present(Banner::Kind::Success, tr("Saved %1: %2").arg(title, path));
        },
        tr("Save %1").arg(QFileInfo(path).fileName().left(60)).toStdString());
    showWork(tr("Saving %1").arg(QFileInfo(path).fileName().left(60)), [this] { return exporting_.isRunning(); });
}

void MainWindow::chooseCapture() {
    auto* dialog = identified(new QInputDialog(this), "captureDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Capture activations"));
    dialog->setLabelText(tr("Hooks to save, between commas; * stands for anything:"));
    dialog->setComboBoxItems({QStringLiteral("*attn.hook_pattern,logits"), QStringLiteral("*attn.hook_pattern"),
                              QStringLiteral("*hook_resid_*"), QStringLiteral("*hook_q,*hook_k,*hook_v,*hook_z"),
                              QStringLiteral("*attn.hook_scores,*attn.hook_pattern"), QStringLiteral("*")});
    dialog->setComboBoxEditable(true);
    dialog->setOkButtonText(tr("Choose a file"));
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& hooks) {
        auto* file = makeFileDialog(this, tr("Capture activations"), QFileDialog::AnyFile);
        file->setAcceptMode(QFileDialog::AcceptSave);
        file->setNameFilter(tr("NumPy archive (*.npz);;Safetensors (*.safetensors)"));
        file->setDefaultSuffix("npz");
        const ModelInfo& model = *bench_.snapshot()->model;
        file->selectFile(fileNameOf({QString::fromStdString(model.name), QStringLiteral("activations")}, "npz"));
        connect(file, &QFileDialog::fileSelected, this, [this, hooks](const QString& path) {
            bridge_.post(CaptureCommand{.hooks = hooks.toStdString(), .path = path.toStdString()});
        });
        file->open();
    });
    dialog->open();
}

void MainWindow::exportRun(const QString& path) {
    if (isExporting(path)) return;
    using Paths = std::vector<std::filesystem::path>;
    exporting_.start<Paths>(
        "timeline",
        [folder = runs_.active().toStdString()](const std::atomic<bool>&) {
            return folder.empty() ? Paths() : checkpoints(folder);
        },
        [this, run = runs_.active(), path](std::variant<Paths, Failure> found) {
            status_->setWork({});
            if (const auto* failure = std::get_if<Failure>(&found)) return showFailure(*failure);
            exportRun(run, std::get<Paths>(found), path);
        });
    showWork(tr("Reading the training run"), [this] { return exporting_.isRunning(); });
}

void MainWindow::exportRun(const QString& run, const std::vector<std::filesystem::path>& all, const QString& path) {
    if (all.empty())
        return showFailure({.what = "there is no training run to export",
                            .where = "timeline",
                            .hint = "train a model or open a training run first"});
    Panel* panel = currentPanel();
    if (findChild<RunAnimation*>())
        return showFailure({.what = "another training run is still being exported",
                            .where = "timeline",
                            .hint = "wait until it is done, or click Cancel in the status bar"});
    auto* animation = new RunAnimation(training_, bridge_, *panel->figure(), run, all, path, this);
    connect(animation, &RunAnimation::progressed, this, [this](int done, int count) {
        status_->setWork(tr("Exporting the training run: %1 of %2").arg(done).arg(count),
                         static_cast<double>(done) / count);
    });
    connect(animation, &QObject::destroyed, status_, [status = status_] { status->setWork({}); });
    connect(status_, &StatusStrip::cancelRequested, animation, &RunAnimation::cancel);
    connect(animation, &RunAnimation::failed, this, &MainWindow::showFailure);
    connect(animation, &RunAnimation::finished, this,
            [this, path] { offerBanner_->present(Banner::Kind::Success, tr("Saved: %1").arg(path)); });
    animation->start();
}

void MainWindow::copyFigure() {
    QGuiApplication::clipboard()->setImage(pictureOf(*currentPanel()->figure()));
    offerBanner_->present(Banner::Kind::Success,
                          tr("Copied %1 as a picture.").arg(docks_.at(currentPanel()->objectName())->windowTitle()));
}

} // namespace attn
