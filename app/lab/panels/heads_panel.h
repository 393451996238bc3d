#pragma once

#include "app/lab/workbench/panel.h"

class QLabel;
class QPushButton;

namespace attn {

class HeadsGrid;
class PictureHeads;

/// Shows where every head looks, from the token that a text's readout reads or from the selected patch of a picture,
/// and sets the gate of each head.
class HeadsPanel : public Panel {
    Q_OBJECT

public:
    explicit HeadsPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    QWidget* makeGates();
    void toggleLayer();
    void showRows();
    void showGates();

    std::shared_ptr<const Snapshot> snapshot_;
    HeadsGrid* grid_;        ///< of a text
    PictureHeads* pictures_; ///< of a picture
    QLabel* caption_;
    QPushButton *layerOff_, *restore_;
};

} // namespace attn
