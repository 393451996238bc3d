#pragma once

#include "app/lab/workbench/workbench.h"

#include <QJsonObject>
#include <QWidget>

class QCheckBox;
class QComboBox;
class QPushButton;
class QSlider;

namespace attn {

/// The controls of the Attention panel that only pictures need: attention rollout, also weighted by the gradient of a
/// class, and how a pattern lies over the picture.
class PictureTools : public QWidget {
    Q_OBJECT

public:
    explicit PictureTools(Workbench& bench);

    /// @pre its model reads pictures
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    /// What the views of pictures show, with the selected head.
    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

private:
    void show();
    void setLook();
    void setRollout();
    void restoreViewOfModel();

    Workbench& bench_;
    PictureBench& pictures_;
    std::shared_ptr<const ModelInfo> model_;
    QJsonObject viewOfModel_; ///< layer, head and class to restore when the model has loaded
    QComboBox *view_, *weighted_, *fusion_;
    QSlider *discard_, *opacity_;
    QCheckBox* smooth_;
    QPushButton* fromAll_;
};

} // namespace attn
