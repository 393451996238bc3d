#include "engine/session/sequence_builder.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace attn {
namespace {

/// A note as a sentence.
std::string sentenceOf(std::string note) {
    note.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(note.front())));
    return note + ".";
}

/// The word of a token in the text that it came from.
ByteRange wordOf(const Encoding& encoding, size_t token, const Tokenizer& tokenizer) {
    if (token >= encoding.ranges.size()) return {};
    const auto isContinued = [&](size_t at) {
        return at < encoding.ids.size() && tokenizer.continuesWord(encoding.ids[at]);
    };
    size_t first = token, last = token;
    while (first > 0 && isContinued(first)) --first;
    while (isContinued(last + 1)) ++last;
    return {encoding.ranges[first].begin, encoding.ranges[last].end};
}

GrowingList<TokenInfo> sourceOf(const LanguageModel& model, const std::shared_ptr<const Prompt>& prompt) {
    GrowingList<TokenInfo> source;
    const Tokenizer* tokenizer = model.sourceTokenizer();
    for (const int id : prompt ? prompt->source : std::vector<int>())
        source.push_back({.id = id,
                          .text = tokenizer ? tokenizer->tokenText(id) : std::to_string(id),
                          .isSpecial = tokenizer && tokenizer->isSpecial(id),
                          .isPrompt = true});
    return source;
}

} // namespace

bool SequenceBuilder::continues(const std::vector<int>& nodes, const BranchTree& tree, size_t first) const {
    if (first != first_ || nodes.size() < first + tokens_.size()) return false;
    for (size_t i = 0; i < tokens_.size(); ++i) {
        const int node = nodes[first + i];
        const TokenInfo& token = tokens_[i];
        const auto probability = token.isPrompt ? std::nullopt : tree.nodes[static_cast<size_t>(node)].probability;
        if (token.branchNode != node || token.probability != probability) return false;
    }
    return true;
}

void SequenceBuilder::add(const LanguageModel& model, const BranchTree& tree, int node, size_t index, bool isPrompt) {
    const BranchNode& branch = tree.nodes[static_cast<size_t>(node)];
    const Tokenizer* tokenizer = model.tokenizer();
    const bool isSpecial = tokenizer && tokenizer->isSpecial(branch.token);
    std::string written = decoder_ ? decoder_->push(branch.token) : branch.text + ' ';
    // A special token stands apart from its neighbours by one space.
    const bool isApart = tokens_.empty() || tokens_.back().written.ends_with(' ');
    if (isSpecial)
        written = (isApart ? "" : " ") + branch.text + ' ';
    else if (isApart && written.starts_with(' ') && !tokens_.empty() && tokens_.back().isSpecial)
        written.erase(0, 1);
    const Encoding& encoding = prompt_->encoding;
    tokens_.push_back({.id = branch.token,
                       .text = branch.text,
                       .written = std::move(written),
                       .branchNode = node,
                       .isSpecial = isSpecial,
                       .isPrompt = isPrompt,
                       .isSecond = isPrompt && index < encoding.texts.size() && encoding.texts[index] > 0,
                       .type = index < encoding.types.size() ? encoding.types[index] : 0,
                       .word = isPrompt && tokenizer ? wordOf(encoding, index, *tokenizer) : ByteRange{},
                       .probability = isPrompt ? std::nullopt : branch.probability});
}

std::string SequenceBuilder::noticeOf(const LanguageModel& model, size_t count, size_t first) const {
    const ModelInfo& info = model.info();
    const Tokenizer* tokenizer = model.tokenizer();
    std::string notice;
    if (first > 0) {
        const auto most = static_cast<size_t>(model.capacity());
        notice = fmt::format("Too long: the model reads the last {} of {} tokens. ", groupDigits(count - first),
                             groupDigits(count));
        notice += info.ownContext > model.capacity()
                      ? fmt::format("Attention Lab reads at most {} of this model's {} tokens{}.", groupDigits(most),
                                    groupDigits(static_cast<size_t>(info.ownContext)), model.whyNoMore())
                      : fmt::format("Its context holds {}; when that is full, it forgets the oldest quarter.",
                                    groupDigits(most));
    }
    if (const std::string& problem = info.tokenizerProblem; !problem.empty())
        notice = fmt::format("This model's tokenizer cannot be read: {} Enter token ids, separated by commas.",
                             problem.ends_with('.') ? problem : problem + '.');
    else if (count == 0 && !tokenizer)
        notice = "This model has no tokenizer: enter token ids, separated by commas.";
    if (!prompt_) return notice;
    const Tokenizer* reading = info.readsSource ? model.sourceTokenizer() : tokenizer;
    const std::vector<int>& read = info.readsSource ? prompt_->source : prompt_->encoding.ids;
    if (notice.empty() && reading && reading->beginsTwice(read))
        notice = fmt::format("The text begins with {0}, and the tokenizer puts {0} before every text: the model "
                             "reads it twice. Remove it from the prompt.",
                             reading->tokenText(read.front()));
    if (!prompt_->note.empty()) notice += (notice.empty() ? "" : " ") + sentenceOf(prompt_->note);
    return notice;
}

std::shared_ptr<Sequence> SequenceBuilder::build(const LanguageModel& model, const TokenPath& path,
                                                 const std::shared_ptr<const Prompt>& prompt, size_t first) {
    const Tokenizer* tokenizer = model.tokenizer();
    const std::vector<int> nodes = path.nodes();
    if (prompt != prompt_) {
        prompt_ = prompt;
        source_ = sourceOf(model, prompt);
        first_ = nodes.size() + 1; // nothing continues another text
    }
    if (!continues(nodes, path.tree(), first)) {
        tokens_ = {};
        first_ = first;
        decoder_.reset();
        if (tokenizer) // each token has its own spaces
            decoder_.emplace(*tokenizer, true, StreamDecoder::Spaces::AsWritten);
    }
    const auto promptLength = static_cast<size_t>(path.promptLength());
    for (size_t i = first + tokens_.size(); i < nodes.size(); ++i)
        add(model, path.tree(), nodes[i], i, i < promptLength);

    auto sequence = std::make_shared<Sequence>();
    sequence->tokens = tokens_;
    if (const std::string rest = decoder_ ? decoder_->rest() : std::string(); !rest.empty() && !tokens_.empty()) {
        TokenInfo last = tokens_.back();
        last.written += rest;
        sequence->tokens.replace(tokens_.size() - 1, std::move(last));
    }
    sequence->source = source_;
    sequence->text = tokenizer ? tokenizer->decode(path.tokens(), true) : std::string();
    if (prompt) sequence->given = prompt->given;
    sequence->forgotten = static_cast<int>(first);
    sequence->notice = noticeOf(model, nodes.size(), first);
    return sequence;
}

} // namespace attn
