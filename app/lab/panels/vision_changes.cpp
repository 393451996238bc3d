#include "app/lab/panels/vision_changes.h"

#include "app/figures/axis_display.h"
#include "app/lab/widgets/file_dialog.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

namespace attn {

// Gates ---------------------------------------------------------------------------------------------------------------

int VisionChanges::headsOf(int layer) const { return shown_->model ? shown_->model->site(layer).heads : 1; }

int VisionChanges::tokens() const { return shown_->model ? shown_->model->tokens() : 0; }

const LayerLayout* VisionChanges::layoutOf(int layer) const {
    const auto at = static_cast<size_t>(layer);
    return shown_->answer && at < shown_->answer->patterns.size() ? &shown_->answer->patterns[at].layout : nullptr;
}

int VisionChanges::tokenOf(int patch, int layer) const {
    const LayerLayout* layout = layoutOf(layer);
    const auto at = static_cast<size_t>(patch);
    return layout && at < layout->tokenOf.size() ? layout->tokenOf[at]
                                                 : static_cast<int>(shown_->model->prefix.size()) + patch;
}

Intervention::Kind VisionChanges::kind() const { return static_cast<Intervention::Kind>(kind_->currentIndex()); }
ChangePlace VisionChanges::place() const { return static_cast<ChangePlace>(where_->currentIndex()); }

void VisionChanges::apply(Changes after, const QString& text, const QString& what) {
    bench_.change(std::move(after), text, what);
}

void VisionChanges::setGate(float gate) {
    if (!shown_->model || head_->value() >= headsOf(layer_->value())) return;
    Changes after = changes();
    after.setGate(layer_->value(), head_->value(), gate);
    apply(std::move(after), tr("changing a gate"),
          QStringLiteral("gate %1.%2").arg(layer_->value()).arg(head_->value()));
}

void VisionChanges::showGates() {
    const ModelInfo* info = shown_->model.get();
    MatrixFigure figure = gates_->figure();
    std::vector<float> values;
    for (int layer = 0; info && layer < info->layers; ++layer)
        for (int head = 0; head < info->heads; ++head)
            values.push_back(head < headsOf(layer) ? changes().gate(layer, head) : std::nanf(""));
    figure.title = tr("Gates of the heads");
    figure.rowTitle = tr("layer");
    figure.columnTitle = tr("head");
    figure.kind = MatrixFigure::Kind::Weights;
    figure.labelsAreNumbers = true;
    figure.rowLabels.clear();
    figure.columnLabels.clear();
    for (int layer = 0; info && layer < info->layers; ++layer) figure.rowLabels.push_back(tr("layer %1").arg(layer));
    for (int head = 0; info && head < info->heads; ++head) figure.columnLabels.push_back(QString::number(head));
    figure.setMatrix(info ? info->layers : 0, info ? info->heads : 0, std::move(values));
    gates_->setFigure(std::move(figure));
    gates_->setSelected(MatrixCell{layer_->value(), head_->value()});
    const QSignalBlocker quiet(gate_);
    const float gate = changes().gate(layer_->value(), head_->value());
    gate_->setValue(qRound(gate * kAmountSteps));
    gateText_->setText(tr("Gate of layer %1, head %2: %3")
                           .arg(layer_->value())
                           .arg(head_->value())
                           .arg(static_cast<double>(gate), 0, 'f', 2));
}

// Changes of values ---------------------------------------------------------------------------------------------------

void VisionChanges::addDescribed() {
    if (!shown_->model) return;
    const bool isDirection = kind() == Intervention::Kind::Steer, isOther = source_->currentIndex() == 1 || isDirection;
    Intervention made{.kind = kind(),
                      .head = place() == ChangePlace::HeadOutput ? head_->value() : -1,
                      .position = token_->currentIndex() - 1,
                      .amount = amountAt(amount_->value(), kind())};
    const auto prefix = static_cast<int>(shown_->model->prefix.size());
    if (made.position >= prefix && place() != ChangePlace::Embedding)
        made.position = tokenOf(made.position - prefix, layer_->value());
    if (made.kind != Intervention::Kind::Zero && isOther) made.text = bench_.pictures().setup().otherName.toStdString();
    if (isDirection) made.contrast = "this picture";
    Changes after = changes();
    std::ranges::move(changeAtPlace(place(), layer_->value(), std::move(made), shown_->model->hooks),
                      std::back_inserter(after.interventions));
    apply(std::move(after), tr("adding a change"), "add");
    list_->setCurrentItem(list_->topLevelItem(list_->topLevelItemCount() - 1));
}

/// Sets the amount of the change that is selected in the list.
void VisionChanges::changeSelected() {
    amountText_->setText(amountText(amountAt(amount_->value(), kind())));
    QTreeWidgetItem* item = list_->currentItem();
    if (!item || !item->isSelected()) return;
    const int at = list_->indexOfTopLevelItem(item);
    Changes after = changes();
    for (Intervention& each : changeAt(after, at)) each.amount = amountAt(amount_->value(), each.kind);
    apply(std::move(after), tr("setting an amount"), QStringLiteral("amount %1").arg(at));
}

void VisionChanges::removeSelected() {
    QTreeWidgetItem* item = list_->currentItem();
    if (!item) return;
    Changes after = changes();
    removeChange(after, list_->indexOfTopLevelItem(item));
    apply(std::move(after), tr("removing a change"), "remove");
}

void VisionChanges::showList() {
    const int row = list_->currentItem() && list_->currentItem()->isSelected()
                        ? list_->indexOfTopLevelItem(list_->currentItem())
                        : -1;
    list_->clear();
    for (const auto change : changesOf(changes().interventions))
        new QTreeWidgetItem(list_, {QString::fromStdString(describe(change))});
    for (const PatternEdit& each : changes().patterns)
        new QTreeWidgetItem(list_, {QString::fromStdString(describe(each))});
    for (int at = 0; at < list_->topLevelItemCount(); ++at)
        list_->topLevelItem(at)->setToolTip(0, list_->topLevelItem(at)->text(0));
    if (row >= 0 && row < list_->topLevelItemCount()) list_->setCurrentItem(list_->topLevelItem(row));
    remove_->setEnabled(list_->currentItem() != nullptr);
}

// Set and painted patterns --------------------------------------------------------------------------------------------

void VisionChanges::applyPattern(const PatternEdit& edit, const QString& text) {
    Changes after = changes();
    std::erase_if(after.patterns,
                  [&](const PatternEdit& each) { return each.site == edit.site && each.head == edit.head; });
    if (edit.kind != PatternEdit::Kind::Rows || !edit.rows.empty()) after.patterns.push_back(edit);
    apply(std::move(after), text, QStringLiteral("pattern %1.%2").arg(edit.site).arg(edit.head));
}

size_t VisionChanges::layerTokens() const {
    const LayerLayout* layout = layoutOf(layer_->value());
    return static_cast<size_t>(layout ? layout->tokens : tokens());
}

std::vector<int> VisionChanges::queries() const {
    if (patch_) return {tokenOf(*patch_, layer_->value())};
    if (!shown_->model->prefix.empty()) return {0};
    // The classifier reads the mean of the patches.
    std::vector<int> all(layerTokens());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void VisionChanges::paint(int patch, bool isFirst) {
    if (!shown_->model || bench_.pictures().brush() != PictureBench::Brush::Paint) return;
    const auto found = std::ranges::find_if(changes().patterns, [this](const PatternEdit& each) {
        return each.site == layer_->value() && each.head == head_->value();
    });
    PatternEdit edit{.site = layer_->value(), .head = head_->value()};
    if (found != changes().patterns.end() && found->kind == PatternEdit::Kind::Rows) edit = *found;
    const std::vector<int> rows = queries();
    const auto key = static_cast<size_t>(tokenOf(patch, layer_->value()));
    std::set<size_t> painted;
    if (const auto row = edit.rows.find(rows.front()); row != edit.rows.end())
        for (size_t at = 0; at < row->second.size(); ++at)
            if (row->second[at] > 0) painted.insert(at);
    if (isFirst) paintsMore_ = !painted.contains(key);
    if (painted.contains(key) == paintsMore_) return;
    if (paintsMore_)
        painted.insert(key);
    else
        painted.erase(key);
    for (const int row : rows) {
        if (painted.empty()) {
            edit.rows.erase(row);
            continue;
        }
        std::vector<float>& weights = edit.rows[row];
        weights.assign(layerTokens(), 0);
        for (const size_t at : painted) weights[at] = 1 / static_cast<float>(painted.size());
    }
    applyPattern(edit, tr("painting a pattern"));
}

// State ---------------------------------------------------------------------------------------------------------------

void VisionChanges::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isOther = snapshot->model != shown_->model;
    shown_ = snapshot;
    if (isOther) {
        const ModelInfo* info = shown_->model.get();
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setRange(0, info ? info->layers - 1 : 0);
        head_->setRange(0, info ? info->heads - 1 : 0);
        token_->clear();
        token_->addItem(tr("every token"));
        const AxisDisplay axis = info ? patchAxis(*info) : AxisDisplay{};
        for (int token = 0; token < std::min(tokens(), 4096); ++token) token_->addItem(axis.nameOf(token));
        showSelected();
        showList();
    }
    showState();
}

void VisionChanges::showSelected() {
    const QSignalBlocker quietLayer(layer_), quietHead(head_);
    const auto [layer, head, patch, cell] = bench_.selection();
    layer_->setValue(layer);
    head_->setValue(head);
    if (patch != patch_ && patch && token_->currentIndex() > 0)
        token_->setCurrentIndex(1 + static_cast<int>(shown_->model ? shown_->model->prefix.size() : 0) + *patch);
    patch_ = patch;
    showGates();
    showState();
}

void VisionChanges::listPictures() {
    const QSignalBlocker quiet(other_);
    other_->clear();
    other_->addItem(tr("choose one"), QString());
    for (const auto& [title, name] : bench_.pictures().choices()) other_->addItem(title, name);
    other_->addItem(tr("From a file…"), QStringLiteral("file:"));
    other_->setCurrentIndex(std::max(0, other_->findData(bench_.pictures().setup().otherName)));
}

void VisionChanges::showForm() {
    source_->setVisible(kind() == Intervention::Kind::Mean || kind() == Intervention::Kind::Patch);
    const QSignalBlocker quiet(amount_);
    amount_->setValue(firstAmountStep(kind()));
    amountText_->setText(amountText(amountAt(amount_->value(), kind())));
    showState();
}

void VisionChanges::showState() {
    const bool hasModel = shown_->model != nullptr, isNone = changes().empty();
    title_->setText(!hasModel ? tr("Open a vision model to change it.")
                    : isNone  ? tr("No changes.")
                              : tr("The model is changed."));
    reset_->setEnabled(!isNone);
    run_->setEnabled(!isNone);
    const bool needsOther =
        kind() == Intervention::Kind::Steer || (kind() != Intervention::Kind::Zero && source_->currentIndex() == 1);
    add_->setEnabled(hasModel && !(needsOther && !bench_.pictures().setup().given.other));
    add_->setToolTip(needsOther && !bench_.pictures().setup().given.other ? tr("Choose the other picture first")
                                                                          : tr("Add this change"));
    for (QWidget* widget : std::initializer_list<QWidget*>{gates_, gate_, uniform_, own_, paint_, layer_, head_})
        widget->setEnabled(hasModel);
    pin_->setEnabled(hasModel && patch_.has_value());
    head_->setVisible(place() == ChangePlace::HeadOutput);
    layer_->setVisible(place() != ChangePlace::Embedding);
    patternHint_->setText(tr("Set the pattern of layer %1, head %2").arg(layer_->value()).arg(head_->value()));
}

void VisionChanges::chooseOther(const QString& name) {
    if (name != QLatin1String("file:")) return bench_.pictures().requestOther(name);
    auto* dialog = makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, &bench_.pictures(), &PictureBench::requestOther);
    connect(dialog, &QFileDialog::finished, this, &VisionChanges::listPictures);
    dialog->open();
}

ExportNumbers VisionChanges::numbers() const { return numbersOf(gates_->figure()); }

} // namespace attn
