#include "app/lab/workbench/second_run.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/workbench/answers.h"
#include "app/lab/workbench/picture_bench.h"

#include <utility>

namespace attn {
SecondRun::SecondRun(Workbench& bench) : bench_(bench), second_(std::make_shared<Snapshot>()) {
    connect(&bench.pictures(), &PictureBench::lookChanged, this, &SecondRun::askForRollout);
}

SecondRun::~SecondRun() = default;

bool SecondRun::waitIdle(double seconds) { return !bridge_ || bridge_->waitIdle(seconds); }

void SecondRun::choose(With with, const QString& text, const QString& path) {
    with_ = with;
    text_ = text;
    path_ = path;
    if (with == Nothing) bridge_.reset(); // frees the model
    if (with == Nothing || second_->runFailure) asked_.reset();
    if (!bridge_) second_ = std::make_shared<Snapshot>();
    follow();
}

std::optional<SecondRun::Asked> SecondRun::wanted() const {
    const Snapshot* first = bench_.snapshot().get();
    const bool isOtherModel = with_ == OtherModel;
    if (with_ == Nothing || !first || !first->model || (isOtherModel && path_.isEmpty())) return {};
    Asked next{.path = isOtherModel ? path_.toStdString() : first->path()};
    if (!isOtherModel) next.storage = first->model->storage;
    if (!isOtherModel && first->shown) next.weights = first->shown->weights;
    auto input = bench_.input().secondInput(bench_, *this);
    if (!input) return {};
    next.input = *std::move(input);
    return next;
}

bool SecondRun::waitsForFirst() const {
    return with_ != Nothing && bench_.hasModel() && bench_.snapshot()->status.activity == Activity::Generating;
}

void SecondRun::makeSession() {
    bridge_ = std::make_unique<SessionBridge>(bench_.device());
    connect(bridge_.get(), &SessionBridge::snapshotChanged, this, [this](const auto& snapshot) {
        const bool isNewModel = snapshot->model != second_->model;
        second_ = snapshot;
        if (isNewModel) {
            isOpen_ = true;
            follow(); // only now are its patches and classes known
        }
        askForRollout();
        emit changed();
    });
    if (view_) bridge_->post(*view_);
}

void SecondRun::open(const Asked& next) {
    isOpen_ = false;
    asked_ = {.path = next.path, .storage = next.storage, .weights = next.weights};
    if (const auto& shown = bench_.snapshot()->shown; shown && with_ != OtherModel) return bridge_->post(*shown);
    asked_->input.given = next.input.given;
    bridge_->post(OpenModelCommand{.path = next.path, .storage = next.storage, .given = next.input.given});
}

void SecondRun::follow() {
    auto next = wanted();
    if (!next) return;
    if (!bridge_) makeSession();
    if (second_->runFailure && asked_ != next) { // it was of the last question
        Snapshot quiet = *second_;
        quiet.runFailure.reset();
        second_ = std::make_shared<const Snapshot>(std::move(quiet));
    }
    if (!asked_ || asked_->path != next->path || asked_->storage != next->storage || asked_->weights != next->weights)
        open(*next);
    if (!isOpen_) return; // it follows when the model is there
    const SecondInput &before = asked_->input, &now = next->input;
    if (before.run != now.run) bridge_->post(ShowRunCommand{now.run});
    if (before.given.text != now.given.text) bridge_->post(SetPromptCommand{now.given.text});
    if (before.given.picture != now.given.picture) bridge_->post(SetPictureCommand{now.given.picture});
    if (before.changes != now.changes) bridge_->post(SetChangesCommand{now.changes});
    asked_ = std::move(next);
}

void SecondRun::want(const PatternRequest& view) {
    if (view_ == view) return;
    view_ = view;
    if (bridge_) bridge_->post(view);
}

void SecondRun::askForRollout() {
    if (!bridge_ || !second_->answer || !readsTheSame() || !bench_.pictures().look().isRollout) return;
    RolloutAnalysis rollout = bench_.pictures().rollout();
    if (rollout.target) {
        const int label = sameAnswer(*bench_.snapshot()->model, rollout.target->token, *second_->model);
        rollout.target = label < 0 ? std::nullopt : std::optional(LogitTarget{.token = label});
    }
    const bool isKnown = rolledOut_ == second_->sequenceVersion && rollout.options == rollout_.options &&
                         rollout.target == rollout_.target;
    if (isKnown) return;
    rolledOut_ = second_->sequenceVersion;
    rollout_ = rollout;
    bridge_->post(RunAnalysisCommand{std::make_shared<RolloutAnalysis>(rollout)});
}

bool SecondRun::readsTheSame() const {
    return bench_.hasModel() && second_->model && bench_.snapshot()->model->inputAxis() == second_->model->inputAxis();
}

bool SecondRun::isComparable() const {
    if (with_ == Nothing || !isOpen_ || !readsTheSame()) return false;
    const Snapshot& first = *bench_.snapshot();
    return (first.answer && second_->answer) || (first.sequence && second_->sequence);
}

std::vector<std::string> SecondRun::warnings() const {
    const bool isOwn = with_ == OtherModel && second_->model && bench_.snapshot()->path() != second_->path();
    return isOwn ? second_->model->warnings : std::vector<std::string>();
}

QString SecondRun::problem() const {
    if (with_ == Nothing) return tr("Choose a second run.");
    if (!bench_.hasModel()) return tr("Open a model first.");
    const InputKind& kind = bench_.input();
    if (with_ == OtherInput && !kind.hasOther(bench_, *this)) return kind.say(&InputWords::noOtherInput);
    if (with_ == OtherModel && path_.isEmpty()) return tr("Choose the other model and press Compare.");
    const Snapshot& first = *bench_.snapshot();
    if (first.sequence && first.sequence->tokens.empty())
        return tr("There is no text. Type one into the prompt first.");
    if (second_->runFailure) return shownText(second_->runFailure->sentence());
    if (with_ == OtherModel && isOpen_ && !readsTheSame())
        return tr("Both models must read texts, or both must read pictures.");
    return {};
}

} // namespace attn
