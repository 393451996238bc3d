#pragma once

#include "app/figures/figure_theme.h"
#include "engine/attention/part.h"
#include "engine/session/playground_session.h"
#include "engine/training/recipe.h"

#include <QWidget>

#include <vector>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

class FormulaView;
struct Initialisation;
class MatrixView;

/// @return the composition with this part in its slot, and changed where the part requires it; if that cannot keep the
/// part, the part and otherwise defaults
AttentionSpec specWith(const Part& part, AttentionSpec spec);

/// Shows a reference card for every part of the catalogue: idea, formula, source, cost, caution, and a map that the
/// part makes from a standard random input. The rules for initial weights have cards too, with a matrix that they draw.
class PartCards : public QWidget {
    Q_OBJECT

public:
    explicit PartCards(QWidget* parent = nullptr);

    /// @return the query whose answer holds the map of the chosen card
    const PlaygroundQuery& query() const { return query_; }
    /// @param snapshot an answer to query()
    void showPicture(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    void setTheme(const FigureTheme& theme);
    const Part* part() const { return part_; } ///< null: the card of a rule for initial weights
    /// A card as the finder lists it.
    struct Card {
        QString title, kind, idea; ///< translated
        QTreeWidgetItem* item;     ///< in the list of cards
    };
    const std::vector<Card>& cards() const { return cards_; }
    void showCard(const Card& card);

signals:
    void queryChanged();
    /// *Try this part* was pressed for the chosen part.
    void tried(const attn::Part* part);
    /// *Train with this part* was pressed for the chosen part.
    void trainingAsked(const attn::AttentionSpec& spec, attn::Slot slot);
    /// *Train with this rule* was pressed.
    void trainingAskedWith(const attn::Recipe& recipe);

private:
    /// Adds a card to the list, under the heading of a group. @param role of the item that holds what it describes
    template <class Described>
    void addCard(QTreeWidgetItem* group, const Described& described, int role, const QString& kind);
    void choose(const Part* part);
    void choose(const Initialisation& rule);
    void setButtons();

    QTreeWidget* list_;
    std::vector<Card> cards_; ///< in the order of the list
    QLabel *title_, *details_;
    FormulaView* formula_;
    MatrixView* picture_;
    QPushButton *try_, *train_;
    const Part* part_ = nullptr;
    const Initialisation* rule_ = nullptr; ///< of the card, if it is not that of a part
    PlaygroundQuery query_;
};

} // namespace attn
