#include "app/scope/model_subject.h"

#include "engine/core/error.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/sampling.h"
#include "engine/inference/token_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn::scope {
namespace {

constexpr size_t kLabelCharacters = 14;
constexpr size_t kRemembered = 64; // changes
constexpr float kGlowSeconds = 1.2f;

/// The probability of the most probable token under a plain softmax.
double likeliest(std::span<const float> logits, size_t best) {
    double sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(logits[best]));
    return 1 / sum;
}

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
            label +=
                {'\xE2', '\x90', static_cast<char>(0x80 + byte)}; // U+2400 + byte, the symbol of the control character
        else
            label += text.substr(i, length);
        i += length;
    }
    return label;
}

ModelSubject::ModelSubject(LanguageModel& model, std::vector<int> prompt, int layer, int head)
    : language_(model), microscope_(model), prompt_(std::move(prompt)) {
    name_ = model.info().name;
    if (layer < 0 || layer >= layers())
        throw Error({.what = fmt::format("layer {} does not exist: the model has {}", layer, layers()),
                     .where = "--layer",
                     .hint = rangeOf(layers())});
    if (head < 0 || head >= heads())
        throw Error({.what = fmt::format("head {} does not exist: a layer has {}", head, heads()),
                     .where = "--head",
                     .hint = rangeOf(heads())});
    if (prompt_.empty()) throw Error({.what = "the prompt is empty", .where = "--prompt", .hint = "give some text"});
    select(layer, head);
    language_.feed(prompt_);
    describeText(0);
}

void ModelSubject::describeText(int firstChanged) {
    const Tokenizer* tokenizer = language_.tokenizer();
    const auto textOf = [&](int id) { return tokenizer ? tokenizer->tokenText(id) : fmt::format("#{}", id); };
    labels_.clear();
    for (int id : language_.tokens()) labels_.push_back(tokenLabel(textOf(id), kLabelCharacters));
    const auto best = static_cast<size_t>(std::ranges::max_element(language_.logits()) - language_.logits().begin());
    next_ = fmt::format("“{}” {:.0f} %", tokenLabel(textOf(static_cast<int>(best)), kLabelCharacters),
                        likeliest(language_.logits(), best) * 100);
    changes_.emplace_back(++version_, firstChanged);
    if (changes_.size() > kRemembered) changes_.pop_front();
}

int ModelSubject::firstChanged(uint64_t since) const {
    if (since == version_) return tokenCount();
    if (since < changes_.front().first - 1) return 0;
    int first = tokenCount();
    for (const auto& [version, changed] : changes_)
        if (version > since) first = std::min(first, changed);
    return first;
}

bool ModelSubject::generate() {
    if (tokenCount() >= language_.capacity()) {
        notice_ = fmt::format("The context of {} tokens is full. Press Backspace to return to the prompt.",
                              language_.capacity());
        return false;
    }
    const GenerationRules& rules = language_.source().generation();
    const std::vector<int> all(language_.tokens().begin(), language_.tokens().end());
    const size_t most = mostTokens(rules, prompt_.size(), static_cast<size_t>(language_.capacity()));
    const int before = tokenCount(),
              best = sampleToken(language_.logits(), {}, {}, 0, tokenLimits(rules, all, prompt_.size(), most)).token;
    language_.feed(std::span(&best, 1));
    notice_ = std::ranges::count(language_.source().stopTokens(), best) > 0
                  ? "The model ended its text with this token."
                  : "";
    ages_.push_front(0);
    if (ages_.size() > glow().size()) ages_.pop_back();
    describeText(before);
    return true;
}

void ModelSubject::reset() {
    notice_.clear();
    setText(beginning(text(), prompt_.size()), prompt_.size());
}

TextInput ModelSubject::beginning(TextInput text, size_t length) {
    text.tokens.resize(std::min(length, text.tokens.size()));
    text.types.resize(std::min(length, text.types.size()));
    return text;
}

void ModelSubject::setText(const TextInput& text, size_t promptLength) {
    const std::vector<int>& tokens = text.tokens;
    if (tokens.empty()) throw Error({.what = "there are no tokens", .where = name_, .hint = "give some text"});
    const TextInput before = this->text();
    const std::vector<int>& old = before.tokens;
    const auto same = static_cast<size_t>(std::ranges::mismatch(tokens, old).in1 - tokens.begin());
    if (tokens.size() > static_cast<size_t>(language_.capacity()))
        throw Error(
            {.what = fmt::format("{} tokens do not fit into the context of {}", tokens.size(), language_.capacity()),
             .where = name_,
             .hint = "shorten the text"});
    TextInput given = beginning(text, promptLength);
    const std::vector<int> prompt = given.tokens;
    const bool readsPrompt = prompt != prompt_ && !runChanges_.valueChanges.empty(); // changes may copy values from it
    try {
        language_.setSides(text);
        if (readsPrompt) workOut(runChanges_, std::move(given));
        language_.hold(tokens, tokens.size() - prompt.size());
    } catch (const Error&) { // a token outside the vocabulary
        language_.setSides(before);
        if (readsPrompt) workOut(runChanges_, beginning(before, prompt_.size()));
        language_.hold(old, old.size() - prompt_.size());
        throw;
    }
    const size_t changed = std::min(same, language_.firstRun());
    const size_t added = tokens.size() - same;
    if (same == old.size() && added > 0 && added <= glow().size()) // tokens were appended, not replaced
        for (size_t i = 0; i < added; ++i) ages_.push_front(0);
    else
        ages_.clear();
    while (ages_.size() > glow().size()) ages_.pop_back();
    prompt_ = prompt;
    describeText(readsPrompt ? 0 : static_cast<int>(changed));
}

void ModelSubject::workOut(const Changes& changes, TextInput prompt) {
    language_.setChanges(changes, std::move(prompt));
    language_.truncate(0);
}

void ModelSubject::setChanges(const Changes& changes) {
    const std::vector<int> tokens = language_.tokens();
    const auto runAgain = [&] {
        language_.truncate(0);
        language_.hold(tokens, tokens.size() - prompt_.size());
    };
    try {
        workOut(changes, beginning(text(), prompt_.size()));
    } catch (const Error&) {
        runAgain();
        throw;
    }
    runChanges_ = changes;
    ++changesVersion_;
    runAgain();
    ages_.clear();
    describeText(0);
}

std::string withChanges(int count) {
    return count == 0 ? std::string() : fmt::format(", with {} change{}", count, count == 1 ? "" : "s");
}

int ModelSubject::changeCount() const {
    return static_cast<int>(runChanges_.valueChanges.size() + runChanges_.patterns.size() + runChanges_.gates.size());
}

bool ModelSubject::hasChangedPattern() const { return language_.hookChanges().patterns().contains({layer(), head()}); }

std::array<float, 4> ModelSubject::glow() const {
    std::array<float, 4> strengths{};
    for (size_t i = 0; i < std::min(strengths.size(), ages_.size()); ++i)
        strengths[i] = std::max(0.0f, 1 - ages_[i] / kGlowSeconds);
    return strengths;
}

void ModelSubject::fade(float seconds) {
    for (float& age : ages_) age += seconds;
}

std::string ModelSubject::facts() const {
    return fmt::format("{}{} of {} tokens  ·  next {}", language_.isChanged() ? "model changed  ·  " : "", tokenCount(),
                       language_.info().contextLength, next_);
}

} // namespace attn::scope
