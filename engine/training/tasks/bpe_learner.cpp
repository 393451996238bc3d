#include "engine/training/tasks/bpe_learner.h"

#include "engine/text/byte_alphabet.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

namespace attn {
namespace {

struct Word {
    std::vector<uint32_t> tokens;
    int64_t count;
};

constexpr uint64_t pairOf(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

/// The distinct words of the text as bytes, with their counts. They are sorted, so the result does not depend on
/// hashes.
std::map<std::string, int64_t> countWords(std::string_view text) {
    std::map<std::string, int64_t> counts;
    for (const AlignedText& piece : PreTokenizer::byteLevel(false).apply(AlignedText(text, 0)))
        ++counts[fromByteAlphabet(piece.text()).value()];
    return counts;
}

class Learner {
public:
    explicit Learner(const std::map<std::string, int64_t>& counts) {
        std::array<uint32_t, 256> idOfByte{};
        for (const unsigned char byte : gpt2Bytes()) {
            idOfByte[byte] = static_cast<uint32_t>(tokens_.size());
            tokens_.emplace_back(1, static_cast<char>(byte));
            ids_.emplace(tokens_.back(), idOfByte[byte]);
        }
        for (const auto& [text, count] : counts) {
            Word word{{}, count};
            for (const char byte : text) word.tokens.push_back(idOfByte[static_cast<unsigned char>(byte)]);
            add(std::move(word));
        }
        queueAll();
    }

    /// Words of characters of an alphabet, whose tokens have the prefix if they continue a word. Other characters cut a
    /// word, because no token may contain them.
    Learner(const std::map<std::string, int64_t>& counts, const std::vector<std::string>& alphabet, std::string prefix)
        : tokens_(alphabet), prefix_(std::move(prefix)) {
        for (const std::string& token : alphabet) ids_.emplace(token, static_cast<uint32_t>(ids_.size()));
        for (const auto& [text, count] : counts) {
            Word word{{}, count};
            for (size_t at = 0; at < text.size();) {
                const size_t begin = at;
                utf8::next(text, at);
                const auto found = ids_.find((begin > 0 ? prefix_ : "") + text.substr(begin, at - begin));
                if (found != ids_.end()) word.tokens.push_back(found->second);
                if (found == ids_.end() || at == text.size()) add(std::exchange(word, Word{{}, count}));
            }
        }
        queueAll();
    }

    const std::vector<std::string>& tokens() const { return tokens_; } ///< the alphabet, then what merges gave

    std::vector<MergePair> learn(int count) {
        std::vector<MergePair> merges;
        while (static_cast<int>(merges.size()) < count && !queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            const int64_t current = pairs_[best.pair].count;
            if (best.count != current) {
                if (current >= kLeastCount) queue_.push({current, best.pair});
                continue;
            }
            if (current < kLeastCount) break;
            const auto left = static_cast<uint32_t>(best.pair >> 32), right = static_cast<uint32_t>(best.pair);
            merges.emplace_back(tokens_[left], tokens_[right]);
            merge(left, right);
        }
        return merges;
    }

private:
    static constexpr int64_t kLeastCount = 2;

    struct Place {
        int64_t count = 0;
        std::set<size_t> words{}; ///< words that contain, or contained, the pair
    };
    struct Candidate {
        int64_t count;
        uint64_t pair;
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : pair > other.pair;
        }
    };

    void add(Word word) {
        const int64_t count = word.count;
        words_.push_back(std::move(word));
        for (size_t i = 0; i + 1 < words_.back().tokens.size(); ++i) change(words_.size() - 1, i, count);
    }

    void queueAll() {
        for (const auto& [pair, place] : pairs_) queue_.push({place.count, pair});
    }

    void change(size_t word, size_t at, int64_t by) {
        const std::vector<uint32_t>& tokens = words_[word].tokens;
        Place& place = pairs_[pairOf(tokens[at], tokens[at + 1])];
        place.count += by;
        if (by > 0) place.words.insert(word);
    }

    void merge(uint32_t left, uint32_t right) {
        const std::string text = tokens_[left] + tokens_[right].substr(prefix_.size());
        const auto [known, isNew] = ids_.emplace(text, static_cast<uint32_t>(tokens_.size()));
        const uint32_t id = known->second;
        if (isNew) tokens_.push_back(text);

        const std::set<size_t> affected = std::move(pairs_[pairOf(left, right)].words);
        std::set<uint64_t> grown;
        for (const size_t index : affected) {
            Word& word = words_[index];
            std::vector<uint32_t> merged;
            for (size_t i = 0; i < word.tokens.size(); ++i) {
                const bool isPair = word.tokens[i] == left && i + 1 < word.tokens.size() && word.tokens[i + 1] == right;
                merged.push_back(isPair ? id : word.tokens[i]);
                i += isPair;
            }
            for (size_t i = 0; i + 1 < word.tokens.size(); ++i) change(index, i, -word.count);
            word.tokens = std::move(merged);
            for (size_t i = 0; i + 1 < word.tokens.size(); ++i) {
                change(index, i, word.count);
                if (word.tokens[i] == id || word.tokens[i + 1] == id)
                    grown.insert(pairOf(word.tokens[i], word.tokens[i + 1]));
            }
        }
        for (const uint64_t pair : grown) queue_.push({pairs_[pair].count, pair});
    }

    std::vector<std::string> tokens_; ///< by id
    std::string prefix_;              ///< of tokens that continue a word
    std::unordered_map<std::string, uint32_t> ids_;
    std::vector<Word> words_;
    std::unordered_map<uint64_t, Place> pairs_;
    std::priority_queue<Candidate> queue_; ///< counts are upper limits: they may have fallen since
};

} // namespace

std::vector<MergePair> learnBpe(std::string_view text, int count) { return Learner(countWords(text)).learn(count); }

std::vector<std::string> learnWordPieces(const std::map<std::string, int64_t>& words, size_t most) {
    std::map<std::string, int64_t> characters;
    for (const auto& [word, count] : words)
        for (size_t at = 0; at < word.size();) {
            const size_t begin = at;
            utf8::next(word, at);
            characters[(begin > 0 ? "##" : "") + word.substr(begin, at - begin)] += count;
        }
    std::vector<std::string> alphabet;
    for (const auto& [token, count] : characters) alphabet.push_back(token);
    if (alphabet.size() > most) {
        std::ranges::stable_sort(alphabet, std::greater(), [&](const std::string& token) { return characters[token]; });
        alphabet.resize(most);
    }
    Learner learner(words, alphabet, "##");
    while (learner.tokens().size() < most && !learner.learn(1).empty()) {
    }
    return learner.tokens();
}

} // namespace attn
