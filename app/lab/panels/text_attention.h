#pragma once

#include "app/figures/word_rows.h"
#include "app/lab/panels/attention_page.h"
#include "engine/models/written_picture.h"

#include <type_traits>
#include <utility>

class QButtonGroup;
class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QStackedWidget;

namespace attn {

class ArcsView;
class CellView;
class EmptyState;
class HeatmapView;
class PatchOverlayView;
class SlidingColumn;
class ThumbnailGridView;
class TokenStrip;

/// Attention between the tokens of a text: all heads as thumbnails; one head as a heatmap, as shaded text, as arcs
/// between words or over the picture that the model writes; and beside it one cell as arithmetic.
class TextAttention : public AttentionPage {
    Q_OBJECT

public:
    explicit TextAttention(Workbench& bench);

    Tools tools() override;
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    void showSettings() override;
    QJsonObject saveView() const override { return attentionToJson(look_, bench_); }
    void restoreView(const QJsonObject& view) override;
    AttentionLevel level() const override { return look_.level; }
    void setLevel(AttentionLevel level) override;
    AttentionLevel wantedLevel() const override { return awaited_ ? awaited_->first : level(); }
    AttentionLevel exportedLevel() const override;
    void forgetRestored() override { awaited_.reset(); }
    HeadAggregate aggregate() const override { return look_.aggregate; }
    void setAggregate(HeadAggregate aggregate) override;
    void choose(const HeadChoice& choice) override;
    void point(const std::optional<HeadChoice>& choice) override;
    ColourMapId colours() const override { return look_.colours; }
    void setColours(ColourMapId colours) override;
    QWidget* view() override;
    QWidget* figure() override;
    const Figure* shownFigure() const override;
    bool isDifference() const override;

    const AttentionLook& look() const { return look_; }

protected:
    void showEvent(QShowEvent*) override { want(); }
    void hideEvent(QHideEvent*) override { want(); }
    void resizeEvent(QResizeEvent*) override;

private:
    void makeSwitch();
    void makeSettings(); ///< what is changed less often
    QWidget* makeWords();
    void connectViews();
    void connectWritten();
    /// Changes the look as one step of undo.
    void change(AttentionLook next, const QString& text);
    template <class T> void set(T AttentionLook::*part, const std::type_identity_t<T>& value, const QString& text) {
        AttentionLook next = look_;
        next.*part = value;
        change(std::move(next), text);
    }
    void apply(const AttentionLook& next);
    void want();               ///< the views that it shows
    HeadChoice choice() const; ///< the selected head, or the aggregate that is shown in its place
    void setPicture(AttentionPicture picture);
    QWidget* pictureOfHead() const;   ///< the heatmap, the text, the arcs or the written picture
    AttentionPicture shownAs() const; ///< the look's picture; the heatmap if the model writes no pictures
    void showArcs();
    const WrittenPicture* writtenPicture() const; ///< null: the model writes none
    void showWritten(int query);                  ///< over the written picture
    void chooseWritten();                         ///< the written picture as the first view of a model that writes some
    void showTools();
    void showPictures();
    void showChange();
    bool showsChange() const; ///< of the attention, in the views
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
    int readoutRow() const;
    Cell strongestCell() const;

    std::shared_ptr<const Snapshot> snapshot_;
    AttentionLook look_;
    /// Of a restored view, until its text is there or the user chooses something else.
    std::optional<std::pair<AttentionLevel, Selection>> awaited_;
    std::optional<JoinedWords> joined_; ///< whose rows and columns the views of one head have; none: tokens
    int hoveredToken_ = -1;             ///< token under the pointer in any panel; -1: none
    std::optional<Cell> hoveredCell_;
    QRectF window_; ///< visible tokens of the heatmap

    QLabel* change_; ///< explains the colours of a difference
    QComboBox* scale_;
    QWidget* scaleRow_; ///< with its label
    QCheckBox *hidesFirst_, *wholeWords_;
    QPushButton* reset_;
    QStackedWidget *stack_, *views_;
    EmptyState *empty_, *patternless_; ///< instead of patterns: there is no text; the layers form none
    QWidget* hero_;                    ///< one head, and at its side one cell
    QScrollArea *gridScroll_, *arcsScroll_;
    SlidingColumn* cellColumn_;
    QButtonGroup* switch_;
    QCheckBox* arcsOfLayer_;
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
