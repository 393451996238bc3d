#pragma once

#include "app/figures/lens_answer.h"
#include "engine/session/snapshot.h"

#include <QJsonObject>
#include <QString>

#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

class QWidget;

namespace attn {

class SecondRun;
class Workbench;

/// What the window says about a kind of input. Untranslated; InputKind::say() translates.
struct InputWords {
    const char* noun;          ///< "text"
    const char* noInput;       ///< asks for one
    const char* paint;         ///< above a pattern that can be painted
    const char* headTiles;     ///< what the tile of a head shows
    const char* headTilesHelp; ///< explains more; may be empty
    const char* kindsMeasured; ///< on what heads were measured to name their kinds
    const char* noOtherInput;  ///< asks for another one, for a second run
    const char* otherAnswer;   ///< title of the answers of a model without a readout; see answerTitle()
    const char* shares;        ///< what probabilities that sum to 1 hide; may be empty
};

/// What a second run reads, and with which changes.
struct SecondInput {
    Given given{};
    std::shared_ptr<const Changes> changes{};
    ShownRun run = ShownRun::Changed;
    bool operator==(const SecondInput&) const = default;
};

/// One kind of input: the rows that it has, how they are named and selected, what a run on it shows, and the words for
/// it. Views ask the kind of the open model's input, so that no view decides by itself what a model reads. To add a
/// kind, add a file with its class and a case in inputKind().
class InputKind {
public:
    InputKind(AxisKind axis, const char* key, const InputWords& words) : axis_(axis), key_(key), words_(words) {}
    virtual ~InputKind() = default;
    InputKind(const InputKind&) = delete;
    InputKind& operator=(const InputKind&) = delete;

    AxisKind axis() const { return axis_; }
    /// Adds the view of its page to that of the panel, as session files keep it. @pre texts come first
    void keepView(QJsonObject& view, const QJsonObject& page) const;
    QJsonObject viewIn(const QJsonObject& view) const; ///< what keepView() added
    QString say(const char* InputWords::*words) const;

    /// The number of rows that a person can select. @pre there is a model
    virtual int rowCount(const Snapshot& snapshot) const = 0;
    /// The names of all rows of the axis, as lists show them: "4 “cat”", "patch 1, 3".
    virtual std::vector<QString> rowNames(const Snapshot& snapshot) const = 0;
    /// The number of rows at a site where no layer has joined any. @pre there is a model
    virtual int rowsAtSite(const Snapshot& snapshot, int site) const = 0;
    /// How a sentence calls a row. @param name by which its axis calls it; not empty
    virtual QString titleOf(int row, const QString& name) const = 0;

    /// The site that is selected when a model has been opened; none: the former one stays.
    /// @param isSameFolder it is another step of the same training run
    virtual std::optional<int> firstSite(const ModelInfo& model, bool isSameFolder) const = 0;
    /// Selects a head, and shows it by itself.
    virtual void showHead(Workbench& bench, int site, int head) const = 0;

    /// The rows of a run, for a result of a lens. It refers to the snapshot. @pre canAnalyse()
    virtual LensSubject subject(const Snapshot& snapshot, bool isOriginal) const = 0;
    /// Whether a result of an earlier input can be shown until there is a new one.
    virtual bool keepsResults() const = 0;
    /// Whether heads are named by where they look in the input, not in tokens of the program's own.
    virtual bool namesHeadsByInput() const = 0;
    /// The text that names the other input of a lens. @param typed as the other text
    virtual QString otherText(const Workbench& bench, const QString& typed) const = 0;

    /// What a second run reads; none: something is missing, or the first is at work.
    virtual std::optional<SecondInput> secondInput(const Workbench& bench, const SecondRun& second) const = 0;
    /// Whether the other input of a second run is there.
    virtual bool hasOther(const Workbench& bench, const SecondRun& second) const = 0;

    /// The id of the task by which such a model can be trained further.
    virtual const char* task(const ModelInfo& model) const = 0;

private:
    AxisKind axis_;
    const char* key_; ///< under which the view of its page is kept; empty: it is that of the panel
    const InputWords& words_;
};

const InputKind& inputKind(AxisKind axis);
/// The kind of what a model reads; without a model it is a text, which can be typed at once.
const InputKind& inputKind(const Snapshot& snapshot);

/// Shows the widgets of one kind of input, unless none is wanted, and hides the others.
void showPages(std::initializer_list<std::pair<AxisKind, QWidget*>> pages, AxisKind axis, bool isWanted = true);

/// Whether there is something to analyse: a text with tokens, or a picture that the model has read.
bool canAnalyse(const Snapshot& snapshot);

/// How a sentence names the token whose row the readout reads: "the last token" or “[CLS]”. @param snapshot may be null
QString readoutToken(const Snapshot* snapshot);

} // namespace attn
