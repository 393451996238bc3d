#include "engine/session/worker.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Beam search.

namespace attn {

void Session::Worker::on(const BeamSearchCommand& command) {
    text();
    catchUp();
    requireContinuable();
    if (!search_ || search_->isDone() || search_->settings() != command.settings) {
        forgetSearch();
        search_.emplace(text(), command.settings, promptTokens());
    }
    searchSteps_ = command.steps > 0 ? command.steps : std::numeric_limits<int>::max();
    isRefining_ = false;
    next_.original.reset();
    next_.originalViews.reset();
}

void Session::Worker::searchOne() {
    search_->step([this] { return isStopped(); });
    --searchSteps_;
    refreshSearch();
    if (search_->isDone() || searchSteps_ <= 0 || isStopped()) return finishSearching();
    next_.status.activity = Activity::Generating;
    publish();
}

void Session::Worker::finishSearching() {
    searchSteps_ = 0;
    next_.status.activity = Activity::Idle;
    if (isStopped()) return publish(); // the path stays where it was
    takeHypothesis(search_->best());
    if (!search_->isDone() || !next_.ended.empty()) return;
    const size_t written = path_.tokens().size() - static_cast<size_t>(path_.promptLength());
    const bool isFull = written < static_cast<size_t>(search_->settings().maxTokens);
    sayEnd(isFull ? TextEnd::ContextFull : TextEnd::MaxTokens, written);
    publish();
}

void Session::Worker::forgetSearch() {
    searchSteps_ = 0;
    search_.reset();
    next_.beams.reset();
}

void Session::Worker::refreshSearch() {
    const auto& [hypotheses, nodes] = search_->result();
    auto beams = std::make_shared<BeamTree>(
        BeamTree{.settings = search_->settings(), .nodes = nodes, .isDone = search_->isDone()});
    const Tokenizer* tokenizer = text().tokenizer();
    for (const BeamNode& node : nodes)
        beams->texts.push_back(node.token < 0 ? std::string()
                               : tokenizer    ? tokenizer->tokenText(node.token)
                                              : std::to_string(node.token));
    for (const Hypothesis& each : hypotheses) beams->finished.push_back(each.node);
    next_.beams = std::move(beams);
}

void Session::Worker::takeHypothesis(int node) {
    const std::vector<BeamNode>& nodes = search_->result().tree;
    const auto at = [&](int index) -> const BeamNode& { return nodes[static_cast<size_t>(index)]; };
    std::vector<int> way;
    for (; node > 0; node = at(node).parent) way.push_back(node);
    std::ranges::reverse(way);
    TokenPath path = path_;
    path.reset();
    for (const int each : way) {
        const double logProbability = at(each).logProbability - at(at(each).parent).logProbability;
        path.take(at(each).token, static_cast<float>(std::exp(logProbability)));
    }
    moveTo(std::move(path), prompt_);
}

void Session::Worker::on(const GoToHypothesisCommand& command) {
    text();
    if (!search_ || command.node < 0 || command.node >= std::ssize(search_->result().tree))
        throw Error({.what = "there is no such hypothesis", .where = "beam search", .hint = "press Search first"});
    takeHypothesis(command.node);
}

} // namespace attn
