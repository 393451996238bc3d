#pragma once

#include "app/lab/panels/attention_settings.h"
#include "app/lab/workbench/panel_context.h"

class QAction;
class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QSpinBox;
class QStackedWidget;
class QToolButton;

namespace attn {

class CellView;
class HeatmapView;
class ThumbnailGridView;
class TokenStrip;

/// Attention at three levels, one click apart: all heads as thumbnails, one head as a heatmap, one cell as arithmetic.
/// The token strip below highlights the rows and columns that belong to a token.
class AttentionPanel : public Panel {
    Q_OBJECT

public:
    explicit AttentionPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override { return attentionToJson(settings_); }
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

    const AttentionSettings& settings() const { return settings_; }
    void setLevel(AttentionLevel level);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeBreadcrumbs();
    QWidget* makeTools();
    void connectViews();
    void makeLevelAction(AttentionLevel level, QToolButton* button, const char* id, const QKeySequence& keys,
                         const QString& toolTip);

    void change(AttentionSettings next, const QString& text);
    void apply(const AttentionSettings& next);
    void choose(const HeadChoice& choice);
    void selectCell(const Cell& cell);
    void adoptExplanation();
    void explainIfStale();
    void postView();
    void showSettings();
    void showPictures();
    void showChange();
    void showLinks();
    void showTheme();
    void updateEmptyTexts();
    bool isChoiceLocked() const;
    int tokenCount() const;
    const Figure& shownFigure() const;
    Cell strongestCell() const;

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    AttentionSettings settings_;
    std::optional<PatternRequest> posted_;
    std::optional<CellRequest> asked_;
    uint64_t askedVersion_ = 0;    ///< Snapshot::sequenceVersion when asked_ was posted
    std::vector<Cell> unanswered_; ///< cells whose explanation is still to come, oldest first
    int hoveredToken_ = -1;        ///< token under the pointer in any panel; -1: none
    int pinnedToken_ = -1;         ///< token that was clicked in the strip; -1: none
    std::optional<Cell> hoveredCell_;
    QRectF window_; ///< visible tokens of the heatmap

    QToolButton *allButton_, *headButton_, *cellButton_;
    QWidget* tools_;
    QLabel* change_; ///< explains the colours of a difference
    QSpinBox *layer_, *head_;
    QComboBox *aggregate_, *scale_, *colours_;
    QCheckBox* hidesFirst_;
    QPushButton* reset_;
    QStackedWidget* stack_;
    QScrollArea *gridScroll_, *cellScroll_;
    ThumbnailGridView* grid_;
    HeatmapView* heatmap_;
    CellView* cell_;
    TokenStrip* strip_;
};

} // namespace attn
