#pragma once

#include "app/lab/workbench/workbench.h"

#include <QWidget>

#include <functional>
#include <vector>

class QLabel;
class QPushButton;
class QSlider;

namespace attn {

class MatrixView;
struct MatrixCell;

/// Sets the pattern of the selected head: uniform, pinned to a row, or painted. A short text is painted on the cells of
/// its pattern, a picture on its patches.
class PatternEditor : public QWidget {
    Q_OBJECT

public:
    explicit PatternEditor(Workbench& bench);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    /// The row of the input's axis to pin to; none: the selected row, or else the first.
    void setRow(std::optional<int> row);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeButtons();
    PatternChange edit() const; ///< of the selected head; new if there is none
    /// Replaces the pattern's change. Rows without any row remove it.
    void apply(const PatternChange& edit, const QString& text);
    void pin();
    bool isOfTwoTexts() const; ///< whether the keys of the head are of another text than its queries
    int pinnedRow() const;     ///< of the input's axis, or of the keys' text
    void namePin();            ///< on the button
    void paintCell(const MatrixCell& cell);
    std::vector<int> queries() const; ///< whose rows are painted on the picture
    void paintPatch(int patch, bool isFirst);
    void show();

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::optional<int> row_;
    bool paintsMore_ = true; ///< whether the drag over the picture adds patches or removes them
    QLabel* hint_;
    MatrixView* matrix_;
    QWidget* picture_;
    QWidget* brush_; ///< the weight to paint on a matrix
    QSlider* weight_;
    QPushButton *paint_, *uniform_, *pin_, *own_;
};

} // namespace attn
