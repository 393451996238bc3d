#pragma once

#include "app/lab/panels/attention_settings.h"
#include "app/lab/workbench/panel.h"

class QAction;
class QButtonGroup;
class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QSpinBox;
class QStackedWidget;
class QToolButton;

namespace attn {

class ArcsView;
class CellView;
class EmptyState;
class HeatmapView;
class PictureHeads;
class PictureTools;
class PictureView;
class SlidingColumn;
class ThumbnailGridView;
class TokenStrip;

/// Attention at three levels, one click apart: all heads as thumbnails; one head as a heatmap, as shaded text or as
/// arcs between words; and beside it one cell as arithmetic. Attention of a picture lies over it.
class AttentionPanel : public Panel {
    Q_OBJECT

public:
    explicit AttentionPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;
    QString exportName() const override;
    std::optional<std::pair<int, int>> exportedHead() const override;

    const AttentionLook& look() const { return look_; }
    AttentionLevel level() const { return bench_.readsPictures() ? pictureLevel_ : look_.level; }
    void setLevel(AttentionLevel level);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeBreadcrumbs();
    QWidget* makeTools();
    QToolButton* makeDisplayButton(); ///< opens what is changed less often
    void setPicture(AttentionPicture picture);
    void showArcs();
    QWidget* makeWords();
    QWidget* pictureOfHead() const; ///< the heatmap, the text or the arcs
    void connectViews();
    void makeLevelAction(AttentionLevel level, QToolButton* button, const char* id, const QKeySequence& keys,
                         const QString& toolTip);

    /// Changes the look as one step of undo.
    void change(AttentionLook next, const QString& text);
    void apply(const AttentionLook& next);
    HeadChoice choice() const; ///< the selected head, or the aggregate that is shown in its place
    void choose(const HeadChoice& choice);
    void chooseAggregate(HeadAggregate aggregate);
    void chooseColours(ColourMapId colours);
    void want();
    void showSettings();
    void showPictures();
    void showChange();
    void showLinks();
    void nameWords(int query); ///< -1: none
    void updateEmptyTexts();
    bool isChoiceLocked() const;
    /// The arithmetic of a cell stands beside its heatmap; an export means it only while it has the focus.
    AttentionLevel exportedLevel() const;
    const Figure* shownFigure() const; ///< null: nothing was shown yet
    Cell strongestCell() const;

    std::shared_ptr<const Snapshot> snapshot_;
    AttentionLook look_;                                    ///< of texts; that of pictures is in PictureBench
    AttentionLevel pictureLevel_ = AttentionLevel::OneHead; ///< a picture has no single cells
    int hoveredToken_ = -1;                                 ///< token under the pointer in any panel; -1: none
    std::optional<Cell> hoveredCell_;
    QRectF window_; ///< visible tokens of the heatmap

    QToolButton *allButton_, *headButton_, *cellButton_;
    QWidget* tools_;
    PictureTools* pictureTools_;
    QLabel* change_; ///< explains the colours of a difference
    QSpinBox *layer_, *head_;
    QComboBox *aggregate_, *scale_, *colours_;
    QCheckBox* hidesFirst_;
    QPushButton* reset_;
    QStackedWidget *stack_, *views_;
    EmptyState* empty_;
    QWidget* hero_; ///< one head, and at its side one cell
    QScrollArea *gridScroll_, *arcsScroll_;
    SlidingColumn* cellColumn_;
    QButtonGroup* switch_;
    QCheckBox* arcsOfLayer_;
    PictureHeads* pictures_;
    PictureView* picture_;
    ThumbnailGridView* grid_;
    HeatmapView* heatmap_;
    ArcsView* arcs_;
    CellView* cell_;
    TokenStrip* strip_;
    QLabel *wordsTitle_, *wordsMeaning_;
    QWidget* words_; ///< the strip with its title and the meaning of its colours
};

} // namespace attn
