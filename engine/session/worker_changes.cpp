#include "engine/analysis/analysis.h"
#include "engine/inference/cell_explainer.h"
#include "engine/inference/hook_changes.h"
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
    if (hasStaleChanges_ && next_.changes) workOut(*next_.changes);
    hasStaleChanges_ = false;
}

void Session::Worker::workOut(const Changes& changes) {
    const bool readsValues = !changes.valueChanges.empty();
    model().setChanges(changes, unchangedInput(readsValues), readsValues ? otherPicture() : std::nullopt);
}

void Session::Worker::runAgain() {
    model().dropInput();
    runInput();
}

void Session::Worker::refreshOriginal(std::span<const int> tokens) {
    next_.isChanged = text().isChanged() && next_.run != ShownRun::Original;
    if (!next_.isChanged) {
        next_.original.reset();
        next_.originalClasses.reset();
        next_.originalViews.reset();
        originalOf_.reset();
        return;
    }
    Ran asked{{tokens.begin(), tokens.end()}, text().sides(), path_.promptLength()};
    const bool isKnown = next_.original && originalOf_ == asked,
               areViewsKnown = next_.run != ShownRun::Difference || (next_.originalViews && originalShown_ == shown());
    if (isKnown && areViewsKnown) return;
    next_.originalViews.reset();
    if (!isKnown) {
        next_.original.reset();
        next_.originalClasses.reset();
        originalOf_.reset();
    }
    struct Clear { // the cache then holds nothing of a run without changes
        LanguageModel& model;
        ~Clear() { model.truncate(0); }
    } clear{text()};
    const Bypassed bypassed(text());
    text().truncate(0);
    if (!text().feed(tokens, [&] { return isStopped(); })) throw Cancelled{};
    next_.original =
        std::make_shared<NextToken>(NextToken{.logits = {text().logits().begin(), text().logits().end()},
                                              .recentTokens = asked.tokens,
                                              .row = static_cast<int>(text().predictedRow(text().input()))});
    const auto classes = text().classes();
    next_.originalClasses = classes ? std::make_shared<TextClasses>(*classes) : nullptr;
    originalOf_ = std::move(asked);
    if (next_.run != ShownRun::Difference) return;
    next_.originalViews = std::make_shared<OriginalViews>(originalViews());
    originalShown_ = shown();
}

OriginalViews Session::Worker::originalViews() {
    PatternGrid grid;
    PatternTile detail;
    HeadProfile profile;
    if (view_.thumbnailSize > 0) grid = text().patterns().beginGrid(view_.thumbnailSize, view_.hidesFirst);
    if (view_.detail) detail = text().patterns().beginTile(view_);
    if (profiled_.site >= 0) profile = text().patterns().beginProfile(profiled_.site, profiled_.head);
    while (text().patterns().refine(kRefiningMs))
        if (isStopped()) throw Cancelled{};
    OriginalViews views{.readoutRows = std::make_shared<ReadoutRows>(text().patterns().readoutRows())};
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

bool Session::Worker::compareOriginal() {
    if (!hasTokens() || !next_.isChanged || remaining_ > 0 || isStopped() || !isCurrent()) return false;
    const std::vector<int> tokens = text().tokens();
    const size_t written = text().written();
    refreshOriginal(tokens);
    if (!text().tokens().empty()) return false;
    text().hold(tokens, written); // the same run again, so its views stay valid
    return true;
}

void Session::Worker::on(const ShowRunCommand& command) {
    const bool isOriginal = command.run == ShownRun::Original,
               isOther = model_ && model_->isChanged() && isOriginal != (next_.run == ShownRun::Original);
    if (isOther && remaining_ > 0) finishGenerating();
    next_.run = command.run;
    if (command.run != ShownRun::Difference) {
        next_.originalViews.reset();
        next_.originalAnalyses.clear();
    }
    if (model_) model_->bypassChanges(isOriginal);
    if (isOther) {
        forgetSearch();
        return runAgain();
    }
    if (command.run == ShownRun::Difference && compareOriginal()) refreshViews();
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
               isTwofold = next_.run == ShownRun::Difference && model().isChanged();
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
    next_.originalAnalyses.erase(key);
    if (isTwofold) {
        begin = 0.5f;
        const auto settled = command.analysis->settled(*result);
        next_.originalAnalyses[key] = analysed(settled ? *settled : *command.analysis, true, report);
    }
    next_.analyses[key] = result;
    analysing_.clear();
    publishIdle();
    isRefining_ = hasTokens();
}

std::shared_ptr<AnalysisResult>
Session::Worker::analysed(const Analysis& analysis, bool original,
                          const std::function<void(float, const std::string&)>& report) {
    const Input given = input();
    const std::vector<float> gates = model().gates();
    const HookChanges hookChanges = model().hookChanges();
    const size_t written = given.isText() ? text().written() : 0;
    const auto feed = [&] { // the cache of a model of text, which views and some analyses read
        if (!given.isText()) return;
        text().setSides(given.text());
        text().truncate(0);
        text().hold(given.tokens(), written);
    };
    const auto restore = [&] {
        for (int site = 0, at = 0; site < model().info().siteCount(); ++site)
            for (int head = 0; head < model().info().heads; ++head)
                model().setGate(site, head, gates[static_cast<size_t>(at++)]);
        model().setHookChanges(hookChanges);
        model().bypassChanges(next_.run == ShownRun::Original);
        feed();
    };
    try {
        if (original) { // an analysis may set gates itself, so they cannot be bypassed
            model().bypassChanges(false);
            model().setGate(-1, -1, 1);
            model().setHookChanges({});
            feed();
        }
        const auto& known = original ? next_.originalAnswer : next_.answer;
        auto result = runAnalysis(analysis, model(),
                                  {.input = given,
                                   .other = otherPicture(),
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
