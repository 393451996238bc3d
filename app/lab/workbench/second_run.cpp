#include "app/lab/workbench/second_run.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/workbench/answers.h"
#include "app/lab/workbench/picture_bench.h"

#include <utility>

namespace attn {
namespace {

/// The text of a run for another model, which may split it into other tokens, and may not read all that belongs to it.
/// @param other null: not known yet
GivenText textFor(const Snapshot& run, const ModelInfo* other) {
    GivenText text = run.textSoFar();
    const ModelInfo& model = *run.model;
    const bool hasSameTokens =
        other && other->tokenTexts == model.tokenTexts && other->readsSource == model.readsSource;
    if (model.hasTokenizer && !hasSameTokens) {
        if (!model.readsSource && text.second.empty())
            text.text = run.sequence->text; // also what the model has written
        text.tokens.clear();
        text.target.clear();
    }
    if (!other || !other->readsPairs) text.second.clear();
    if (!other || !other->readsTrees) text.parents.clear();
    return text;
}

} // namespace

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
        GivenPicture& picture = next.given.picture = bench_.pictures().setup().given;
        if (isOtherInput && !picture.other) return {};
        if (isOtherInput) { // the changes refer to this model
            picture.image = picture.other;
            next.changes = first->changes;
            next.run = first->run == ShownRun::Original ? ShownRun::Original : ShownRun::Changed;
        }
        const bool hasSameGrid = !isOtherModel || (second_->model && second_->model->grid == first->model->grid);
        if (!hasSameGrid) picture.hidden.clear();
        return next;
    }
    const bool isReady = bench_.tokenCount() > 0 && first->status.activity == Activity::Idle;
    if (!isReady || (isOtherInput && text_.isEmpty())) return {};
    next.given.text = isOtherInput   ? GivenText{.text = text_.toStdString()}
                      : isOtherModel ? textFor(*first, second_->model.get())
                                     : first->textSoFar();
    return next;
}

bool SecondRun::waitsForFirst() const {
    return with_ != Nothing && !bench_.readsPictures() && bench_.hasModel() &&
           bench_.snapshot()->status.activity == Activity::Generating;
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
    asked_->given = next.given;
    bridge_->post(OpenModelCommand{.path = next.path, .storage = next.storage, .given = next.given});
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
    if (asked_->given.text != next->given.text) bridge_->post(SetPromptCommand{next->given.text});
    if (asked_->given.picture != next->given.picture) bridge_->post(SetPictureCommand{next->given.picture});
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
