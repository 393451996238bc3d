#pragma once

#include "app/figures/figure.h"
#include "app/lab/common/preferences.h"
#include "app/lab/workbench/undo_steps.h"
#include "engine/inference/changes.h"
#include "engine/session/commands.h"
#include "engine/session/session.h"
#include "engine/session/snapshot.h"
#include "engine/training/recipe.h"

#include <QJsonObject>
#include <QUndoStack>
#include <QWidget>

#include <functional>
#include <memory>
#include <set>

namespace attn {

class PlaygroundBridge;
class RunListModel;
class TrainingBridge;
class VisionBridge;
struct AttentionSpec;
struct Image;

/// Run that the views show: After is the changed run, Before the original run, Difference changed minus original.
enum class ShownRun { After, Before, Difference };

/// What panels share: access to the session, undo, the theme, and the hovered token. It outlives every panel.
class PanelContext : public QObject {
    Q_OBJECT

public:
    using Poster = std::function<void(Command)>;

    /// @param training, runs, playground, vision may be null if no panel uses them
    PanelContext(QUndoStack& undoStack, Poster post, TrainingBridge* training = nullptr, RunListModel* runs = nullptr,
                 PlaygroundBridge* playground = nullptr, VisionBridge* vision = nullptr)
        : undoStack_(undoStack), post_(std::move(post)), training_(training), runs_(runs), playground_(playground),
          vision_(vision) {}

    /// The device of the program, for a second session.
    const DeviceChoice& device() const { return device_; }
    void setDevice(const DeviceChoice& choice) { device_ = choice; }

    void post(Command command) const { post_(std::move(command)); }
    /// The posting function, for undo commands that post again later.
    const Poster& poster() const { return post_; }
    QUndoStack& undoStack() { return undoStack_; }
    UndoSteps& undoSteps() { return undoSteps_; }
    TrainingBridge& training() { return *training_; }
    RunListModel& runs() { return *runs_; }
    PlaygroundBridge& playground() { return *playground_; }
    VisionBridge& vision() { return *vision_; }

    ThemeId theme() const { return theme_; }
    void setTheme(ThemeId theme) {
        theme_ = theme;
        emit themeChanged(theme);
    }

    ShownRun shownRun() const { return shownRun_; }
    void setShownRun(ShownRun run) {
        if (run == shownRun_) return;
        shownRun_ = run;
        emit shownRunChanged(run);
    }
    /// Views of the original run, to subtract while the difference is shown; null: nothing is subtracted.
    const UneditedViews* compared(const Snapshot& snapshot) const {
        return shownRun_ == ShownRun::Difference ? snapshot.uneditedViews.get() : nullptr;
    }
    /// The same for the analysis with this key: its result on the original run.
    std::shared_ptr<const AnalysisResult> comparedAnalysis(const Snapshot& snapshot, const std::string& key) const {
        const auto found = snapshot.uneditedAnalyses.find(key);
        const bool isShown = shownRun_ == ShownRun::Difference && found != snapshot.uneditedAnalyses.end();
        return isShown ? found->second : nullptr;
    }

    /// Registers or unregisters a panel that needs the patterns of all heads and of the selected head; the session
    /// computes only patterns that somebody looks at. AttentionPanel asks for its own without this.
    void wantPictures(const QObject* who, bool isWanted) {
        const bool wereWanted = arePicturesWanted();
        if (isWanted)
            pictureReaders_.insert(who);
        else
            pictureReaders_.erase(who);
        if (arePicturesWanted() != wereWanted) emit pictureWantsChanged();
    }
    bool arePicturesWanted() const { return !pictureReaders_.empty(); }

    void selectHead(int layer, int head) { emit headSelected(layer, head); }
    /// @param index of a token in the sequence, -1: none
    void hoverToken(int index) { emit tokenHovered(index); }
    /// Puts a recipe into the form of the Train panel.
    void requestRecipe(const Recipe& recipe) { emit recipeRequested(recipe); }

    /// Appends a change to those of the model.
    void requestIntervention(const Intervention& intervention) { emit interventionRequested(intervention); }

    /// Gives a picture to the vision model. @param name shown on screen
    void requestPicture(const std::shared_ptr<const Image>& picture, const QString& name) {
        emit pictureRequested(picture, name);
    }

    /// Brings a panel to the front. @param id as in the catalogue
    void showPanel(const QString& id) { emit panelRequested(id); }

signals:
    void themeChanged(attn::ThemeId theme);
    void shownRunChanged(attn::ShownRun run);
    void pictureWantsChanged();
    void headSelected(int layer, int head);
    void tokenHovered(int index);
    void recipeRequested(const attn::Recipe& recipe);
    void interventionRequested(const attn::Intervention& intervention);
    void pictureRequested(const std::shared_ptr<const attn::Image>& picture, const QString& name);
    void panelRequested(const QString& id);

private:
    QUndoStack& undoStack_;
    UndoSteps undoSteps_;
    Poster post_;
    TrainingBridge* training_;
    RunListModel* runs_;
    PlaygroundBridge* playground_;
    VisionBridge* vision_;
    DeviceChoice device_;
    ThemeId theme_ = ThemeId::Light;
    ShownRun shownRun_ = ShownRun::After;
    std::set<const QObject*> pictureReaders_;
};

/// Content of one dock. It reads snapshots and posts commands through its context, and keeps no other session state.
class Panel : public QWidget {
    Q_OBJECT

public:
    using QWidget::QWidget;

    /// Receives each new snapshot. Parts that did not change are the same objects as in the previous snapshot.
    virtual void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) = 0;

    /// View settings for session files, under keys of the panel's choice.
    virtual QJsonObject saveView() const { return {}; }
    virtual void restoreView(const QJsonObject& view) { Q_UNUSED(view) }

    /// The widget that export draws, as it is on screen.
    virtual QWidget* figure() { return this; }
    /// The numbers of the figure. Taking them is quick; forming the text or the arrays may not be.
    virtual ExportNumbers numbers() const { return {}; }
};

} // namespace attn
