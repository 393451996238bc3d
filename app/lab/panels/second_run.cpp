#include "app/lab/panels/second_run.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/panels/answers.h"
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
    const bool isOtherModel = with_ == OtherModel, isOtherInput = with_ == OtherInput;
    if (with_ == Nothing || !first || !first->model || (isOtherModel && path_.isEmpty())) return {};
    Asked next{.path = isOtherModel ? path_.toStdString() : first->path()};
    if (!isOtherModel) next.storage = first->model->storage;
    if (!isOtherModel && first->shown) next.weights = first->shown->weights;
    if (first->readsPictures()) {
        next.picture = bench_.pictures().setup().given;
        if (isOtherInput && !next.picture.other) return {};
        if (isOtherInput) { // the changes refer to this model
            next.picture.image = next.picture.other;
            next.changes = first->changes;
            next.run = first->run == ShownRun::Original ? ShownRun::Original : ShownRun::Changed;
        }
        const bool hasSameGrid = !isOtherModel || (second_->model && second_->model->grid == first->model->grid);
        if (!hasSameGrid) next.picture.hidden.clear();
        return next;
    }
    const bool isReady = bench_.tokenCount() > 0 && first->status.activity == Activity::Idle;
    if (!isReady || (isOtherInput && text_.isEmpty())) return {};
    if (isOtherInput) next.text = text_.toStdString();
    // Another model may split the text into other tokens.
    if (isOtherModel && first->model->hasTokenizer) next.text = first->sequence->text;
    if (!isOtherInput && !isOtherModel) next.parents = first->sequence->parents;
    if (next.text.empty())
        for (const TokenInfo& token : first->sequence->tokens) next.tokens.push_back(token.id);
    return next;
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
    asked_->text = next.text;
    asked_->tokens = next.tokens;
    asked_->picture = next.picture;
    bridge_->post(OpenModelCommand{.path = next.path,
                                   .storage = next.storage,
                                   .prompt = next.text,
                                   .promptTokens = next.tokens,
                                   .picture = next.picture});
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
    if (asked_->run != next->run) bridge_->post(ShowRunCommand{next->run});
    if (asked_->text != next->text || asked_->tokens != next->tokens || asked_->parents != next->parents)
        bridge_->post(SetPromptCommand{.text = next->text, .tokens = next->tokens, .parents = next->parents});
    if (asked_->picture != next->picture) bridge_->post(SetPictureCommand{next->picture});
    if (asked_->changes != next->changes) bridge_->post(SetChangesCommand{next->changes});
    asked_ = std::move(next);
}

void SecondRun::want(const PatternRequest& view) {
    if (view_ == view) return;
    view_ = view;
    if (bridge_) bridge_->post(view);
}

void SecondRun::askForRollout() {
    if (!bridge_ || !second_->answer || !bench_.readsPictures() || !bench_.pictures().look().isRollout) return;
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

bool SecondRun::isComparable() const {
    if (with_ == Nothing || !isOpen_ || !bench_.hasModel() || !second_->model) return false;
    const Snapshot& first = *bench_.snapshot();
    if (first.readsPictures() != second_->readsPictures()) return false;
    return first.readsPictures() ? first.answer && second_->answer : first.sequence && second_->sequence;
}

QString SecondRun::problem() const {
    if (with_ == Nothing) return tr("Choose a second run.");
    if (!bench_.hasModel()) return tr("Open a model first.");
    const bool isPicture = bench_.readsPictures();
    if (with_ == OtherInput && isPicture && !bench_.pictures().setup().given.other)
        return tr("Choose the other picture.");
    if (with_ == OtherInput && !isPicture && text_.isEmpty()) return tr("Type the other text and press Compare.");
    if (with_ == OtherModel && path_.isEmpty()) return tr("Choose the other model and press Compare.");
    if (second_->runFailure) return shownText(second_->runFailure->sentence());
    if (with_ == OtherModel && isOpen_ && second_->readsPictures() != isPicture)
        return tr("Both models must read texts, or both must read pictures.");
    return {};
}

} // namespace attn
