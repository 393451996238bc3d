#include "app/lab/panels/heads_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/theme.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/hint_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {
constexpr int kGateSteps = 100;
}

HeadsPanel::HeadsPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), grid_(new HeadsGrid(this)), change_(makeHintLabel("headsChange")),
      label_(new QLabel), gate_(new QSlider(Qt::Horizontal)), value_(new QLabel),
      layerOff_(new QPushButton(tr("Remove layer's heads"))), restore_(new QPushButton(tr("Restore all heads"))) {
    grid_->setObjectName("headsGrid");
    grid_->setAccessibleName(tr("Heads: attention of the newest token, and gates"));
    gate_->setObjectName("gate");
    gate_->setRange(0, kGateSteps);
    gate_->setValue(kGateSteps);
    gate_->setAccessibleName(tr("Gate of the selected head"));
    gate_->setToolTip(tr("0 removes the head's output, 1 keeps all of it. The model was trained with 1 only."));
    layerOff_->setObjectName("layerOff");
    layerOff_->setAccessibleName(tr("Remove all heads of this layer, or restore them"));
    layerOff_->setToolTip(layerOff_->accessibleName());
    restore_->setObjectName("gatesOn");
    restore_->setAccessibleName(tr("Set every gate of the model to 1"));
    restore_->setToolTip(restore_->accessibleName());
    value_->setMinimumWidth(fontMetrics().horizontalAdvance("0.00 "));

    auto* gates = new QWidget(this);
    auto* row = new QHBoxLayout(gates);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(label_);
    row->addWidget(gate_, 1);
    row->addWidget(value_);
    row->addWidget(layerOff_);
    row->addWidget(restore_);
    assignControlGroup(gates, "heads");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(change_);
    column->addWidget(grid_, 1);
    column->addWidget(gates);

    connect(grid_, &HeadsGrid::selected, this, [this](int layer, int head) {
        showSelected();
        bench_.selectHead(layer, head);
    });
    connect(grid_, &HeadsGrid::gateRequested, this, [this, gates](int layer, int head, float gate) {
        if (gates->isEnabled() && !gates->isHidden()) requestGate(layer, head, gate);
    });
    connect(gate_, &QSlider::valueChanged, this, [this](int position) {
        requestGate(grid_->selectedLayer(), grid_->selectedHead(), static_cast<float>(position) / kGateSteps);
    });
    connect(layerOff_, &QPushButton::clicked, this, [this] {
        bool isOn = false;
        for (int head = 0; head < grid_->heads(); ++head) isOn = isOn || grid_->gate(grid_->selectedLayer(), head) > 0;
        requestGate(grid_->selectedLayer(), -1, isOn ? 0.0f : 1.0f);
    });
    connect(restore_, &QPushButton::clicked, this, [this] { requestGate(-1, -1, 1.0f); });
    connect(&bench_, &Workbench::changesChanged, this, &HeadsPanel::showGates);
    grid_->setHue(predictionColour(bench_.theme()));
    connect(&bench_, &Workbench::themeChanged, this, [this](ThemeId theme) { grid_->setHue(predictionColour(theme)); });
    connect(&bench_, &Workbench::shownRunChanged, this, [this] {
        showRows();
        showGates();
    });
    connect(&bench_, &Workbench::headSelected, this, [this](int layer, int head) {
        grid_->select(layer, head);
        showSelected();
    });
    showRows();
    showSelected();
}

void HeadsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    showRows();
    showGates();
}

/// The gates of the run on display: all gates of the original run are open.
void HeadsPanel::showGates() {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    const bool isOriginal = bench_.shownRun() == ShownRun::Original;
    grid_->setGates(isOriginal ? decltype(Changes::gates)() : bench_.changes().gates, model ? model->layers : 0,
                    model ? model->heads : 0);
    const Selection& selected = bench_.selection();
    if (grid_->selectedLayer() != selected.site || grid_->selectedHead() != selected.head)
        grid_->select(selected.site, selected.head);
    showSelected();
}

void HeadsPanel::showRows() {
    if (snapshot_) {
        const UneditedViews* compared = bench_.compared(*snapshot_);
        grid_->setRows(snapshot_->newest, compared ? compared->newest : nullptr);
    }
    change_->setVisible(grid_->showsChange());
    change_->setText(tr("Where the newest token looks more (red) or less (blue) than in the original run."));
}

ExportNumbers HeadsPanel::numbers() const {
    if (!snapshot_ || !snapshot_->newest) return {};
    const bool isChange = grid_->showsChange();
    const auto csv = [rows = snapshot_->newest, shown = grid_->shown(), isChange] {
        QString text = isChange ? "layer,head,key,change\n" : "layer,head,key,attention\n";
        size_t at = 0;
        for (int layer = 0; layer < rows->sites; ++layer)
            for (int head = 0; head < rows->heads; ++head)
                for (int key = 0; key < rows->keys; ++key)
                    text += QStringLiteral("%1,%2,%3,%4\n")
                                .arg(layer)
                                .arg(head)
                                .arg(key)
                                .arg(static_cast<double>(shown[at++]));
        return text;
    };
    const auto arrays = [rows = snapshot_->newest, changes = bench_.changes(), shown = grid_->shown(), isChange] {
        std::vector<NumberArray> all{
            {isChange ? "newest_row_change" : "newest_row", {rows->sites, rows->heads, rows->keys}, shown}};
        NumberArray gates{"gate", {rows->sites, rows->heads}, {}};
        for (int site = 0; site < rows->sites; ++site)
            for (int head = 0; head < rows->heads; ++head) gates.values.push_back(changes.gate(site, head));
        all.push_back(std::move(gates));
        return all;
    };
    return {.csv = csv, .arrays = arrays};
}

void HeadsPanel::requestGate(int layer, int head, float gate) {
    if (!snapshot_ || !snapshot_->model) return;
    Changes after = bench_.changes();
    for (int l = 0; l < grid_->layers(); ++l)
        for (int h = 0; h < grid_->heads(); ++h)
            if ((layer < 0 || l == layer) && (head < 0 || h == head)) after.setGate(l, h, gate);
    bench_.change(std::move(after), tr("changing a gate"), QStringLiteral("gate %1.%2").arg(layer).arg(head));
}

void HeadsPanel::showSelected() {
    const bool hasHeads = grid_->layers() > 0;
    for (QWidget* control : std::initializer_list<QWidget*>{gate_, layerOff_, restore_}) control->setEnabled(hasHeads);
    if (!hasHeads) return label_->setText(tr("No model"));
    const float gate = grid_->gate(grid_->selectedLayer(), grid_->selectedHead());
    label_->setText(tr("Layer %1, head %2").arg(grid_->selectedLayer()).arg(grid_->selectedHead()));
    value_->setText(QString::number(static_cast<double>(gate), 'f', 2));
    // During a drag the slider is ahead of the snapshots.
    if (gate_->isSliderDown()) return;
    const QSignalBlocker quiet(gate_);
    gate_->setValue(static_cast<int>(std::lround(gate * kGateSteps)));
}

} // namespace attn
