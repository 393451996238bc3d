#pragma once

#include "app/figures/word_rows.h"
#include "app/lab/panels/attention_settings.h"
#include "app/lab/workbench/panel.h"
#include "engine/models/written_picture.h"

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
class PatchOverlayView;
class PictureHeads;
class PictureTools;
class PictureView;
class SiteBox;
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
    /// The level once the text of a restored view is there.
    AttentionLevel wantedLevel() const { return awaited_ ? awaited_->first : level(); }
    void setLevel(AttentionLevel level);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    /// While a cell is shown, Esc closes it, before it does anything else.
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeBreadcrumbs();
    QWidget* makeTools();
    QToolButton* makeDisplayButton();       ///< opens what is changed less often
    void chooseLevel(AttentionLevel level); ///< as the user wants it
    void setPicture(AttentionPicture picture);
    void listenToEscape(bool isOn);
    void showArcs();
    const WrittenPicture* writtenPicture() const; ///< null: the model writes none
    void showWritten(int query);                  ///< over the written picture
    void chooseWritten();                         ///< the written picture as the first view of a model that writes some
    void connectWritten();
    QWidget* makeWords();
    QWidget* pictureOfHead() const;   ///< the heatmap, the text, the arcs or the written picture
    AttentionPicture shownAs() const; ///< the look's picture; the heatmap if the model writes no pictures
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
    struct JoinedWords {
        WordRows queries, keys;
    };
    bool canJoin(const PatternTile& tile) const;
    void joinWords(int site); ///< sets joined_
    std::shared_ptr<const PatternTile> shownTile(const std::shared_ptr<const PatternTile>& tile) const;
    static std::vector<QString> labelsOf(std::span<const TokenInfo> tokens, const WordRows* words);
    static int placeOf(int token, const WordRows* words); ///< the row or column that shows a token
    static int tokenAt(int place, const WordRows* words); ///< the first token of a row or column
    const WordRows* queryWords() const;                   ///< null: pieces are shown
    const WordRows* keyWords() const;
    int linkedPlace() const; ///< the row under the pointer, or else the selected one; -1: none
    std::optional<Cell> selectedPlace() const;
    bool readsText() const;    ///< whether the queries of the head are tokens of the text that is written
    bool isOfTwoTexts() const; ///< whether the keys of the head are of another text than its queries
    void hoverRow(int row);    ///< of the head; -1: none
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
    /// Of a restored view, until its text is there or the user chooses something else.
    std::optional<std::pair<AttentionLevel, Selection>> awaited_;
    std::optional<JoinedWords> joined_; ///< whose rows and columns the views of one head have; none: tokens
    int hoveredToken_ = -1;             ///< token under the pointer in any panel; -1: none
    std::optional<Cell> hoveredCell_;
    QRectF window_; ///< visible tokens of the heatmap

    QToolButton *allButton_, *headButton_, *cellButton_;
    QWidget* tools_;
    PictureTools* pictureTools_;
    QLabel* change_; ///< explains the colours of a difference
    SiteBox* layer_;
    QSpinBox* head_;
    QComboBox *aggregate_, *scale_, *colours_;
    QCheckBox *hidesFirst_, *wholeWords_;
    QPushButton* reset_;
    QStackedWidget *stack_, *views_;
    EmptyState *empty_, *patternless_; ///< instead of patterns: there is no text; the layers form none
    QWidget* hero_;                    ///< one head, and at its side one cell
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
    PatchOverlayView* written_;
    bool isRestored_ = false;      ///< the view is that of a session, for the next model too
    TokenStrip *queries_, *strip_; ///< words that look, where they are others; words that are looked at
    QLabel *wordsTitle_, *wordsMeaning_;
    QWidget* words_; ///< the strip with its title and the meaning of its colours
};

} // namespace attn
