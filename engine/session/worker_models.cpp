#include "engine/core/error.h"
#include "engine/models/memory_source.h"
#include "engine/session/worker.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace attn {

void Session::Worker::on(const OpenModelCommand& command) {
    next_.status.activity = Activity::Loading;
    next_.status.progress = 0;
    ++next_.openings;
    publish();
    rememberTyped();
    if (!command.keepsPrompt && command.given.text.tokens.empty()) lastTyped_.reset(); // but a run may train in between
    if (!lastTyped_ && command.keepsPrompt) lastTyped_ = command.typedBefore;
    const std::string typed = command.keepsPrompt ? *lastTyped_ : std::string();
    adopt(load(openModelSource(command.path), command.path, command.storage), command.path);

    const bool keepsPrompt = command.given.text.text.empty() && canSpell(typed);
    const bool namesPrompt = keepsPrompt || !command.given.text.empty();
    const bool isAgain = lostInput_ && lostInput_->model == command.path;
    if (axis() == AxisKind::Patches) {
        const bool isLost = isAgain && lostInput_->picture && !command.given.picture.image;
        on(SetPictureCommand{isLost ? *lostInput_->picture : command.given.picture});
        lostInput_.reset();
        return;
    }
    if (isAgain && !namesPrompt) return moveTo(lostInput_->path, lostInput_->prompt);
    lostInput_.reset();
    GivenText given = command.given.text;
    if (keepsPrompt || !namesPrompt) given.text = keepsPrompt ? typed : model().source().example();
    on(SetPromptCommand{std::move(given)});
    example_ = command.given.text.text.empty() && !keepsPrompt ? prompt_->given.text : std::string();
}

void Session::Worker::rememberTyped() {
    if (!model_ || !(next_.unread || prompt_)) return;
    const GivenText& given = next_.unread ? next_.unread->given : prompt_->given;
    if (!given.second.empty()) return;
    const std::string& prompt = given.text;
    if (!prompt.empty() && prompt != example_ && prompt != model().source().example()) lastTyped_ = prompt;
}

bool Session::Worker::canSpell(const std::string& prompt) const {
    const Tokenizer* tokenizer = model().source().sourceTokenizer();
    if (!tokenizer || prompt.empty()) return false;
    try {
        return tokenizer->decode(tokenizer->readWhole(prompt).ids, true) == prompt;
    } catch (const Error&) { // a character has no token
        return false;
    }
}

bool Session::Worker::replaceWeights(std::unique_ptr<ModelSource>& source) {
    forgetSearch();
    sequence_ = {}; // the tokenizer is replaced too
    try {
        return model_->replaceWeights(source);
    } catch (...) { // it may have half of the other parameters
        model_.reset();
        next_.model.reset();
        throw;
    }
}

void Session::Worker::adopt(std::unique_ptr<RunningModel> model, const std::string& path) {
    forgetSearch();
    model_ = std::move(model);
    remaining_ = 0; // generation belongs to the old model
    isRefining_ = false;
    Snapshot fresh;
    fresh.openings = next_.openings;
    fresh.promptNumber = next_.promptNumber;
    fresh.failureCount = next_.failureCount;
    fresh.sequenceVersion = next_.sequenceVersion;
    fresh.status.device = model_->device().name();
    fresh.status.preparesEngine = !std::exchange(hasOpened_, true) && model_->device().isFirstUse();
    fresh.run = next_.run;
    model_->bypassChanges(fresh.run == ShownRun::Original);
    next_ = std::move(fresh);
    describe(path, {});
    view_.site = std::min(view_.site, model_->info().siteCount() - 1);
    view_.head = std::min(view_.head, model_->info().heads - 1);
    path_ = {};
    originalOf_.reset();
    explained_.reset();
    prompt_.reset();
    sequence_ = {};
    given_ = {};
    if (axis() == AxisKind::Patches) return;
    refreshSequence();
    canWarmUp_ = true;
}

void Session::Worker::describe(const std::string& path, const std::string& name) {
    auto info = std::make_shared<ModelInfo>(model_->info());
    if (!name.empty()) info->name = name;
    next_.model = std::move(info);
    next_.modelPath = path;
}

void Session::Worker::on(const ShowWeightsCommand& command) {
    auto source = command.weights ? makeMemorySource(command.weights) : openModelSource(command.path);
    const std::string name = std::filesystem::path(command.run).filename().string();
    if (model_ && replaceWeights(source)) {
        // The run's folder may have been opened as a model, whose name has a step.
        if (next_.modelPath != command.run || next_.model->name != name) describe(command.run, name);
        next_.shown = command;
        if (next_.weight)
            next_.weight = std::make_shared<WeightView>(weightView(model_->store(), next_.weight->name, weightSize_));
        hasStaleChanges_ = true;
        originalOf_.reset();
        if (axis() == AxisKind::Patches) {
            next_.originalAnswer.reset();
            next_.failedAnalyses.clear();
            next_.analyses.clear(); // also those of the parameters alone
        }
        return runInput();
    }
    rememberTyped();
    adopt(load(std::move(source), command.path, Storage::F32), command.run);
    lostInput_.reset();
    describe(command.run, name);
    next_.shown = command;
    on(SetPromptCommand{command.given.empty() ? GivenText{.text = model().source().example()} : command.given});
    example_ = prompt_->given.text;
}

std::unique_ptr<RunningModel> Session::Worker::load(std::unique_ptr<ModelSource> source, const std::string& path,
                                                    Storage storage) {
    Clock::time_point last = Clock::now();
    const auto progress = [&](float fraction, const std::string& what) {
        if (isStopped()) {
            publishIdle(); // freeing the loaded part takes a while
            throw Cancelled{};
        }
        next_.status.progress = fraction;
        next_.status.detail = what;
        if (Clock::now() - last < kVisualInterval) return;
        last = Clock::now();
        publish();
    };
    try {
        progress(0, {});
        return loadModel(std::move(source), {.device = choice_, .storage = storage}, progress);
    } catch (const Error&
                 error) { // even a lost device is an ordinary failure here, because the open model has its own device
        throw Error(
            {.what = error.message(), .where = error.where().empty() ? path : error.where(), .hint = error.hint()});
    }
}

void Session::Worker::on(const CaptureInputsCommand& command) {
    text();
    catchUp();
    if (command.site < 0 || command.site >= model().info().siteCount())
        throw Error({.what = fmt::format("there is no layer {}", command.site),
                     .where = "input",
                     .hint = fmt::format("choose a layer from 0 to {}", model().info().siteCount() - 1)});
    const std::vector<int> tokens = text().tokens();
    const size_t written = text().written();
    next_.siteInputs = std::make_shared<SiteInputs>(text().siteInputs(command.site, next_.sequenceVersion));
    // Run again to fill the cache for views, which do not change.
    text().truncate(0);
    text().hold(tokens, written);
    publish();
}

} // namespace attn
