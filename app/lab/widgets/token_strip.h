#pragma once

#include "app/figures/figure_theme.h"

#include <QAbstractScrollArea>
#include <QRect>
#include <QString>

#include <vector>

namespace attn {

/// Shows the tokens of a text, wrapped like text and linked to the rows and columns of a heatmap. The query and the key
/// have frames in their own colours, and attention weights shade the tokens. Left and right move the focus, and Return
/// clicks.
class TokenStrip : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TokenStrip(QWidget* parent = nullptr);

    void setLabels(std::vector<QString> labels);
    void setTheme(const FigureTheme& theme);
    /// Words grow with the strip, as text of figures does, while all of them fit.
    void letGrow() { grows_ = true; }
    /// Frames a query and a key; -1: none.
    void setMarks(int query, int key);
    /// @param shades one value 0..1 per token; empty: none
    /// @param isChange the values are differences −1..1: red is more, blue is less
    void setShades(std::vector<float> shades, bool isChange = false);

    int count() const { return static_cast<int>(chips_.size()); }
    int markedQuery() const { return query_; }
    int markedKey() const { return key_; }
    const std::vector<float>& shades() const { return shades_; }
    /// @return the rectangle of a token in the viewport
    QRect tokenRect(int index) const;
    int tokenAt(const QPoint& position) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    /// @param index -1 when the pointer leaves
    void tokenHovered(int index);
    void tokenClicked(int index);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Chip {
        QString label;
        QRect rect; ///< in content coordinates
    };
    void layOut();
    int place(); ///< places the words  @return the height of all lines
    void hover(int index);

    FigureTheme theme_, shown_; ///< the one for sizes that the strip asks for, and the one of the drawing
    bool grows_ = false;
    std::vector<Chip> chips_;
    std::vector<float> shades_;
    bool areChanges_ = false; ///< whether the shades are differences
    int hovered_ = -1, query_ = -1, key_ = -1;
    int lines_ = 1;
};

} // namespace attn
