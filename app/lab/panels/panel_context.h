#pragma once

#include "app/figures/figure.h"
#include "app/lab/preferences.h"
#include "engine/session/commands.h"
#include "engine/session/edits.h"
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

/// Which run of a changed model the views show: the changed one, the model's own, or what differs between them.
enum class ShownRun { After, Before, Difference };

/// What the panels share: the way to the session, undo, the theme, and what is pointed at. Lives longer than any panel.
class PanelContext : public QObject {
    Q_OBJECT

public:
    using Poster = std::function<void(Command)>;

    /// @param training, runs, playground, vision may be null where no panel asks for them
    PanelContext(QUndoStack& undoStack, Poster post, TrainingBridge* training = nullptr, RunListModel* runs = nullptr,
                 PlaygroundBridge* playground = nullptr, VisionBridge* vision = nullptr)
        : undoStack_(undoStack), post_(std::move(post)), training_(training), runs_(runs), playground_(playground),
          vision_(vision) {}

    /// How the program was told to make sessions, for a second one.
    const Session::Options& sessionOptions() const { return sessionOptions_; }
    void setSessionOptions(const Session::Options& options) { sessionOptions_ = options; }

    void post(Command command) const { post_(std::move(command)); }
    /// For undo commands, which post again later.
    const Poster& poster() const { return post_; }
    QUndoStack& undoStack() { return undoStack_; }
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
    /// What to hold views against while they show the difference; null: they show the run as it is.
    const UneditedViews* compared(const Snapshot& snapshot) const {
        return shownRun_ == ShownRun::Difference ? snapshot.uneditedViews.get() : nullptr;
    }
    /// Likewise, of an analysis: what it found without the changes.
    std::shared_ptr<const AnalysisResult> comparedAnalysis(const Snapshot& snapshot, const std::string& key) const {
        const auto found = snapshot.uneditedAnalyses.find(key);
        const bool isShown = shownRun_ == ShownRun::Difference && found != snapshot.uneditedAnalyses.end();
        return isShown ? found->second : nullptr;
    }

    /// Of the pictures of all heads and of the selected one the session makes those that somebody looks at. Attention
    /// asks for its own; other panels that show some say so here.
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
    /// Puts a recipe into the form, to be changed and trained.
    void requestRecipe(const Recipe& recipe) { emit recipeRequested(recipe); }

    /// Changes the model while it runs, after the other changes.
    void requestIntervention(const Intervention& intervention) { emit interventionRequested(intervention); }

    /// Shows a picture to the vision model. @param name for people
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
    Poster post_;
    TrainingBridge* training_;
    RunListModel* runs_;
    PlaygroundBridge* playground_;
    VisionBridge* vision_;
    Session::Options sessionOptions_;
    ThemeId theme_ = ThemeId::Light;
    ShownRun shownRun_ = ShownRun::After;
    std::set<const QObject*> pictureReaders_;
};

/// One dock's content: reads snapshots, posts commands through its context, keeps no other state of the session.
class Panel : public QWidget {
    Q_OBJECT

public:
    using QWidget::QWidget;

    /// Called with each new snapshot; parts that did not change are the same objects as before.
    virtual void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) = 0;

    /// View choices for session files, by the panel's own keys.
    virtual QJsonObject saveView() const { return {}; }
    virtual void restoreView(const QJsonObject& view) { Q_UNUSED(view) }

    /// What export draws: exactly what is on screen.
    virtual QWidget* figure() { return this; }
    /// The numbers behind the figure as comma-separated values, empty where there are none.
    virtual QString csv() const { return {}; }
    /// The same as named arrays, for NumPy.
    virtual std::vector<NumberArray> numbers() const { return {}; }
};

} // namespace attn
