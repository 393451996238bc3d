#pragma once

#include "engine/training/tasks/draws.h"
#include "engine/training/tasks/task.h"

namespace attn {

/// One drawn example of a task made of symbols.
struct Sequence {
    struct Answer {
        size_t begin, end; ///< of tokens; what stands before it is its prompt
    };

    std::vector<int32_t> tokens{};
    std::vector<Answer> answers{};   ///< in order, not empty; the last one is the one that Example asks for
    std::vector<int32_t> identity{}; ///< what makes two examples the same; empty: all tokens before the last answer

    void add(int32_t token) { tokens.push_back(token); }
    void add(std::span<const int32_t> more) { tokens.insert(tokens.end(), more.begin(), more.end()); }
    void addAnswer(std::span<const int32_t> answer) {
        answers.push_back({tokens.size(), tokens.size() + answer.size()});
        add(answer);
    }
    void addAnswer(int32_t token) { addAnswer({&token, 1}); }
};

/// A task that draws sequences of symbols and asks for parts of them. Rows shorter than the context are filled up with
/// the end token, and nothing is asked there.
class SequenceTask : public TaskInstance {
public:
    Batch batch(Split split, uint64_t index, int rows) const final;
    Example example(Split split, uint64_t index) const final;

protected:
    /// @param symbols       texts of ids 0, 1, ...; the end token follows them
    /// @param longest       tokens of the longest sequence
    /// @param trainShare    of all possible examples
    SequenceTask(const std::vector<std::string>& symbols, int longest, uint64_t seed, double trainShare = 0.8);

    int32_t endToken() const { return end_; }
    /// Any example, of whatever split.
    virtual Sequence draw(Draws& draws) const = 0;

private:
    Sequence drawFrom(Split split, uint64_t index) const;

    int32_t end_;
    uint64_t seed_;
    double trainShare_;
};

/// "0", "1", ... for so many numbers, then others.
std::vector<std::string> numberSymbols(int count, const std::vector<std::string>& more = {});
/// "a" ... "z", "A" ... "Z" for up to 52 letters, then others.
std::vector<std::string> letterSymbols(int count, const std::vector<std::string>& more = {});

} // namespace attn
