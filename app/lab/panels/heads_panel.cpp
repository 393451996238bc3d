#include "app/lab/panels/heads_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/theme.h"
#include "app/lab/controls/gate_slider.h"
#include "app/lab/controls/picture_views.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/heads_grid.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/input_kind.h"

#include <QPushButton>

#include <algorithm>

namespace attn {

HeadsPanel::HeadsPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), grid_(new HeadsGrid),
      pictures_(new PictureHeads("headsPictures", PictureHeads::Kind::Overlays, bench)),
      caption_(makeHintLabel("headsCaption")) {
    grid_->setObjectName("headsGrid");
    grid_->setAccessibleName(tr("Heads: where each one looks, and its gate"));
    pictures_->hide();
    QWidget* gates = makeGates();
    makeColumn(this, spacing::kGap, {caption_, {grid_, 1}, {pictures_, 1}, gates});

    const auto setGate = [this, gates](int layer, int head, float gate) {
        if (!gates->isEnabled() || gates->isHidden()) return;
        if (gate > 0)
            bench_.reopenHead(layer, head, gate);
        else
            bench_.setGate(layer, head, gate);
    };
    connect(grid_, &HeadsGrid::selected, this, [this](int layer, int head) { bench_.selectHead(layer, head); });
    connect(grid_, &HeadsGrid::gateRequested, this, setGate);
    connect(pictures_, &PointedView::activated, this, [this, setGate](int item) {
        if (!bench_.hasModel()) return;
        const int layer = item / bench_.snapshot()->model->heads, head = item % bench_.snapshot()->model->heads;
        setGate(layer, head, bench_.shownShare(layer, head) > 0 ? 0.0f : 1.0f);
    });
    connect(&bench_, &Workbench::changesChanged, this, &HeadsPanel::showGates);
    grid_->setHue(predictionColour(bench_.theme()));
    connect(&bench_, &Workbench::themeChanged, this, [this](ThemeId theme) { grid_->setHue(predictionColour(theme)); });
    connect(&bench_, &Workbench::shownRunChanged, this, [this] {
        showRows();
        showGates();
    });
    connect(&bench_, &Workbench::headSelected, grid_, &HeadsGrid::select);
    showRows();
    showGates();
}

QWidget* HeadsPanel::makeGates() {
    layerOff_ = named(new QPushButton(tr("Remove layer's heads")), "layerOff",
                      tr("Remove all heads of this layer, or restore them"));
    restore_ = named(new QPushButton(tr("Restore all heads")), "gatesOn", tr("Set every gate of the model to 1"));
    auto* gates = new QWidget; // after the grid, which the focus goes to first
    auto* buttons = new FlowLayout;
    buttons->addWidget(layerOff_);
    buttons->addWidget(restore_);
    makeColumn(gates, 0, {new GateSlider("gate", bench_), buttons});
    assignControlGroup(gates, "heads");
    connect(layerOff_, &QPushButton::clicked, this, &HeadsPanel::toggleLayer);
    connect(restore_, &QPushButton::clicked, this, [this] { bench_.setGate(-1, -1, 1); });
    return gates;
}

void HeadsPanel::toggleLayer() {
    if (!bench_.hasModel()) return;
    const int layer = bench_.selection().site;
    bool isOn = false;
    for (int head = 0; head < bench_.snapshot()->model->site(layer).heads; ++head)
        isOn = isOn || bench_.shownGate(layer, head) > 0;
    bench_.setGate(layer, -1, isOn ? 0.0f : 1.0f);
}

void HeadsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    // Only the visible one needs room.
    showPages({{AxisKind::Tokens, grid_}, {AxisKind::Patches, pictures_}}, inputKind(*snapshot).axis());
    showRows();
    showGates();
}

/// What the heads keep in the run on display: all of it in the original run.
void HeadsPanel::showGates() {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    for (QPushButton* button : {layerOff_, restore_}) button->setEnabled(model != nullptr);
    decltype(Changes::gates) shares;
    for (int site = 0; model && site < model->siteCount(); ++site)
        for (int head = 0; head < model->site(site).heads; ++head)
            if (const float share = bench_.shownShare(site, head); share != 1) shares[{site, head}] = share;
    std::vector<QString> labels;
    for (int site = 0; model && site < model->siteCount(); ++site)
        labels.push_back(QString::fromStdString(model->structure.labelOf(site)));
    grid_->setSiteLabels(std::move(labels));
    grid_->setGates(std::move(shares), model ? model->siteCount() : 0, model ? model->heads : 0);
    const Selection& selected = bench_.selection();
    if (grid_->selectedLayer() != selected.site || grid_->selectedHead() != selected.head)
        grid_->select(selected.site, selected.head);
}

void HeadsPanel::showRows() {
    if (snapshot_) {
        const OriginalViews* compared = bench_.compared(*snapshot_);
        grid_->setRows(snapshot_->readoutRows, compared ? compared->readoutRows : nullptr);
    }
    const QString token = readoutToken(snapshot_.get());
    grid_->setReadoutToken(token);
    const InputKind& kind = snapshot_ ? inputKind(*snapshot_) : bench_.input();
    const QString places = tr("One tile per head; the rows are layers.");
    caption_->setText(places + ' ' +
                      (grid_->showsChange()
                           ? tr("Red: %1 looks there more than in the original run. Blue: less.").arg(token)
                           : kind.say(&InputWords::headTiles).replace("%1", token)));
    caption_->setToolTip(kind.say(&InputWords::headTilesHelp).replace("%1", token));
}

QWidget* HeadsPanel::figure() { return pictures_->isHidden() ? static_cast<QWidget*>(this) : pictures_; }

ExportNumbers HeadsPanel::numbers() const {
    if (!pictures_->isHidden()) return pictures_->figure() ? numbersOf(*pictures_->figure()) : ExportNumbers{};
    if (!snapshot_ || !snapshot_->readoutRows) return {};
    const bool isChange = grid_->showsChange();
    const auto csv = [rows = snapshot_->readoutRows, shown = grid_->shown(), isChange] {
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
    const auto arrays = [rows = snapshot_->readoutRows, changes = bench_.changes(), shown = grid_->shown(), isChange] {
        std::vector<NumberArray> all{
            {isChange ? "readout_row_change" : "readout_row", {rows->sites, rows->heads, rows->keys}, shown}};
        NumberArray gates{"gate", {rows->sites, rows->heads}, {}};
        for (int site = 0; site < rows->sites; ++site)
            for (int head = 0; head < rows->heads; ++head) gates.values.push_back(changes.gate(site, head));
        all.push_back(std::move(gates));
        return all;
    };
    return {.csv = csv, .arrays = arrays};
}

} // namespace attn
