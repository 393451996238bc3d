#pragma once

#include "app/figures/thumbnail_grid_figure.h"
#include "app/lab/widgets/figure_view.h"

#include <QVariantAnimation>

#include <functional>

namespace attn {

class HeadPreview;

/// Shows every head as a thumbnail. The head under the pointer or with the keyboard focus is shown large beside its
/// thumbnail, until Escape. A click opens a head, arrow keys move the frame, and Return opens the framed head.
/// The rows of a newly generated token light up briefly.
class ThumbnailGridView : public FigureView<ThumbnailGridFigure> {
    Q_OBJECT

public:
    explicit ThumbnailGridView(QWidget* parent = nullptr);

    /// @param before as for ThumbnailGridFigure::setGrid()
    void setGrid(const std::shared_ptr<const PatternGrid>& grid, int keyValueHeads,
                 const std::shared_ptr<const PatternGrid>& before = nullptr);
    void setReadoutRows(const std::shared_ptr<const ReadoutRows>& rows,
                        const std::shared_ptr<const ReadoutRows>& before = nullptr);
    void setScale(const Scale& scale) { change(figure_.scale, scale); }
    void setColours(ColourMapId colours) { change(figure_.colours, colours); }
    /// @param kept as in ThumbnailGridFigure
    void setKept(std::vector<float> kept);
    void setSiteLabels(std::vector<QString> labels); ///< see ThumbnailGridFigure::siteLabels
    void setSelected(const HeadChoice& choice);
    /// The words of a head and what its title adds, for the preview; asked for when one is shown.
    struct HeadWords {
        std::vector<QString> queries, keys;
        QString condition;
    };
    void setWords(std::function<HeadWords(const HeadChoice&)> words) { words_ = std::move(words); }
    void preview(const std::optional<HeadChoice>& choice); ///< shows a head large; none: hides it
    void setEmptyText(const QString& text) { change(emptyText_, text); }

    /// @return the width of a thumbnail in device pixels, the resolution that a long text needs
    int thumbnailPixels() const;

    QSize minimumSizeHint() const override;
    std::shared_ptr<const Figure> drawn() const override; ///< with the words of each head

signals:
    /// The frame moved.
    void selected(const attn::HeadChoice& choice);
    /// A click or Return asked to open this head.
    void activated(const attn::HeadChoice& choice);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void moveEvent(QMoveEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    /// Marks the thumbnail at a point and shows its head large; none: the pointer has left.
    void point(std::optional<QPointF> pointer);
    void choose(const HeadChoice& choice);
    void move(int layers, int columns);
    QString describe(const HeadChoice& choice) const;

    QString emptyText_;
    std::function<HeadWords(const HeadChoice&)> words_;
    std::optional<QPointF> pointer_;   ///< in the view
    bool isByKey_ = false;             ///< the keyboard moves the frame, whose head is previewed
    std::optional<HeadChoice> closed_; ///< the head whose preview Escape closed, until another is previewed
    HeadPreview* preview_ = nullptr;   ///< until a head is previewed
    QVariantAnimation glow_;
};

} // namespace attn
