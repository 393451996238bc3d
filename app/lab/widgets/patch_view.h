#pragma once

#include "app/figures/figure_theme.h"

#include <QImage>
#include <QWidget>

#include <optional>
#include <vector>

namespace attn {

/// Shows a picture cut into patches, and how much attention one patch gives to each.
class PatchView : public QWidget {
    Q_OBJECT

public:
    explicit PatchView(QWidget* parent = nullptr);

    void setPicture(const QImage& picture, int rows, int columns);
    /// @param query the patch that attends  @param weights one per patch, NaN if hidden; empty: show the plain picture
    void setWeights(std::optional<int> query, std::vector<float> weights);
    const std::vector<float>& weights() const { return weights_; }
    std::optional<int> query() const { return query_; }
    void setTheme(const FigureTheme& theme);
    QRectF patchRect(int patch) const;

    QSize sizeHint() const override { return {220, 220}; }
    QSize minimumSizeHint() const override { return {96, 96}; }

signals:
    /// @param patch under the pointer, the new query; none when the pointer leaves
    void pointedAt(std::optional<int> patch);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    QRectF frame() const;
    void describe();

    QImage picture_;
    int rows_ = 1, columns_ = 1;
    std::optional<int> query_;
    std::vector<float> weights_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
