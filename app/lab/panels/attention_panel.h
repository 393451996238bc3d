#pragma once

#include "app/lab/panels/attention_settings.h"
#include "app/lab/panels/panel_context.h"

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

/// Attention at three scales, one click apart: all heads as thumbnails, one head as a heatmap, one cell as arithmetic.
/// The tokens below are linked with rows and columns.
class AttentionPanel : public Panel {
    Q_OBJECT

public:
    explicit AttentionPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override { return attentionToJson(settings_); }
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

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
    QString titleOf(const HeadChoice& choice) const;
    QString resolutionOf(const PatternTile* tile) const; ///< what a pixel stands for, if not for one weight
    Cell strongestCell() const;

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    AttentionSettings settings_;
    std::optional<SetViewCommand> posted_;
    std::optional<ExplainCellCommand> asked_;
    uint64_t askedVersion_ = 0;    ///< sequence that asked_ was about
    std::vector<Cell> unanswered_; ///< cells asked about, oldest first
    int hoveredToken_ = -1;        ///< pointed at anywhere in the window
    int pinnedToken_ = -1;         ///< clicked in the strip
    std::optional<Cell> hoveredCell_;
    QRectF window_; ///< visible tokens of the heatmap

    QToolButton *allButton_, *headButton_, *cellButton_;
    QWidget* tools_;
    QLabel* change_; ///< what the colours of a difference say
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
