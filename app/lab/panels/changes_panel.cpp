#include "app/lab/panels/changes_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/panels/answers.h"
#include "app/lab/panels/change_source.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/pattern_editor.h"
#include "app/lab/panels/shown_axis.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/workbench/workbench.h"
#include "engine/analysis/continuation.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>

#include <algorithm>

// What the panel of changes shows and does. Its controls are in changes_panel_controls.cpp.

namespace attn {
namespace {

/// Adds the gates of a session file from before version 0.3, which has them apart: [layers, heads].
void restoreGates(Changes& changes, const QJsonArray& gates, const ModelInfo& model) {
    if (gates.size() != qsizetype{model.layers} * model.heads) return;
    for (int at = 0; at < gates.size(); ++at)
        if (const double gate = gates[at].toDouble(1); gate >= 0 && gate <= 1)
            changes.setGate(at / model.heads, at % model.heads, static_cast<float>(gate));
}

} // namespace

// The form ------------------------------------------------------------------------------------------------------------

Intervention::Kind ChangesPanel::kind() const { return static_cast<Intervention::Kind>(kind_->currentIndex()); }
ChangePlace ChangesPanel::place() const { return static_cast<ChangePlace>(where_->currentIndex()); }
float ChangesPanel::amount() const { return amountAt(amount_->value(), kind()); }

std::vector<Intervention> ChangesPanel::described(ChangePlace place, int layer) const {
    if (!snapshot_ || !snapshot_->model) return {};
    Intervention made{.kind = kind(),
                      .head = place == ChangePlace::HeadOutput ? head_->value() : -1,
                      .position = token_->currentIndex() - 1,
                      .amount = amount()};
    if (made.position >= 0 && place != ChangePlace::Embedding)
        made.position = rowAtSite(*snapshot_, made.position, layer);
    source_->describe(made);
    return changeAtPlace(place, layer, std::move(made), snapshot_->model->hooks);
}

void ChangesPanel::addDescribed() {
    if (add_->isEnabled()) bench_.addChanges(described(place(), layer_->value()));
}

void ChangesPanel::showForm() {
    layer_->setVisible(place() != ChangePlace::Embedding);
    head_->setVisible(place() == ChangePlace::HeadOutput);
    const QSignalBlocker quiet(amount_);
    amount_->setValue(firstAmountStep(kind()));
    amountText_->setText(amountText(amount()));
    source_->show(kind());
    showSource();
}

void ChangesPanel::showSource() {
    const QString problem = source_->problem(kind());
    add_->setEnabled(bench_.hasModel() && problem.isEmpty());
    add_->setToolTip(problem.isEmpty() ? tr("Add this change") : problem);
    showCells();
}

/// Follows the head and the row that all panels show.
void ChangesPanel::showHead() {
    const QSignalBlocker quietLayer(layer_), quietHead(head_);
    layer_->setValue(bench_.selection().site);
    head_->setValue(bench_.selection().head);
    const auto row = bench_.selection().row;
    if (std::exchange(selectedRow_, row) != row && row && token_->currentIndex() > 0 && bench_.hasModel())
        token_->setCurrentIndex(1 + rowOfSelection(*bench_.snapshot(), *row));
    showCells();
}

void ChangesPanel::showRow() {
    const int row = token_->currentIndex() - 1;
    pattern_->setRow(row < 0 ? std::nullopt : std::optional(row));
    showCells();
}

/// What depends on the model alone.
void ChangesPanel::showModel() {
    const ModelInfo* model = snapshot_->model.get();
    {
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setRange(0, model ? model->layers - 1 : 0);
        head_->setRange(0, model ? model->heads - 1 : 0);
    }
    const bool isPicture = snapshot_->readsPictures();
    kind_->setItemText(1, isPicture ? tr("Replace with a picture's mean") : tr("Replace with a text's mean"));
    kind_->setItemText(2, isPicture ? tr("Replace with a picture's value") : tr("Replace with a text's value"));
    effect_->headerItem()->setText(0, isPicture ? tr("Class") : tr("Next token"));
    write_->setVisible(!isPicture);
    written_->setVisible(!isPicture);
    showHead();
    showForm();
}

void ChangesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    if (isNewModel || before->sequence != snapshot->sequence) {
        listRows(*token_, tr("every token"), *snapshot);
        showRow();
    }
    if (isNewModel) {
        showModel();
        showList();
    }
    if (isNewModel || before->next != snapshot->next || before->unedited != snapshot->unedited ||
        before->answer != snapshot->answer || before->uneditedAnswer != snapshot->uneditedAnswer)
        showEffect();
    pattern_->setSnapshot(snapshot);
    showContinuations();
    showCells();
}

// The list of changes -------------------------------------------------------------------------------------------------

/// Sets the amount of the selected change to the slider's value. Without a selection the value is for the next change.
void ChangesPanel::changeSelected() {
    amountText_->setText(amountText(amount()));
    QTreeWidgetItem* item = list_->currentItem();
    if (!item || !item->isSelected()) return;
    const int at = list_->indexOfTopLevelItem(item);
    Changes after = bench_.changes();
    const std::span<Intervention> change = changeAt(after, at);
    if (change.empty()) return;
    for (Intervention& each : change) each.amount = amountAt(amount_->value(), each.kind);
    amountText_->setText(amountText(change.front().amount));
    bench_.change(std::move(after), tr("setting an amount"), QStringLiteral("amount %1").arg(at));
}

void ChangesPanel::removeSelected() {
    QTreeWidgetItem* item = list_->currentItem();
    if (!item) return;
    Changes after = bench_.changes();
    removeChange(after, list_->indexOfTopLevelItem(item));
    bench_.change(std::move(after), tr("removing a change"), "remove");
}

void ChangesPanel::showList() {
    const int current = list_->currentItem() ? list_->indexOfTopLevelItem(list_->currentItem()) : -1;
    const int countBefore = list_->topLevelItemCount();
    {
        const QSignalBlocker quiet(list_);
        list_->clear();
        for (const auto change : changesOf(bench_.changes().interventions))
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(change))});
        for (const PatternEdit& each : bench_.changes().patterns)
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(each))});
        for (int i = 0; i < list_->topLevelItemCount(); ++i)
            list_->topLevelItem(i)->setToolTip(0, list_->topLevelItem(i)->text(0));
    }
    const int count = list_->topLevelItemCount();
    // A new change is selected, so that the slider sets its amount.
    const int selected = count > countBefore ? static_cast<int>(changesOf(bench_.changes().interventions).size()) - 1
                                             : std::min(current, count - 1);
    if (selected >= 0) list_->setCurrentItem(list_->topLevelItem(selected));
    remove_->setEnabled(selected >= 0);
    const auto gates = static_cast<int>(bench_.changes().gates.size());
    QStringList parts;
    if (count > 0) parts << (count == 1 ? tr("1 change") : tr("%1 changes").arg(count));
    if (gates > 0) parts << (gates == 1 ? tr("1 reduced gate") : tr("%1 reduced gates").arg(gates));
    title_->setText(parts.isEmpty() ? tr("No changes.")
                    : bench_.shownRun() == ShownRun::Original
                        ? tr("Showing the original run, without %1.").arg(parts.join(tr(" and ")))
                        : tr("The model runs with %1.").arg(parts.join(tr(" and "))));
    reset_->setEnabled(!parts.isEmpty());
    run_->setEnabled(!parts.isEmpty());
}

// The effect ----------------------------------------------------------------------------------------------------------

void ChangesPanel::showEffect() {
    effect_->clear();
    if (!snapshot_ || !snapshot_->model) return;
    const ModelInfo& model = *snapshot_->model;
    const std::vector<float> now = answerProbabilities(*snapshot_), original = answerProbabilities(*snapshot_, true);
    const bool isEdited = !original.empty();
    for (const int column : {2, 3}) effect_->setColumnHidden(column, !isEdited);
    effect_->headerItem()->setText(1, isEdited ? tr("Original") : tr("Probability"));
    showAnswers(*effect_, likelyAnswers(model, isEdited ? original : now, model, isEdited ? now : original), -1);
}

void ChangesPanel::showContinuations() {
    const auto found = snapshot_->analyses.find(ContinuationAnalysis{}.key());
    write_->setEnabled(snapshot_->sequence && !snapshot_->sequence->tokens.empty());
    if (found == snapshot_->analyses.end() || found->second->inputVersion != snapshot_->sequenceVersion) {
        written_->clear();
        return;
    }
    const auto& continuation = static_cast<const Continuation&>(*found->second);
    const auto line = [](const std::string& text) { return visibleText(QString::fromStdString(text)).toHtmlEscaped(); };
    written_->setText(
        tr("<b>Original</b> %1<br><b>Changed</b> %2").arg(line(continuation.textBefore), line(continuation.textAfter)));
}

ExportNumbers ChangesPanel::numbers() const {
    NumberArray gates{.name = "gate", .shape = {}, .values = {}};
    if (bench_.hasModel()) {
        const ModelInfo& model = *bench_.snapshot()->model;
        gates.shape = {model.layers, model.heads};
        for (int site = 0; site < model.layers; ++site)
            for (int head = 0; head < model.heads; ++head) gates.values.push_back(bench_.changes().gate(site, head));
    }
    return {.csv = [text = plainCsv(*effect_, "answer,before,after,difference")] { return text; },
            .arrays = [gates] { return std::vector<NumberArray>{gates}; }};
}

QJsonObject ChangesPanel::saveView() const {
    if (bench_.changes().empty()) return {};
    const std::string json = changesToJson(bench_.changes());
    return {{"edits", QJsonDocument::fromJson(QByteArray::fromStdString(json)).object()}};
}

void ChangesPanel::restoreView(const QJsonObject& view) {
    if (!bench_.hasModel()) return;
    Changes changes;
    QString problem;
    try {
        const QByteArray json = QJsonDocument(view.value("edits").toObject()).toJson(QJsonDocument::Compact);
        changes = changesFromJson(json.toStdString());
    } catch (const std::exception& error) { // the rest of the session is restored
        problem = QString::fromUtf8(error.what());
    }
    restoreGates(changes, view.value("gates").toArray(), *bench_.snapshot()->model);
    if (changes != bench_.changes()) bench_.setChanges(std::move(changes));
    bench_.showRun(ShownRun::Changed);
    if (!problem.isEmpty()) title_->setText(problem);
}

} // namespace attn
