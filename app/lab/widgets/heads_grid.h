#pragma once

#include "engine/inference/pattern_views.h"

#include <QAbstractScrollArea>
#include <QRect>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace attn {

/// Shows all heads: layers down, heads across. Each cell shows the attention of the row that the readout reads (one
/// stripe per key, the oldest at the left); the bar below is the head's gate. Arrow keys choose a head, Space closes or
/// opens its gate, plus and minus change it.
class HeadsGrid : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit HeadsGrid(QWidget* parent = nullptr);

    /// @param before rows of the original run; if set, the grid shows the difference: red is more, blue is less
    void setRows(std::shared_ptr<const ReadoutRows> rows, const std::shared_ptr<const ReadoutRows>& before = nullptr);
    void setReadoutToken(const QString& token) { readoutToken_ = token; } ///< as a sentence names it
    /// @param gates the fraction of its output that each head keeps; heads that are not listed keep all of it
    void setGates(std::map<std::pair<int, int>, float> gates, int layers, int heads);
    void setHue(const QColor& hue);
    void select(int layer, int head); ///< and scrolls to it

    bool showsChange() const { return !change_.empty(); }
    /// @return the weights in the grid, or their differences  @pre setRows() has set rows
    const std::vector<float>& shown() const { return showsChange() ? change_ : rows_->values; }

    /// The names of the rows: "L2".
    void setSiteLabels(std::vector<QString> labels);
    int layers() const { return layers_; }
    int heads() const { return heads_; }
    int selectedLayer() const { return layer_; }
    int selectedHead() const { return head_; }
    float gate(int layer, int head) const;
    QRect cellRect(int layer, int head) const;

    QSize sizeHint() const override;

signals:
    void selected(int layer, int head);
    void gateRequested(int layer, int head, float gate);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    void layOut();
    void say(); ///< tells screen readers which head is selected
    void paintCell(QPainter& painter, int layer, int head) const;
    bool cellAt(const QPoint& position, int& layer, int& head) const;
    void choose(int layer, int head);

    std::shared_ptr<const ReadoutRows> rows_, before_;
    std::vector<float> change_; ///< shaped like the rows' values; empty if no difference is shown
    std::map<std::pair<int, int>, float> gates_;
    QColor hue_ = QColor(230, 120, 30);
    QString siteLabel(int site) const;
    std::vector<QString> siteLabels_;
    QString readoutToken_;
    int layers_ = 0, heads_ = 0;
    int layer_ = 0, head_ = 0;
    int cellWidth_ = 60, cellHeight_ = 30, labelWidth_ = 30, headerHeight_ = 18;
};

} // namespace attn
