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

/// @return the composition with this part in its slot, changed if the part requires it. If that cannot keep the part,
/// the part with otherwise defaults
AttentionSpec specWith(const Part& part, AttentionSpec spec);

/// Shows a reference card for every part of the catalogue: idea, formula, source, cost, caution, and a map that the
/// part makes from a standard random input. Rules for initial weights also have cards, with a sample matrix.
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
    /// A card in the form in which the finder lists it.
    struct Card {
        QString title, kind, idea; ///< translated
        QTreeWidgetItem* item;     ///< in the list of cards
    };
    const std::vector<Card>& cards() const { return cards_; }
    void showCard(const Card& card);

signals:
    void queryChanged();
    /// The user pressed *Try this part* for the chosen part.
    void tried(const attn::Part* part);
    /// The user pressed *Train with this part* for the chosen part.
    void trainingAsked(const attn::AttentionSpec& spec, attn::Slot slot);
    /// The user pressed *Train with this rule*.
    void trainingAskedWith(const attn::Recipe& recipe);

private:
    /// Adds a card to the list, in a group. @param role of the item's data that holds the described object
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
    const Initialisation* rule_ = nullptr; ///< the rule on the card; null if it shows a part
    PlaygroundQuery query_;
};

} // namespace attn
