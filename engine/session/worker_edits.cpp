#include "engine/analysis/analysis.h"
#include "engine/inference/cell_explainer.h"
#include "engine/inference/hook_edits.h"
#include "engine/session/worker.h"

#include <algorithm>
#include <utility>

// Changes to the model, and analyses.

namespace attn {

void Session::Worker::on(const SetChangesCommand& command) {
    const Changes changes = command.changes ? *command.changes : Changes{};
    workOut(changes);
    next_.changes = changes.empty() ? nullptr : command.changes;
    hasStaleChanges_ = false;
    forgetSearch();
    runAgain();
}

void Session::Worker::refreshChanges() {
    if (!std::exchange(hasStaleChanges_, false) || !next_.changes) return;
    workOut(*next_.changes);
}

void Session::Worker::workOut(const Changes& changes) {
    if (model().info().readsPictures()) {
        const bool readsPictures = !changes.interventions.empty() && given_.image;
        return model().setChanges(changes, readsPictures ? vision().patchesOf(*given_.image) : std::vector<float>(),
                                  readsPictures ? otherPicture() : std::nullopt);
    }
    std::vector<int> prompt = promptTokens();
    TextInput input = prompt_ ? sidesOf(*prompt_) : TextInput{};
    input.types.resize(std::min(input.types.size(), prompt.size()));
    input.tokens = std::move(prompt);
    text().setChanges(changes, std::move(input));
}

void Session::Worker::runAgain() {
    if (model().info().readsPictures()) return runPicture();
    text().truncate(0);
    if (path_.tokens().empty())
        publish();
    else
        runPath();
}

void Session::Worker::refreshUnedited(std::span<const int> tokens) {
    next_.isEdited = text().isEdited() && next_.run != ShownRun::Original;
    if (!next_.isEdited) {
        next_.unedited.reset();
        next_.uneditedClasses.reset();
        next_.uneditedViews.reset();
        uneditedTokens_.clear();
        return;
    }
    const bool isKnown = next_.unedited && std::ranges::equal(tokens, uneditedTokens_),
               areViewsKnown = next_.run != ShownRun::Difference || (next_.uneditedViews && uneditedShown_ == shown());
    if (isKnown && areViewsKnown) return;
    uneditedTokens_.clear();
    next_.uneditedViews.reset();
    text().truncate(0);
    text().bypassEdits(true);
    bool isDone = false;
    try {
        isDone = text().feed(tokens, [&] { return isStopped(); });
        next_.unedited =
            std::make_shared<NextToken>(NextToken{.logits = {text().logits().begin(), text().logits().end()},
                                                  .recentTokens = {tokens.begin(), tokens.end()},
                                                  .row = static_cast<int>(text().predictedRow(text().input()))});
        const auto classes = text().classes();
        next_.uneditedClasses = classes ? std::make_shared<TextClasses>(*classes) : nullptr;
        if (isDone && next_.run == ShownRun::Difference) {
            next_.uneditedViews = std::make_shared<UneditedViews>(uneditedViews());
            uneditedShown_ = shown();
        }
    } catch (...) {
        text().bypassEdits(false);
        text().truncate(0);
        throw;
    }
    text().bypassEdits(false);
    text().truncate(0);
    if (!isDone) throw Cancelled{};
    uneditedTokens_.assign(tokens.begin(), tokens.end());
}

UneditedViews Session::Worker::uneditedViews() {
    PatternGrid grid;
    PatternTile detail;
    HeadProfile profile;
    if (view_.thumbnailSize > 0) grid = text().patterns().beginGrid(view_.thumbnailSize, view_.hidesFirst);
    if (view_.detail) detail = text().patterns().beginTile(view_);
    if (profiled_.site >= 0) profile = text().patterns().beginProfile(profiled_.site, profiled_.head);
    while (text().patterns().refine(kRefiningMs))
        if (isStopped()) throw Cancelled{};
    UneditedViews views{.newest = std::make_shared<NewestRows>(text().patterns().newestRows())};
    if (view_.thumbnailSize > 0)
        views.grid = std::make_shared<PatternGrid>(text().patterns().refinedGrid().value_or(std::move(grid)));
    if (view_.detail)
        views.detail = std::make_shared<PatternTile>(text().patterns().refinedTile().value_or(std::move(detail)));
    if (profiled_.site >= 0)
        views.profile = std::make_shared<HeadProfile>(text().patterns().refinedProfile().value_or(std::move(profile)));
    const auto count = static_cast<int>(text().tokens().size());
    if (explained_ && std::max(explained_->query, explained_->key) < count)
        views.explanation = std::make_shared<CellExplanation>(explainCell(text(), *explained_));
    return views;
}

bool Session::Worker::compareUnedited() {
    if (!hasTokens() || !next_.isEdited || remaining_ > 0 || isStopped() || !isCurrent()) return false;
    const std::vector<int> tokens = text().tokens();
    const size_t written = text().written();
    refreshUnedited(tokens);
    if (!text().tokens().empty()) return false;
    text().hold(tokens, written); // the same run again, so its views stay valid
    return true;
}

void Session::Worker::on(const ShowRunCommand& command) {
    const bool isOriginal = command.run == ShownRun::Original,
               isOther = model_ && model_->isEdited() && isOriginal != (next_.run == ShownRun::Original);
    if (isOther && remaining_ > 0) finishGenerating();
    next_.run = command.run;
    if (command.run != ShownRun::Difference) {
        next_.uneditedViews.reset();
        next_.uneditedAnalyses.clear();
    }
    if (model_) model_->bypassEdits(isOriginal);
    if (isOther) {
        forgetSearch();
        return runAgain();
    }
    if (command.run == ShownRun::Difference && compareUnedited()) refreshViews();
    publish();
}

void Session::Worker::on(const RunAnalysisCommand& command) {
    analysing_ = command.analysis->key();
    next_.failedAnalyses.erase(analysing_);
    catchUp();
    next_.status.activity = Activity::Analysing;
    next_.status.progress = 0;
    publish();
    const std::string& key = analysing_;
    const bool isOriginal = next_.run == ShownRun::Original,
               isTwofold = next_.run == ShownRun::Difference && model().isEdited();
    float begin = 0;
    const auto report = [&](float fraction, const std::string& what) {
        if (isStopped() || hasOtherRun_) throw Cancelled{};
        if (Clock::now() - lastVisual_ < kVisualInterval) return;
        lastVisual_ = Clock::now();
        next_.status.progress = isTwofold ? begin + fraction / 2 : fraction;
        next_.status.detail = what;
        publish();
    };
    const auto result = analysed(*command.analysis, isOriginal, report);
    next_.uneditedAnalyses.erase(key);
    if (isTwofold) {
        begin = 0.5f;
        const auto settled = command.analysis->settled(*result);
        next_.uneditedAnalyses[key] = analysed(settled ? *settled : *command.analysis, true, report);
    }
    next_.analyses[key] = result;
    analysing_.clear();
    publishIdle();
    isRefining_ = hasTokens();
}

std::shared_ptr<AnalysisResult>
Session::Worker::analysed(const Analysis& analysis, bool unedited,
                          const std::function<void(float, const std::string&)>& report) {
    const Input given = input();
    const std::vector<float> gates = model().gates();
    const HookEdits edits = model().hookEdits();
    const size_t written = given.isText() ? text().written() : 0;
    const auto feed = [&] { // the cache of a model of text, which views and some analyses read
        if (!given.isText()) return;
        text().setSides(std::get<TextInput>(given));
        text().truncate(0);
        text().hold(given.tokens(), written);
    };
    const auto restore = [&] {
        for (int site = 0, at = 0; site < model().info().siteCount(); ++site)
            for (int head = 0; head < model().info().heads; ++head)
                model().setGate(site, head, gates[static_cast<size_t>(at++)]);
        model().setHookEdits(edits);
        model().bypassEdits(next_.run == ShownRun::Original);
        feed();
    };
    try {
        if (unedited) { // an analysis may set gates itself, so they cannot be bypassed
            model().bypassEdits(false);
            model().setGate(-1, -1, 1);
            model().setHookEdits({});
            feed();
        }
        const auto& known = unedited ? next_.uneditedAnswer : next_.answer;
        auto result = runAnalysis(analysis, model(),
                                  {.input = given,
                                   .other = given.isText() ? std::nullopt : otherPicture(),
                                   .patterns = known ? &known->patterns : nullptr,
                                   .report = report});
        result->inputVersion = next_.sequenceVersion;
        restore();
        return result;
    } catch (...) {
        restore();
        throw;
    }
}

} // namespace attn
