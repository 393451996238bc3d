#include "engine/inference/beam_search.h"

#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/language_model.h"
#include "engine/inference/token_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace attn {
namespace {

/// Makes log p of the scores of all tokens. Without a token that may be written there is nothing to do.
void normalise(std::span<double> scores) {
    const double largest = *std::ranges::max_element(scores);
    if (largest == -INFINITY) return;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - largest);
    for (double& score : scores) score -= largest + std::log(sum);
}

/// log p of every token. @param logits [V]
std::vector<double> logProbabilities(std::span<const float> logits) {
    requireLogits(logits, "beam search");
    std::vector<double> result(logits.begin(), logits.end());
    normalise(result);
    return result;
}

} // namespace

BeamSearch::BeamSearch(LanguageModel& model, const BeamSettings& settings, std::vector<int> beginning)
    : model_(model), settings_(settings), beginning_(std::move(beginning)) {
    const auto refuse = [&](const char* what, const char* hint) {
        throw Error({.what = what, .where = model.info().name, .hint = hint});
    };
    if (beginning_.empty()) refuse("there is nothing to continue", "give a prompt or a source");
    if (settings.width < 1 || settings.width > 256) refuse("the beam is out of range", "choose a width from 1 to 256");
    if (!(settings.lengthPenalty >= 0)) refuse("the length penalty is below 0", "choose 0 or more");
    if (settings.maxTokens < 1) refuse("there is no room for a token", "allow at least 1 token");
    most_ = std::min(settings.maxTokens, static_cast<int>(model.capacity()) - static_cast<int>(beginning_.size()));
    if (most_ < 1) refuse("there is no room for a token", "shorten the prompt");
    result_.tree.emplace_back();
}

bool BeamSearch::step(const std::function<bool()>& isCancelled) {
    if (isDone_) return false;
    std::vector<BeamNode> candidates;
    for (const int node : live_) {
        if (isCancelled && isCancelled()) return true;
        extend(node, candidates);
    }
    ++length_;
    choose(std::move(candidates));
    isDone_ = length_ >= most_ || live_.empty() || !mayImprove();
    std::ranges::stable_sort(result_.hypotheses, std::ranges::greater(), &Hypothesis::score);
    if (isDone_ && result_.hypotheses.size() > static_cast<size_t>(settings_.width))
        result_.hypotheses.resize(static_cast<size_t>(settings_.width));
    return !isDone_;
}

int BeamSearch::best() const {
    if (!result_.hypotheses.empty()) return result_.hypotheses.front().node;
    return live_.empty() ? 0 : live_.front();
}

double BeamSearch::scoreOf(double logProbability, int length) const {
    return logProbability / std::pow(static_cast<double>(length), settings_.lengthPenalty);
}

std::vector<int> BeamSearch::tokensTo(int node) const {
    std::vector<int> tokens;
    for (; node > 0; node = result_.tree[static_cast<size_t>(node)].parent)
        tokens.push_back(result_.tree[static_cast<size_t>(node)].token);
    std::ranges::reverse(tokens);
    return tokens;
}

void BeamSearch::hold(int node) {
    std::vector<int> all = beginning_;
    std::ranges::copy(tokensTo(node), std::back_inserter(all));
    model_.hold(all, all.size() - beginning_.size());
}

bool BeamSearch::mayImprove() const {
    if (std::ssize(result_.hypotheses) < settings_.width) return true;
    if (settings_.stopsEarly) return false;
    std::vector<double> scores;
    for (const Hypothesis& each : result_.hypotheses) scores.push_back(each.score);
    std::ranges::sort(scores, std::ranges::greater());
    const double worst = scores[static_cast<size_t>(settings_.width) - 1];
    return std::ranges::any_of(live_, [&](int node) { // its log p can only fall, but the longer, the milder
        return scoreOf(result_.tree[static_cast<size_t>(node)].logProbability, most_) > worst;
    });
}

/// Adds the most probable tokens after a hypothesis. No more than `width` of them can stay.
void BeamSearch::extend(int node, std::vector<BeamNode>& candidates) {
    hold(node);
    std::vector<double> next = logProbabilities(model_.logits());
    std::vector<int> all = beginning_;
    std::ranges::copy(tokensTo(node), std::back_inserter(all));
    for (const int token : settings_.repetitionPenalty == 1 ? std::set<int>() : std::set<int>(all.begin(), all.end()))
        if (token >= 0 && static_cast<size_t>(token) < next.size()) // log p is below 0
            next[static_cast<size_t>(token)] *= static_cast<double>(settings_.repetitionPenalty);
    const GenerationRules& rules = model_.source().generation();
    tokenLimits(rules, all, beginning_.size(), beginning_.size() + static_cast<size_t>(most_)).apply(std::span(next));
    if (rules.renormalizes) normalise(next);
    std::vector<int> order;
    for (size_t i = 0; i < next.size(); ++i)
        if (next[i] > -INFINITY) order.push_back(static_cast<int>(i));
    if (order.empty() && length_ == 0) refuseAllBarred();
    // Stop tokens do not take the place of those that continue.
    const auto count = std::min(order.size(), static_cast<size_t>(settings_.width) + stops().size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::ranges::greater(),
                              [&](int token) { return next[static_cast<size_t>(token)]; });
    for (size_t i = 0; i < count; ++i) {
        const double sum = result_.tree[static_cast<size_t>(node)].logProbability + next[static_cast<size_t>(order[i])];
        candidates.push_back(
            {.token = order[i], .parent = node, .logProbability = sum, .score = scoreOf(sum, length_ + 1)});
    }
}

/// Puts candidates of one length into the tree, and keeps the live ones.
void BeamSearch::choose(std::vector<BeamNode> candidates) {
    std::ranges::stable_sort(candidates, std::ranges::greater(), &BeamNode::logProbability);
    live_.clear();
    for (BeamNode& each : candidates) {
        const bool stops = std::ranges::count(this->stops(), each.token) > 0;
        const bool isFull = std::ssize(live_) >= settings_.width;
        each.fate = isFull                      ? BeamNode::Fate::Dropped
                    : stops || length_ == most_ ? BeamNode::Fate::Finished
                                                : BeamNode::Fate::Kept;
        const auto node = static_cast<int>(result_.tree.size());
        result_.tree.push_back(each);
        if (isFull) continue;
        if (each.fate == BeamNode::Fate::Finished)
            result_.hypotheses.push_back({tokensTo(node), each.logProbability, each.score, node});
        if (!stops) live_.push_back(node); // at the greatest length they only fill the beam
    }
}

const std::vector<int>& BeamSearch::stops() const { return model_.source().stopTokens(); }

BeamResult beamSearch(LanguageModel& model, const BeamSettings& settings) {
    BeamSearch search(model, settings, model.tokens());
    while (search.step()) {
    }
    if (!search.result().hypotheses.empty()) search.hold(search.result().hypotheses.front().node);
    return search.result();
}

} // namespace attn
