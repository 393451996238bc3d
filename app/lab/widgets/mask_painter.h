#pragma once

#include "app/lab/widgets/matrix_view.h"
#include "engine/attention/mask/expression.h"

#include <vector>

class QCheckBox;
class QComboBox;
class QJsonArray;
class QLabel;
class QSpinBox;

namespace attn {

/// A mask to paint on: the mouse sets and clears cells. Space toggles the cell that was chosen with the arrow keys.
class MaskCanvas : public MatrixView {
    Q_OBJECT

public:
    enum class Tool { Paint, Erase, FillRectangle, ClearRectangle };

    explicit MaskCanvas(QWidget* parent = nullptr);
    /// @param cells [tokens, tokens]: 1 if the query sees the key
    void setCells(int tokens, std::vector<float> cells);
    void setTool(Tool tool) { tool_ = tool; }
    void setSymmetric(bool on) { isSymmetric_ = on; }

signals:
    /// A stroke has ended. @param cells as in setCells()
    void painted(const std::vector<float>& cells);

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent*) override {} ///< a double click is two strokes
    void keyPressEvent(QKeyEvent* event) override;

private:
    void strokeTo(const MatrixCell& cell);
    void set(const MatrixCell& cell, bool on);
    void refresh();

    int tokens_ = 0;
    std::vector<float> cells_, before_;
    std::optional<MatrixCell> from_; ///< the last cell of the current stroke
    Tool tool_ = Tool::Paint;
    bool isSymmetric_ = false;
};

/// Lets a user paint over any mask, and shows which tokens can reach a token within a number of layers.
class MaskPainter : public QWidget {
    Q_OBJECT

public:
    explicit MaskPainter(QWidget* parent = nullptr);

    void setMask(const MaskExpression& mask, int64_t tokens);
    void setTheme(const FigureTheme& theme);
    /// The token whose sources are shown (-1: the last one) and the number of layers, for session files and lessons.
    QJsonArray saveReach() const;
    void restoreReach(const QJsonArray& reach);

signals:
    /// @param mask the term painted(...)
    void painted(const attn::MaskExpression& mask);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void drawMask();
    void emitPainted(const std::vector<float>& cells);
    void showReach();

    MaskExpression mask_;
    int64_t tokens_ = 0;
    bool isStale_ = false; ///< the mask changed while the painter was hidden
    MaskCanvas* canvas_;
    MatrixView* reach_;
    QComboBox* tool_;
    QCheckBox* symmetric_;
    QSpinBox *token_, *layers_;
    QLabel* remark_;
};

} // namespace attn
