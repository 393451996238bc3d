#include "engine/inference/beam_search.h"

#include "engine/core/error.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// log p of every token. @param logits [V]
std::vector<double> logProbabilities(std::span<const float> logits) {
    const auto largest = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    std::vector<double> result;
    for (const float logit : logits) result.push_back(static_cast<double>(logit) - largest - std::log(sum));
    return result;
}

class Search {
public:
    Search(LanguageModel& model, const BeamSettings& settings)
        : model_(model), settings_(settings), beginning_(model.tokens()) {
        const auto room = static_cast<int>(model.capacity()) - static_cast<int>(beginning_.size());
        most_ = std::min(settings.maxTokens, room);
        result_.tree.emplace_back();
    }

    BeamResult run(const std::function<bool()>& isCancelled) {
        std::vector<int> live{0}; // nodes
        for (int length = 1; length <= most_ && !live.empty() && mayImprove(live); ++length) {
            std::vector<BeamNode> candidates;
            for (const int node : live) {
                if (isCancelled && isCancelled()) return {};
                extend(node, length, candidates);
            }
            live = choose(std::move(candidates), length);
        }
        std::ranges::stable_sort(result_.hypotheses, std::ranges::greater(), &Hypothesis::score);
        if (result_.hypotheses.size() > static_cast<size_t>(settings_.width))
            result_.hypotheses.resize(static_cast<size_t>(settings_.width));
        if (!result_.hypotheses.empty()) hold(result_.hypotheses.front().node);
        return std::move(result_);
    }

private:
    double scoreOf(double logProbability, int length) const {
        return logProbability / std::pow(static_cast<double>(length), settings_.lengthPenalty);
    }

    std::vector<int> tokensTo(int node) const {
        std::vector<int> tokens;
        for (; node > 0; node = result_.tree[static_cast<size_t>(node)].parent)
            tokens.push_back(result_.tree[static_cast<size_t>(node)].token);
        std::ranges::reverse(tokens);
        return tokens;
    }

    /// Makes the model hold a hypothesis. It keeps the tokens that it already holds.
    void hold(int node) {
        std::vector<int> all = beginning_;
        std::ranges::copy(tokensTo(node), std::back_inserter(all));
        const auto common = std::ranges::mismatch(all, model_.tokens()).in1 - all.begin();
        // The last token runs again for its logits.
        model_.truncate(std::min(static_cast<size_t>(common), all.size() - 1));
        model_.feed(std::span(all).subspan(model_.tokens().size()));
    }

    /// Whether a live hypothesis can still become better than the finished ones.
    bool mayImprove(const std::vector<int>& live) const {
        if (std::ssize(result_.hypotheses) < settings_.width) return true;
        std::vector<double> scores;
        for (const Hypothesis& each : result_.hypotheses) scores.push_back(each.score);
        std::ranges::sort(scores, std::ranges::greater());
        const double worst = scores[static_cast<size_t>(settings_.width) - 1];
        return std::ranges::any_of(live, [&](int node) { // its log p can only fall, but the longer, the milder
            return scoreOf(result_.tree[static_cast<size_t>(node)].logProbability, most_) > worst;
        });
    }

    /// Adds the most probable tokens after a hypothesis. No more than `width` of them can stay.
    void extend(int node, int length, std::vector<BeamNode>& candidates) {
        hold(node);
        const std::vector<double> next = logProbabilities(model_.logits());
        std::vector<int> order(next.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        // Stop tokens do not take the place of those that go on.
        const auto count = std::min(order.size(), static_cast<size_t>(settings_.width) + stops().size());
        std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::ranges::greater(),
                                  [&](int token) { return next[static_cast<size_t>(token)]; });
        for (size_t i = 0; i < count; ++i) {
            const double sum =
                result_.tree[static_cast<size_t>(node)].logProbability + next[static_cast<size_t>(order[i])];
            candidates.push_back(
                {.token = order[i], .parent = node, .logProbability = sum, .score = scoreOf(sum, length)});
        }
    }

    /// Puts candidates of one length into the tree. @return the nodes that go on
    std::vector<int> choose(std::vector<BeamNode> candidates, int length) {
        std::ranges::stable_sort(candidates, std::ranges::greater(), &BeamNode::logProbability);
        std::vector<int> live;
        for (BeamNode& each : candidates) {
            const bool stops = std::ranges::count(this->stops(), each.token) > 0;
            const bool isFull = std::ssize(live) >= settings_.width;
            each.fate = isFull                     ? BeamNode::Fate::Dropped
                        : stops || length == most_ ? BeamNode::Fate::Finished
                                                   : BeamNode::Fate::Kept;
            const auto node = static_cast<int>(result_.tree.size());
            result_.tree.push_back(each);
            if (isFull) continue;
            if (each.fate == BeamNode::Fate::Finished)
                result_.hypotheses.push_back({tokensTo(node), each.logProbability, each.score, node});
            if (!stops) live.push_back(node); // at the greatest length they only fill the beam
        }
        return live;
    }

    const std::vector<int>& stops() const { return model_.source().stopTokens(); }

    LanguageModel& model_;
    const BeamSettings& settings_;
    const std::vector<int> beginning_;
    int most_ = 0;
    BeamResult result_;
};

} // namespace

BeamResult beamSearch(LanguageModel& model, const BeamSettings& settings, const std::function<bool()>& isCancelled) {
    const auto refuse = [&](const char* what, const char* hint) {
        throw Error({.what = what, .where = model.info().name, .hint = hint});
    };
    if (model.tokens().empty()) refuse("there is nothing to continue", "give a prompt or a source");
    if (settings.width < 1 || settings.width > 256) refuse("the beam is out of range", "choose a width from 1 to 256");
    if (!(settings.lengthPenalty >= 0)) refuse("the length penalty is below 0", "choose 0 or more");
    if (settings.maxTokens < 1) refuse("there is no room for a token", "allow at least 1 token");
    return Search(model, settings).run(isCancelled);
}

} // namespace attn
