#include "engine/data/bpe_learner.h"

#include "engine/data/text_parts.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

namespace attn {
namespace {

constexpr uint64_t pairOf(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

/// The distinct words of the text as bytes, with their counts. They are sorted, so the result does not depend on
/// hashes.
std::map<std::string, int64_t> countWords(std::string_view text, const StopPoint& stopPoint) {
    std::map<std::string, int64_t> counts;
    const PreTokenizer words = PreTokenizer::byteLevel(false);
    forEachPart(text, [&](std::string_view part) {
        stopPoint();
        for (const AlignedText& piece : words.apply(AlignedText(part, 0)))
            ++counts[fromByteAlphabet(piece.text()).value()];
    });
    return counts;
}

/// Words are lists of neighbours, and each pair knows where it occurs. The cost of a merge is proportional to the
/// number of places that it merges, even in a word as long as the text.
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
            std::vector<uint32_t> word;
            for (const char byte : text) word.push_back(idOfByte[static_cast<unsigned char>(byte)]);
            add(word, count);
        }
        queueAll();
    }

    /// Uses words of characters of an alphabet. Tokens that continue a word have the prefix. Other characters end a
    /// word, because no token may contain them.
    Learner(const std::map<std::string, int64_t>& counts, const std::vector<std::string>& alphabet, std::string prefix)
        : tokens_(alphabet), prefix_(std::move(prefix)) {
        for (const std::string& token : alphabet) ids_.emplace(token, static_cast<uint32_t>(ids_.size()));
        for (const auto& [text, count] : counts) {
            std::vector<uint32_t> word;
            for (size_t at = 0; at < text.size();) {
                const size_t begin = at;
                utf8::next(text, at);
                const auto found = ids_.find((begin > 0 ? prefix_ : "") + text.substr(begin, at - begin));
                if (found != ids_.end()) word.push_back(found->second);
                if (found == ids_.end() || at == text.size()) add(std::exchange(word, {}), count);
            }
        }
        queueAll();
    }

    const std::vector<std::string>& tokens() const { return tokens_; } ///< the alphabet, then results of merges

    std::vector<MergePair> learn(int count, const StopPoint& stopPoint) {
        std::vector<MergePair> merges;
        while (static_cast<int>(merges.size()) < count && !queue_.empty()) {
            stopPoint();
            const Candidate best = queue_.top();
            queue_.pop();
            const int64_t current = pairs_[best.pair].count;
            if (best.count != current) {
                if (current >= kLeastCount) queue_.push({current, best.pair});
                continue;
            }
            if (current < kLeastCount) break;
            const auto left = static_cast<uint32_t>(best.pair >> 32), right = static_cast<uint32_t>(best.pair);
            if (tokens_[left].size() + tokens_[right].size() > kLongestToken) continue;
            merges.emplace_back(tokens_[left], tokens_[right]);
            merge(left, right);
        }
        return merges;
    }

private:
    static constexpr int64_t kLeastCount = 2;
    static constexpr size_t kLongestToken = 512; ///< bytes; a file of few letters has ever longer pairs
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A token of a word. A token that was merged into the one before it stays in the list and is skipped.
    struct Symbol {
        uint32_t token;
        uint32_t previous, next; ///< neighbours in the word; kNone at its ends
        int64_t count;           ///< how often the word occurs
    };
    struct Place {
        int64_t count = 0;
        std::vector<uint32_t> left{}; ///< symbols with which the pair begins, or began
    };
    struct Candidate {
        int64_t count;
        uint64_t pair;
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : pair > other.pair;
        }
    };

    void add(const std::vector<uint32_t>& word, int64_t count) {
        const auto first = static_cast<uint32_t>(symbols_.size());
        for (uint32_t i = 0; i < word.size(); ++i)
            symbols_.push_back({.token = word[i],
                                .previous = i == 0 ? kNone : first + i - 1,
                                .next = i + 1 == word.size() ? kNone : first + i + 1,
                                .count = count});
        for (uint32_t i = first; i < symbols_.size(); ++i) change(i, count);
    }

    void queueAll() {
        for (const auto& [pair, place] : pairs_) queue_.push({place.count, pair});
    }

    /// Counts the pair that begins with a symbol. @return the pair; none at the end of a word
    std::optional<uint64_t> change(uint32_t left, int64_t by) {
        if (left == kNone || symbols_[left].next == kNone) return std::nullopt;
        const uint64_t pair = pairOf(symbols_[left].token, symbols_[symbols_[left].next].token);
        Place& place = pairs_[pair];
        place.count += by;
        if (by > 0) place.left.push_back(left);
        return pair;
    }

    void merge(uint32_t left, uint32_t right) {
        const std::string text = tokens_[left] + tokens_[right].substr(prefix_.size());
        const auto [known, isNew] = ids_.emplace(text, static_cast<uint32_t>(tokens_.size()));
        const uint32_t id = known->second;
        if (isNew) tokens_.push_back(text);

        std::vector<uint32_t> places = std::move(pairs_[pairOf(left, right)].left);
        std::ranges::sort(places); // of "aaa", the first two letters become one
        std::set<uint64_t> grown;
        for (const uint32_t at : places) {
            Symbol& symbol = symbols_[at];
            if (symbol.token != left || symbol.next == kNone || symbols_[symbol.next].token != right) continue;
            const uint32_t gone = symbol.next;
            for (const uint32_t begin : {symbol.previous, at, gone}) change(begin, -symbol.count);
            symbol.token = id;
            symbol.next = symbols_[gone].next;
            if (symbol.next != kNone) symbols_[symbol.next].previous = at;
            symbols_[gone].token = kNone;
            for (const uint32_t begin : {symbol.previous, at})
                if (const auto pair = change(begin, symbol.count)) grown.insert(*pair);
        }
        for (const uint64_t pair : grown) queue_.push({pairs_[pair].count, pair});
    }

    std::vector<std::string> tokens_; ///< by id
    std::string prefix_;              ///< of tokens that continue a word
    std::unordered_map<std::string, uint32_t> ids_;
    std::vector<Symbol> symbols_; ///< of all words
    std::unordered_map<uint64_t, Place> pairs_;
    std::priority_queue<Candidate> queue_; ///< counts are upper limits: they may have fallen since
};

} // namespace

std::vector<MergePair> learnBpe(std::string_view text, int count, const StopPoint& stopPoint) {
    return Learner(countWords(text, stopPoint)).learn(count, stopPoint);
}

std::vector<std::string> learnWordPieces(const std::map<std::string, int64_t>& words, size_t most,
                                         const StopPoint& stopPoint) {
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
    while (learner.tokens().size() < most && !learner.learn(1, stopPoint).empty()) {
    }
    return learner.tokens();
}

} // namespace attn
