#pragma once

#include "app/lab/panels/panel_context.h"
#include "engine/analysis/logit_lens.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QTreeWidget;

namespace attn {

class FrontWatch;
class TokenStrip;

/// Any text as the model reads it: its tokens shaded by how surprising they are, its perplexity, and what the model
/// would have said instead.
class TextPanel : public Panel {
    Q_OBJECT

public:
    explicit TextPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    /// One shaded piece: a token, or the tokens of a word.
    struct Piece {
        QString label;
        size_t first = 0, end = 0;
    };
    enum Shade { Loss, Entropy, Rank, HeadRow };
    void score();
    void scoreIfNew();
    void wantPictures();
    bool adoptBefore(); ///< @return whether it is another
    void cut();
    void shade();
    void choose(int piece);
    void read(); ///< what is said of the shades or the chosen piece
    double valueOf(const Piece& piece, const TokenScores& scores) const; ///< NaN: it has none
    double weightOf(const Piece& piece, const PatternTile* tile) const;  ///< that the chosen token gives it; likewise
    double shareOf(const Piece& piece) const;                            ///< of the darkest shade; likewise
    bool showsChange() const; ///< what the changes of the model change is shaded
    bool isPresent() const;   ///< the text is the present sequence

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const TokenScores> scores_, before_; ///< before_: what they are held against, null: nothing
    QPlainTextEdit* text_;
    QPushButton *score_, *prompt_;
    QComboBox* shade_;
    QCheckBox* words_;
    QLabel *summary_, *reading_;
    TokenStrip* strip_;
    QTreeWidget* alternatives_;
    std::vector<Piece> pieces_;
    FrontWatch* front_ = nullptr;
    uint64_t asked_ = 0; ///< the sequence that was scored by itself
    int chosen_ = -1, layer_ = 0, head_ = 0;
};

} // namespace attn
