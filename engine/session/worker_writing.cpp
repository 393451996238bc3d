#include "engine/core/error.h"
#include "engine/session/worker.h"

#include <algorithm>
#include <limits>
#include <span>

// How the model writes, and where it ends.

namespace attn {

void Session::Worker::requireContinuable() {
    if (path_.tokens().empty())
        throw Error({.what = "there is nothing to continue", .where = "prompt", .hint = "type a prompt first"});
    const TextReadout readout = text().config().readout();
    if (!predictsTokens(readout))
        throw Error({.what = "this model predicts no tokens; it does not continue a text",
                     .where = text().info().name,
                     .hint = "look at its attention, and at what it says of the prompt"});
    if (readout != TextReadout::NextToken)
        throw Error({.what = "this model fills in hidden words; it does not continue a text",
                     .where = text().info().name,
                     .hint = "write [MASK] into the prompt: the candidates are for the last hidden word"});
}

void Session::Worker::on(const GenerateCommand& command) {
    text();
    catchUp();
    requireContinuable();
    if (command.maxTokens < 1) return;
    remaining_ = asked_ = command.maxTokens;
    next_.ended.clear();
    path_.beginWriting();
    tokensPerSecond_ = command.tokensPerSecond;
    nextToken_ = Clock::now();
    generated_ = 0;
    next_.original.reset();
    next_.originalViews.reset();
    next_.status.activity = Activity::Generating;
}

void Session::Worker::generateOne() {
    std::vector<int> all = path_.tokens();
    Sampling sampling = sampling_;
    if (sampling.seed == 0) sampling.seed = path_.writing();
    const Candidate drawn = sampleToken(text().logits(), sampling, all, all.size(), limits());
    all.push_back(drawn.token);
    const std::span<const int> tokens = std::span(all).subspan(forgotten(all.size()));
    if (tokens.size() != text().tokens().size() + 1)
        text().truncate(0); // the oldest tokens were dropped: run the rest again
    updatePrefix(all.size() - tokens.size());
    if (!text().feed(tokens.subspan(text().tokens().size()), [&] { return isStopped(); })) {
        publishIdle();
        if (const size_t kept = text().tokens().size();
            kept > 0) { // an interrupted step has overwritten the newest rows
            text().truncate(kept - 1);
            text().feed(tokens.subspan(kept - 1, 1));
        }
        sayEnd(TextEnd::Stopped, static_cast<size_t>(generated_));
        finishGenerating();
        return;
    }
    path_.take(drawn.token, drawn.probability);
    --remaining_;
    // The first token waits for nothing: the speed is that of those after it.
    if (++generated_ == 1) generationStart_ = Clock::now();
    const double seconds = std::chrono::duration<double>(Clock::now() - generationStart_).count();
    if (generated_ > 1 && seconds > 0) next_.status.tokensPerSecond = (generated_ - 1) / seconds;
    const std::optional<TextEnd> end = endOfRun();
    if (end) sayEnd(*end, static_cast<size_t>(generated_));
    if (end || remaining_ <= 0) {
        finishGenerating();
        return;
    }
    nextToken_ = tokensPerSecond_ > 0
                     ? std::max(Clock::now(), nextToken_ + std::chrono::duration_cast<Clock::duration>(
                                                               std::chrono::duration<double>(1 / tokensPerSecond_)))
                     : Clock::now();
    // Pictures take at most half of the time, and at most 60 are drawn per second.
    if (Clock::now() - lastVisual_ < std::max<Clock::duration>(kVisualInterval, 2 * visualCost_)) return;
    const Clock::time_point start = Clock::now();
    refreshSequence();
    refreshViews();
    publish();
    lastVisual_ = Clock::now();
    visualCost_ = lastVisual_ - start;
}

TokenLimits Session::Worker::limits() {
    if (text().config().readout() != TextReadout::NextToken) return {};
    const std::vector<int> tokens = path_.tokens();
    const auto given = std::min(static_cast<size_t>(path_.promptLength()), tokens.size());
    const GenerationRules& rules = text().source().generation();
    return tokenLimits(rules, tokens, given, mostTokens(rules, given, static_cast<size_t>(text().capacity())));
}

std::optional<TextEnd> Session::Worker::endOfRun() const {
    const std::vector<int> tokens = path_.tokens();
    if (const auto end = endAtToken(text(), tokens)) return end;
    if (isStopped()) return TextEnd::Stopped;
    if (remaining_ > 0 || asked_ == 1) return {};
    const auto given = static_cast<size_t>(path_.promptLength());
    const size_t most = mostTokens(text().source().generation(), given, std::numeric_limits<size_t>::max());
    return tokens.size() == most ? TextEnd::FolderLimit : TextEnd::MaxTokens;
}

void Session::Worker::sayEnd(TextEnd end, size_t written) {
    const std::vector<int> tokens = path_.tokens();
    next_.ended = sentenceOf(end, text(), tokens, tokens.size() - std::min(written, tokens.size()));
}

void Session::Worker::finishGenerating() {
    remaining_ = 0;
    next_.status.activity = Activity::Idle;
    compareOriginal();
    if (isCurrent()) { // otherwise it was stopped while the rest ran again: keep the last pictures
        refreshCell();
        refreshSequence();
        refreshViews();
    }
    publish();
}

} // namespace attn
