#include "engine/session/analysis.h"
#include "engine/session/hook_edits.h"
#include "engine/session/worker.h"

#include <algorithm>
#include <utility>

// What is changed about the model while it runs, and what is worked out about it.

namespace attn {

void Session::Worker::on(const SetEditsCommand& command) {
    const Edits edits = command.edits ? *command.edits : Edits{};
    workOut(edits);
    next_.edits = edits.empty() ? nullptr : command.edits;
    hasStaleEdits_ = false;
    runEdited();
}

void Session::Worker::refreshEdits() {
    if (!std::exchange(hasStaleEdits_, false) || !next_.edits) return;
    workOut(*next_.edits);
}

void Session::Worker::workOut(const Edits& edits) {
    std::vector<int> prompt = path_.tokens(); // which may end within it
    prompt.resize(std::min(prompt.size(), static_cast<size_t>(path_.promptLength())));
    model().setEdits(edits, prompt);
}

void Session::Worker::runEdited() {
    model().truncate(0);
    if (path_.tokens().empty())
        publish();
    else
        runPath();
}

void Session::Worker::refreshUnedited(std::span<const int> tokens) {
    next_.isEdited = model().isEdited();
    if (!next_.isEdited) {
        next_.unedited.reset();
        uneditedTokens_.clear();
        return;
    }
    if (next_.unedited && std::ranges::equal(tokens, uneditedTokens_)) return;
    uneditedTokens_.clear();
    model().truncate(0);
    model().bypassEdits(true);
    bool isDone = false;
    try {
        isDone = model().feed(tokens, [&] { return isStopped(); });
    } catch (...) {
        model().bypassEdits(false);
        model().truncate(0);
        throw;
    }
    next_.unedited = std::make_shared<NextToken>(
        NextToken{{model().logits().begin(), model().logits().end()}, {tokens.begin(), tokens.end()}});
    model().bypassEdits(false);
    model().truncate(0);
    if (!isDone) throw Cancelled{};
    uneditedTokens_.assign(tokens.begin(), tokens.end());
}

void Session::Worker::compareUnedited() {
    if (!next_.isEdited || next_.unedited || isStopped() || !isCurrent() || model().tokens().empty()) return;
    const std::vector<int> tokens = model().tokens();
    refreshUnedited(tokens);
    if (model().tokens().empty()) model().feed(tokens); // the pictures stay: it is the same run
}

void Session::Worker::on(const RunAnalysisCommand& command) {
    catchUp();
    next_.status.activity = Activity::Analysing;
    next_.status.progress = 0;
    publish();
    const std::vector<int> tokens = model().tokens();
    const std::vector<float> gates = model().gates();
    const HookEdits edits = model().hookEdits();
    const auto restore = [&] {
        for (int layer = 0, at = 0; layer < model().info().layers; ++layer)
            for (int head = 0; head < model().info().heads; ++head)
                model().setGate(layer, head, gates[static_cast<size_t>(at++)]);
        model().setHookEdits(edits);
        model().bypassEdits(false);
        model().truncate(0);
        model().feed(tokens);
    };
    const auto report = [&](float fraction, const std::string& what) {
        if (isStopped()) throw Cancelled{};
        if (Clock::now() - lastVisual_ < kVisualInterval) return;
        lastVisual_ = Clock::now();
        next_.status.progress = fraction;
        next_.status.detail = what;
        publish();
    };
    try {
        auto result = command.analysis->run(model(), {.tokens = tokens, .report = report});
        result->sequenceVersion = next_.sequenceVersion;
        next_.analyses[command.analysis->key()] = std::move(result);
    } catch (...) {
        restore();
        throw;
    }
    restore();
    publishIdle();
    isRefining_ = true;
}

} // namespace attn
