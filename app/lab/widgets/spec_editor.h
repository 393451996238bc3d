#pragma once

#include "engine/attention/attention_spec.h"

#include <QWidget>

#include <map>
#include <span>

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;
class QVBoxLayout;

namespace attn {

class ListControl;
class MaskTermControls;
class ParamControls;
class SpecLine;

/// Composes an attention: the part and the numbers of each slot, the mask as an expression, the model around it, and
/// the whole composition as a line of text. Heads, position and mask come first; the other slots can be folded.
/// Mistakes are explained in place. If parts do not combine, a button switches to the nearest valid composition.
class SpecEditor : public QWidget {
    Q_OBJECT

public:
    explicit SpecEditor(QWidget* parent = nullptr);

    /// Shows a composition without emitting edited().
    void setSpec(const AttentionSpec& spec, const AttentionUse& use, int64_t tokens);
    const AttentionSpec& spec() const { return spec_; }
    /// Shows the failure of the composition's run; empty: there was none.
    void setFailure(const QString& sentence);

signals:
    /// @param what the edited slot, for example "position"; quick changes of the same slot are one undo step
    void edited(const attn::AttentionSpec& spec, const QString& what);

private:
    struct SlotRow {
        QComboBox* choice = nullptr;
        QVBoxLayout* column = nullptr; ///< holds the choice, its caution and its controls
        QLabel* caution = nullptr;
        ParamControls* controls = nullptr;
        ListControl* list = nullptr;
        bool isShown = false;
        std::string shown; ///< the part that the controls belong to; empty: none
    };

    void makeText(QVBoxLayout* column);
    void makeSlot(QVBoxLayout* column, Slot slot);
    /// Makes a group of slots, which is folded until the user opens it; the settings remember that.
    /// @return the button that folds and unfolds it
    QToolButton* makeFold(QVBoxLayout* column, const QString& name, const QString& title, const QString& help,
                          std::span<const Slot> slots_);
    void makeMask(QVBoxLayout* column);
    void showSlot(Slot slot, const Part* part);
    void showProblems();
    void readText();
    void settleText(); ///< rewrites the text in standard form after typing
    void readMask(const QString& text);
    void makeMaskPick();
    void pickMask(int index);
    void change(const AttentionSpec& spec, const QString& what);

    AttentionSpec spec_;
    AttentionUse use_;
    QString failure_;
    std::map<Slot, SlotRow> rows_;
    SpecLine* text_ = nullptr;
    QToolButton *moreToggle_ = nullptr, *blockToggle_ = nullptr; ///< of the folded slots
    QLineEdit* maskText_ = nullptr;
    QLabel* maskError_ = nullptr;
    QComboBox *maskJoin_ = nullptr, *maskPick_ = nullptr;
    MaskTermControls* maskTerms_ = nullptr;
};

} // namespace attn
