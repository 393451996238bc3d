#pragma once

#include "app/lab/workbench/workbench.h"
#include "engine/inference/changes.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

class QFormLayout;

namespace attn {

/// Place of a change, in the order of the form's list.
enum class ChangePlace : uint8_t { HeadOutput, AttentionOut, MlpOut, WholeLayer, Stream, Embedding };

/// Sets the hook of a change to the one at a place. A whole layer gives two changes if the layer has an MLP.
/// @param layer ignored for ChangePlace::Embedding
/// @param hooks names of all hooks of the model
std::vector<ValueChange> changeAtPlace(ChangePlace place, const Site& site, ValueChange change,
                                       std::span<const std::string> hooks);

/// Whether two changes, of as many hooks, differ at the most in their values.
bool isSamePlace(std::span<const ValueChange> a, std::span<const ValueChange> b);

inline constexpr int kAmountSteps = 100; ///< steps of the amount slider

/// Amount at a slider step: a share from 0 to 1, or the factor of a direction, from -4 to 4.
float amountAt(int step, ValueChange::Kind kind);
int firstAmountStep(ValueChange::Kind kind); ///< initial slider step: all of the value, or twice the direction
QString amountText(float amount);

/// The rows of the form of changes that choose the run whose values replace or steer: a run on another input.
class ChangeSource : public QObject {
    Q_OBJECT

public:
    ChangeSource(QFormLayout& form, Workbench& bench, QWidget* parent);
    ~ChangeSource() override;

    /// Shows the rows that a kind of change needs for the open model.
    void show(ValueChange::Kind kind);
    /// Sets the source of a change, whose kind is set.
    void describe(ValueChange& change) const;
    /// Why a change of this kind cannot be added yet; empty: it can.
    QString problem(ValueChange::Kind kind) const;
    /// The text whose run gives the value; empty: the prompt, or no text.
    QString text() const;

    class Rows; ///< those for one kind of input

signals:
    void changed();
    void entered(); ///< Return was pressed

private:
    const Rows& rows() const; ///< of the open model's input

    Workbench& bench_;
    std::map<AxisKind, std::unique_ptr<Rows>> rows_;
};

} // namespace attn
