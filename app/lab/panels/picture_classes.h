#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/workbench.h"

#include <vector>

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// Names the classes that a model knows: "It knows 3 classes: circle, square, star."
QString knownClasses(const ModelInfo& info);
/// Names a vision model, its family, its shape and its classes.
QString describedModel(const ModelInfo& info);

/// The most probable classes of a picture, and what hidden patches or changes do to them.
class PictureClasses : public Panel {
    Q_OBJECT

public:
    explicit PictureClasses(Workbench& bench, QWidget* parent = nullptr);
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString titleNow() const override { return tr("Prediction"); }
    ExportNumbers numbers() const override;

private:
    void titleClasses(); ///< names the columns after what the model says
    void show();
    void chooseClass(const QTreeWidgetItem* item);

    std::shared_ptr<const Snapshot> snapshot_;
    std::vector<float> plain_; ///< probabilities without hidden patches or changes
    std::shared_ptr<const Image> plainOf_;
    QLabel *answer_, *text_;
    QTreeWidget* classes_;
};

} // namespace attn
