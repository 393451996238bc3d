#include "app/lab/bridge/vision_bridge.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/panels/vision_panel.h"
#include "app/lab/panels/vision_views.h"
#include "app/lab/widgets/file_dialog.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/picture_patches.h"

#include <QCheckBox>
#include <QJsonArray>
#include <QLabel>
#include <QPushButton>

#include <algorithm>

// Changes to the model, and the run that is drawn.

namespace attn {

void VisionPanel::connectChanges() {
    VisionChanges& changes = views_->changes();
    connect(&changes, &VisionChanges::edited, this,
            [this](const VisionChange& after, const QString& text, const QString& what) {
                VisionSetup next = setup_;
                next.change = after;
                edit(next, text, what);
            });
    connect(&changes, &VisionChanges::runChosen, &bench_, &Workbench::showRun);
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        views_->changes().setRun(run);
        views_->showAnswer(drawn(), look());
        showOverlay();
    });
    connect(&changes, &VisionChanges::paintingChanged, this, &VisionPanel::setCrossing);
    connect(&changes, &VisionChanges::otherChosen, this, &VisionPanel::chooseOther);
    connect(views_, &VisionViews::changeRequested, this, [this](const Intervention& intervention) {
        views_->changes().add(intervention);
        views_->showChanges();
    });
}

/// Lets a drag over the picture hide patches, paint attention, or neither.
void VisionPanel::setCrossing() {
    VisionChanges& changes = views_->changes();
    if (changes.isPainting() && hide_->isChecked()) {
        if (sender() == hide_)
            changes.stopPainting();
        else
            hide_->setChecked(false);
    }
    overlay_->setHiding(hide_->isChecked() || changes.isPainting());
    pointed_.reset();
    showLook();
}

void VisionPanel::resetChanges() {
    VisionSetup next = setup_;
    next.change = {.otherName = setup_.change.otherName, .other = setup_.change.other};
    edit(next, tr("restoring the original"), "reset");
}

void VisionPanel::chooseOther(const QString& name) {
    if (name == QLatin1String("file:")) {
        auto* dialog = makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, this, &VisionPanel::chooseOther);
        connect(dialog, &QFileDialog::finished, this, &VisionPanel::listPictures);
        return dialog->open();
    }
    if (name.isEmpty()) return setOther(name, nullptr);
    readAside(readingOther_, name, [this](const VisionSetup* read) {
        if (read)
            setOther(read->name, read->picture);
        else
            listPictures();
    });
}

/// Adds the gates of a session file from before version 0.3, which has them apart: [layers, heads].
void VisionPanel::restoreGates(const QJsonArray& gates) {
    VisionSetup next = setup_;
    const int heads = shown_->model->heads;
    if (gates.size() != qsizetype{shown_->model->layers} * heads) return;
    for (int at = 0; at < gates.size(); ++at)
        next.change.changes.setGate(at / heads, at % heads,
                                    static_cast<float>(std::clamp(gates[at].toDouble(1), 0.0, 1.0)));
    if (next != setup_) apply(next);
}

void VisionPanel::setOther(const QString& name, std::shared_ptr<const Image> picture) {
    stop(readingOther_);
    VisionSetup next = setup_;
    next.change.otherName = name;
    next.change.other = std::move(picture);
    for (Intervention& each : next.change.changes.interventions)
        if (!each.text.empty()) each.text = name.toStdString(); // empty: from this picture
    edit(next, tr("choosing the other picture"), "other");
}

std::shared_ptr<const VisionSnapshot> VisionPanel::drawn() const {
    return bench_.shownRun() == ShownRun::Original ? uneditedSnapshot(shown_) : shown_;
}

QJsonObject VisionPanel::saveChange() const {
    const VisionChange& change = setup_.change;
    return {{"edits", change.isNone() ? QString() : QString::fromStdString(changesToJson(change.changes))},
            {"other", change.otherName}};
}

void VisionPanel::restoreChange(const QJsonObject& saved) {
    VisionSetup next = setup_;
    next.change = {};
    try {
        if (const QString edits = saved["edits"].toString(); !edits.isEmpty())
            next.change.changes = changesFromJson(edits.toStdString());
    } catch (const std::exception&) { // written by another version: no changes
        next.change = {};
    }
    next.change.otherName = saved["other"].toString();
    if (next.change.otherName.isEmpty()) {
        if (next != setup_) apply(next);
        return;
    }
    readAside(readingOther_, next.change.otherName, [this, change = next.change](const VisionSetup* read) {
        VisionSetup restored = setup_;
        restored.change = change;
        if (read) restored.change.other = read->picture;
        if (restored != setup_) apply(restored);
    });
}

} // namespace attn
