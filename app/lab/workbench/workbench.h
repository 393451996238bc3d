#pragma once

#include "app/figures/heatmap_figure.h"
#include "app/lab/common/preferences.h"
#include "app/lab/workbench/undo_steps.h"
#include "engine/inference/changes.h"
#include "engine/inference/pattern_views.h"
#include "engine/session/commands.h"
#include "engine/session/session.h"
#include "engine/session/snapshot.h"
#include "engine/training/recipe.h"

#include <QUndoGroup>

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace attn {

class PlaygroundBridge;
class RunListModel;
class TrainingBridge;
class InputKind;
class PictureBench;
struct Image;

/// The head that all panels show, and the place in its pattern.
struct Selection {
    int site = 0, head = 0;
    std::optional<int> row{};   ///< token of a text, none: the newest; or patch of a picture, none: all
    std::optional<Cell> cell{}; ///< of the pattern: its arithmetic is shown
    bool operator==(const Selection&) const = default;
};

/// What a panel needs of the run. The session computes only what some panel needs.
struct WantedViews {
    /// Thumbnails, detail and the drawing of the detail. The head is that of the selection.
    PatternRequest pattern{.thumbnailSize = 0, .detail = false};
    bool profile = false; ///< Snapshot::profile of the selected head
    bool cell = false;    ///< the selected cell also while the model writes, and not only when it stops
    bool operator==(const WantedViews&) const = default;
    /// Small thumbnails of all heads, and the pattern of the selected head.
    static WantedViews patterns() { return {.pattern = {}}; }
};

/// The state that several panels share: the open model with its run, the selection, the changes, the run on display and
/// the wanted views. Panels, lessons, session files and tests read it and ask it to change; it tells all of them. It
/// outlives every panel.
class Workbench : public QObject {
    Q_OBJECT

public:
    using Poster = std::function<void(Command)>;

    /// @param training, runs, playground may be null if no panel uses them
    /// @param undo has an active stack at all times
    Workbench(QUndoGroup& undo, Poster post, TrainingBridge* training = nullptr, RunListModel* runs = nullptr,
              PlaygroundBridge* playground = nullptr);
    ~Workbench() override;

    /// The device of the program, for a second session.
    const DeviceChoice& device() const { return device_; }
    void setDevice(const DeviceChoice& choice) { device_ = choice; }

    void post(Command command) const { post_(std::move(command)); }
    /// The posting function, for undo commands that post again later.
    const Poster& poster() const { return post_; }
    /// The one that is in use: lessons have their own.
    QUndoStack& undoStack() { return *undo_.activeStack(); }
    UndoSteps& undoSteps() { return undoSteps_; }
    TrainingBridge& training() { return *training_; }
    RunListModel& runs() { return *runs_; }
    PlaygroundBridge& playground() { return *playground_; }
    PictureBench& pictures() { return *pictures_; }
    const PictureBench& pictures() const { return *pictures_; }

    ThemeId theme() const { return theme_; }
    void setTheme(ThemeId theme);

    /// The newest snapshot of the session; null before the first.
    const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }
    /// Adopts a snapshot. The selection stays within its model and its text.
    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    bool hasModel() const { return snapshot_ && snapshot_->model; }
    /// Whether the text on screen is not the one that was given last: that one, or another model, is still on its way,
    /// or the model could not read it. What a person clicks then belongs to a text that is gone.
    bool isTextGone() const;
    /// SetPromptCommand::number of the last text that was given.
    uint64_t textNumber() const { return textNumber_; }
    /// Learns of a command that anybody has posted.
    void follow(const Command& command);
    /// The kind of what the open model reads; see inputKind().
    const InputKind& input() const;
    /// Whether the open model has rows of a kind; without a model, that of input().
    bool reads(AxisKind axis) const;
    int tokenCount() const;
    /// How figures and tables name a site of the open model, and a head: "L2 H3", "Cross L2 H3".
    QString siteLabel(int site) const;
    /// The names of all sites of two streams; empty where numbers of layers tell sites apart.
    std::vector<QString> siteNames() const;
    QString headLabel(int site, int head) const;
    /// The number of rows of the chosen site's pattern, and of its columns, of a model of text.
    int queryCount() const;
    int keyCount() const;

    const Selection& selection() const { return selection_; }
    /// Selects what exists of a selection: the nearest head, and neither row nor cell outside the text.
    void select(Selection selection);
    void selectHead(int site, int head);
    void selectRow(std::optional<int> row);
    void selectCell(std::optional<Cell> cell);

    /// All changes to the run, as they were last asked for. The session may not run with them yet.
    const Changes& changes() const { return *changes_; }
    /// Replaces all changes, as one step of undo. Steps of one gesture with equal `what` become one.
    /// @param text for the Edit menu  @param what names what changed
    void change(Changes changes, const QString& text, const QString& what);
    /// Appends changes to values, as one step of undo.
    void addChanges(const std::vector<ValueChange>& valueChanges);
    /// Sets the gate of a head, as one step of undo. @param site, head -1: all of them
    void setGate(int site, int head, float gate);
    /// The gate of a head in the run on display; every gate of the original run is open.
    float shownGate(int site, int head) const;
    /// The share of its output that a head keeps in the run on display, by its gate and by changes that remove it.
    float shownShare(int site, int head) const;
    /// To follow the name of a head: " (removed)", " (40 % kept)", or nothing.
    QString conditionOf(int site, int head) const;
    /// Says which heads are removed in the run on display; empty: none.
    QString removedHeads() const;
    /// Sets the gate of a head, and takes off the changes that remove this head alone, as one step of undo.
    void reopenHead(int site, int head, float gate);
    /// Removes all changes and shows the changed run, as one step of undo.
    void restoreOriginal();
    /// Replaces all changes without a step of undo.
    void setChanges(Changes changes);

    ShownRun shownRun() const { return shownRun_; }
    void showRun(ShownRun run);
    /// Views of the original run, to subtract while the difference is shown; null: nothing is subtracted.
    const OriginalViews* compared(const Snapshot& snapshot) const;
    /// The same for the analysis with this key: its result on the original run.
    std::shared_ptr<const AnalysisResult> comparedAnalysis(const Snapshot& snapshot, const std::string& key) const;

    /// Sets what a panel needs from now on, instead of what it needed before.
    void want(const QObject* who, const WantedViews& views);
    bool wantsGrid() const; ///< whether a panel shows the pictures of all heads

    const Sampling& sampling() const { return sampling_; }
    /// With which the open model starts: as its folder says.
    const Sampling& usualSampling() const { return usualSampling_; }
    void setSampling(const Sampling& sampling);

    /// @param index of a token in the sequence, -1: none
    void hoverToken(int index) { emit tokenHovered(index); }
    /// Puts a recipe into the form of the Train panel.
    void requestRecipe(const Recipe& recipe) { emit recipeRequested(recipe); }
    /// Gives a picture to the open vision model. @param name shown on screen
    void requestPicture(const std::shared_ptr<const Image>& picture, const QString& name) {
        emit pictureRequested(picture, name);
    }
    /// Compares the open model with another. @param path of the other
    void requestComparison(const QString& path) { emit comparisonRequested(path); }
    /// Opens a model, a picture or a session.
    void requestOpening(const QString& path) { emit openingRequested(path); }
    /// Brings a panel to the front. @param id as in the catalogue
    void showPanel(const QString& id) { emit panelRequested(id); }

signals:
    /// A new snapshot, for panels; the workbench has adopted it.
    void snapshotChanged(const std::shared_ptr<const attn::Snapshot>& snapshot);
    void snapshotShown(const std::shared_ptr<const attn::Snapshot>& snapshot); ///< every panel has the new snapshot
    void commandFailed(const attn::Failure& failure);
    void themeChanged(attn::ThemeId theme);
    void headSelected(int site, int head);
    void selectionChanged(); ///< the head, the row or the cell; follows headSelected()
    void changesChanged();
    void shownRunChanged(attn::ShownRun run);
    void samplingChanged();
    void tokenHovered(int index);
    void recipeRequested(const attn::Recipe& recipe);
    void pictureRequested(const std::shared_ptr<const attn::Image>& picture, const QString& name);
    void openingRequested(const QString& path);
    void comparisonRequested(const QString& path);
    void panelRequested(const QString& id);

private:
    void startSampling();
    void adoptChanges();
    /// Tells what has changed in the shared state since this was last told. While a snapshot is given out, some panels
    /// do not have it yet: they would read the old one with the new state. They are told once every panel has it.
    void tell();
    void postViews();
    void explainIfStale();

    QUndoGroup& undo_;
    UndoSteps undoSteps_;
    Poster post_;
    TrainingBridge* training_;
    RunListModel* runs_;
    PlaygroundBridge* playground_;
    std::unique_ptr<PictureBench> pictures_;
    DeviceChoice device_;
    ThemeId theme_ = ThemeId::Light;

    std::shared_ptr<const Snapshot> snapshot_;
    uint64_t textNumber_ = 0, openings_ = 0; ///< of the commands that were posted
    bool isGivingOut_ = false;               ///< some panels have snapshot_, others do not
    Selection selection_, toldSelection_;
    std::shared_ptr<const Changes> changes_ = std::make_shared<Changes>();
    bool areChangesPosted_ = false; ///< changes_ was posted, and no snapshot has it yet
    uint64_t failuresBefore_ = 0;   ///< Snapshot::failureCount when changes_ was posted
    std::shared_ptr<const Changes> toldChanges_ = changes_;
    ShownRun shownRun_ = ShownRun::Changed, toldRun_ = ShownRun::Changed;
    Sampling sampling_, usualSampling_;
    std::map<const QObject*, WantedViews> wanted_;
    std::optional<PatternRequest> postedPattern_;
    SetProfileCommand postedProfile_;
    std::optional<CellRequest> asked_;
    uint64_t askedVersion_ = 0; ///< Snapshot::sequenceVersion when asked_ was posted
};

} // namespace attn
