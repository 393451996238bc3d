#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/workbench.h"

#include <QJsonObject>

class QCheckBox;
class QComboBox;
class QGridLayout;
class QPushButton;
class QSlider;
class QSpinBox;

namespace attn {

class PictureView;

/// Where a patch of a picture looks in a head, in all heads of a layer, or in all layers (attention rollout, also
/// weighted by the gradient of a class), drawn over the picture.
class PictureAttention : public Panel {
    Q_OBJECT

public:
    explicit PictureAttention(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    QWidget* makeControls();
    QWidget* makeAttentionRow();
    QWidget* makeRolloutRow();
    void showModel();
    void restoreViewOfModel();
    void showControls();
    void setLook();
    void setRollout();

    Workbench& bench_;
    PictureBench& pictures_;
    std::shared_ptr<const Snapshot> snapshot_;
    QJsonObject viewOfModel_; ///< layer, head and class to restore when the model has loaded

    QComboBox *view_, *head_, *fusion_, *weighted_, *colours_;
    QSpinBox* layerBox_;
    QSlider *opacity_, *discard_;
    QCheckBox* smooth_;
    QPushButton* fromAll_;
    QWidget *attentionRow_, *rolloutRow_;
    PictureView* overlay_;
};

} // namespace attn
