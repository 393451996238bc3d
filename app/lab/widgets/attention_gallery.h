#pragma once

#include "app/figures/figure_theme.h"
#include "app/figures/matrix_figure.h"
#include "engine/session/playground_session.h"

#include <QScrollArea>

#include <optional>
#include <vector>

namespace attn {

/// Shows the attentions of known models as cards: the title, the source, a sentence, and the pattern that the
/// playground computes for it.
class AttentionGallery : public QScrollArea {
    Q_OBJECT

public:
    explicit AttentionGallery(QWidget* parent = nullptr);

    /// @return the query of the first card that has no pattern yet; none: every card has one
    std::optional<PlaygroundQuery> query() const;
    /// Draws the pattern on the card that asked for it. @return whether a card asked for it
    bool showPattern(const PlaygroundSnapshot& snapshot);
    /// The pattern on a card; empty: none yet. @param title of the model
    const MatrixFigure& pattern(const QString& title) const;
    void setTheme(const FigureTheme& theme);

signals:
    /// The user chose a card. @param title of the model
    void chosen(const attn::AttentionSpec& spec, const QString& title);

private:
    class Card;
    void fitCards(const QFontMetrics& font); ///< gives all cards one size

    std::vector<Card*> cards_;
    FigureTheme theme_ = FigureTheme::light();
};

} // namespace attn
