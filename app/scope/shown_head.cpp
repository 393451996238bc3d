#include "app/scope/shown_head.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr int kMostExact = 2048; // tokens that one tile shows cell by cell
constexpr size_t kLabelCharacters = 14;

/// The probability of the likeliest token under a plain softmax.
double likeliest(std::span<const float> logits, size_t best) {
    double sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(logits[best]));
    return 1 / sum;
}

size_t argmax(std::span<const float> logits) {
    return static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
}

std::string rangeOf(int count) { return count == 1 ? "only 0 exists" : fmt::format("choose 0 to {}", count - 1); }

} // namespace

std::string tokenLabel(const std::string& text, size_t mostCharacters) {
    const size_t firstInk = text.find_first_not_of(' '), lastInk = text.find_last_not_of(' ');
    std::string label;
    size_t characters = 0;
    for (size_t i = 0; i < text.size();) {
        size_t length = 1; // bytes of this UTF-8 character
        while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xC0) == 0x80) ++length;
        if (++characters > mostCharacters) return label + "…";
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool isEdge = firstInk == std::string::npos || i < firstInk || i > lastInk;
        if (byte == ' ' && isEdge)
            label += "␣";
        else if (byte == '\n')
            label += "↵";
        else if (byte == '\t')
            label += "⇥";
        else if (byte < 0x20)
            label += {'\xE2', '\x90', static_cast<char>(0x80 + byte)}; // U+2400 + byte, its picture
        else
            label += text.substr(i, length);
        i += length;
    }
    return label;
}

ShownHead::ShownHead(LanguageModel& model, std::vector<int> prompt, int layer, int head)
    : model_(model), prompt_(std::move(prompt)), layer_(layer), head_(head) {
    if (layer < 0 || layer >= layers())
        throw Error({.what = fmt::format("layer {} does not exist: the model has {}", layer, layers()),
                     .where = "--layer",
                     .hint = rangeOf(layers())});
    if (head < 0 || head >= heads())
        throw Error({.what = fmt::format("head {} does not exist: a layer has {}", head, heads()),
                     .where = "--head",
                     .hint = rangeOf(heads())});
    if (prompt_.empty()) throw Error({.what = "the prompt is empty", .where = "--prompt", .hint = "give some text"});
    model_.feed(prompt_);
    describeText();
}

void ShownHead::describeText() {
    const Tokenizer* tokenizer = model_.tokenizer();
    const auto textOf = [&](int id) { return tokenizer ? tokenizer->tokenText(id) : fmt::format("#{}", id); };
    labels_.clear();
    for (int id : model_.tokens()) labels_.push_back(tokenLabel(textOf(id), kLabelCharacters));
    const size_t best = argmax(model_.logits());
    next_ = fmt::format("“{}” {:.0f} %", tokenLabel(textOf(static_cast<int>(best)), kLabelCharacters),
                        likeliest(model_.logits(), best) * 100);
    patternOf_ = std::nullopt;
    lastProbability_ = std::nullopt;
}

void ShownHead::select(int layer, int head) {
    layer_ = std::clamp(layer, 0, layers() - 1);
    head_ = std::clamp(head, 0, heads() - 1);
    lastProbability_ = std::nullopt;
}

void ShownHead::generate() {
    if (tokenCount() >= model_.capacity()) {
        notice_ = fmt::format("The context of {} tokens is full: press R to go back to the prompt.", model_.capacity());
        return;
    }
    const int best = static_cast<int>(argmax(model_.logits()));
    model_.feed(std::span(&best, 1));
    notice_ =
        std::ranges::count(model_.source().stopTokens(), best) > 0 ? "The model ended its text with this token." : "";
    describeText();
}

void ShownHead::reset() {
    model_.truncate(prompt_.size() - 1);
    model_.feed(std::span(prompt_).last(1)); // logits after the prompt's last token
    notice_.clear();
    describeText();
}

std::string ShownHead::facts() const {
    return fmt::format("{} of {} tokens  ·  next {}", tokenCount(), model_.info().contextLength, next_);
}

bool ShownHead::isCausal() const { return model_.config().layers[static_cast<size_t>(layer_)].rule.causal; }
int ShownHead::window() const {
    return static_cast<int>(model_.config().layers[static_cast<size_t>(layer_)].rule.window);
}

SetViewCommand ShownHead::viewOf(std::pair<int, int> queries, std::pair<int, int> keys) const {
    SetViewCommand view{.layer = layer_, .head = head_, .detailSize = kMostExact};
    if (tokenCount() <= kMostExact) return view;
    std::tie(view.queryBegin, view.queryEnd) = queries;
    std::tie(view.keyBegin, view.keyEnd) = keys;
    return view;
}

bool ShownHead::isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys, float) const {
    if (!patternOf_) return false;
    const SetViewCommand wanted = viewOf(queries, keys);
    const auto key = [](const SetViewCommand& v) {
        return std::tuple(v.layer, v.head, v.queryBegin, v.queryEnd, v.keyBegin, v.keyEnd);
    };
    return key(wanted) == key(*patternOf_);
}

const LanguageModel::DevicePattern& ShownHead::pattern(std::pair<int, int> queries, std::pair<int, int> keys,
                                                       float cellPixels) {
    if (!isPatternReady(queries, keys, cellPixels)) {
        patternOf_ = viewOf(queries, keys);
        pattern_ = model_.patternOnDevice(*patternOf_);
    }
    return pattern_;
}

float ShownHead::probability(const Cell& cell) {
    if (!lastProbability_ || lastProbability_->first != cell) {
        const PatternTile tile = model_.patternTile({.layer = layer_,
                                                     .head = head_,
                                                     .queryBegin = cell.query,
                                                     .queryEnd = cell.query + 1,
                                                     .keyBegin = cell.key,
                                                     .keyEnd = cell.key + 1});
        lastProbability_ = {cell, tile.values.front()};
    }
    return lastProbability_->second;
}

} // namespace attn::scope
