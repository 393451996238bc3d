#pragma once

#include "app/lab/workbench/panel.h"
#include "engine/analysis/logit_lens.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QTreeWidget;

namespace attn {

class FrontWatch;
class LimitedEditor;
class TokenStrip;

/// Scores any text: shades its tokens by how surprising they are to the model, and shows the perplexity and the model's
/// own predictions.
class TextPanel : public Panel {
    Q_OBJECT

public:
    explicit TextPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

private:
    /// One shaded piece: a token, or the tokens of a word.
    struct Piece {
        QString label;
        size_t first = 0, end = 0;
    };
    enum Shade { Loss, Entropy, Rank, HeadRow };
    void score();
    void scoreIfNew();
    void wantPattern();
    bool adoptBefore(); ///< updates before_; @return whether it changed
    void cut();
    void shade();
    void choose(int piece);
    QString legend() const;                                              ///< what the shading means
    void read();                                                         ///< describes the shading or the chosen piece
    double valueOf(const Piece& piece, const TokenScores& scores) const; ///< NaN: not predicted
    double weightOf(const Piece& piece, const PatternTile* tile) const;  ///< from the chosen token; NaN: unknown
    double shareOf(const Piece& piece) const; ///< shade from 0 to 1 (darkest), or difference of shades; NaN: none
    bool showsChange() const;                 ///< whether the shading shows changed minus original
    bool isPresent() const;                   ///< whether the text is the current sequence

    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const TokenScores> scores_, before_; ///< before_: of the original run; null: not compared
    LimitedEditor* text_;
    QPushButton *score_, *prompt_;
    QComboBox* shade_;
    QCheckBox* words_;
    QLabel *summary_, *legend_, *reading_;
    TokenStrip* strip_;
    QTreeWidget* alternatives_;
    std::vector<Piece> pieces_;
    FrontWatch* front_ = nullptr;
    uint64_t asked_ = 0; ///< sequence version that was last scored automatically
    int chosen_ = -1;
};

} // namespace attn
