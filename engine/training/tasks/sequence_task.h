#pragma once

#include "engine/data/draws.h"
#include "engine/training/tasks/task.h"

namespace attn {

/// A random example of a task with symbols.
struct TaskSequence {
    struct Answer {
        size_t begin, end; ///< range of tokens; the tokens before it are its prompt
    };

    std::vector<int32_t> tokens{};
    std::vector<Answer> answers{}; ///< in order, not empty; Example asks for the last one
    std::vector<int32_t>
        identity{}; ///< examples with equal values are the same; empty: all tokens before the last answer

    std::optional<Split> split{}; ///< of examples that are given; none: equal ones are put into one split

    void add(int32_t token) { tokens.push_back(token); }
    void add(std::span<const int32_t> more) { tokens.insert(tokens.end(), more.begin(), more.end()); }
    void addAnswer(std::span<const int32_t> answer) {
        answers.push_back({tokens.size(), tokens.size() + answer.size()});
        add(answer);
    }
    void addAnswer(int32_t token) { addAnswer({&token, 1}); }
};

/// A task that draws sequences of symbols and asks for parts of them. Shorter rows are padded with end tokens, which
/// have no targets.
class SequenceTask : public TaskInstance {
public:
    Batch batch(Split split, uint64_t index, int rows) const final;
    Example example(Split split, uint64_t index) const final;

protected:
    /// @param symbols       texts of ids 0, 1, ...; the end token follows them
    /// @param longest       tokens of the longest sequence
    /// @param trainShare    share of all possible examples for training
    SequenceTask(const std::vector<std::string>& symbols, int longest, uint64_t seed, double trainShare = 0.8);

    int32_t endToken() const { return end_; }
    /// Draws an example of any split.
    virtual TaskSequence draw(Draws& draws) const = 0;

private:
    TaskSequence drawFrom(Split split, uint64_t index) const;

    int32_t end_;
    uint64_t seed_;
    double trainShare_;
};

/// The numbers from 0 to count - 1 as symbols, then `more`.
std::vector<std::string> numberSymbols(int count, const std::vector<std::string>& more = {});
/// The first `count` of "a" ... "z", "A" ... "Z", then `more`. @pre count is at most 52
std::vector<std::string> letterSymbols(int count, const std::vector<std::string>& more = {});

} // namespace attn
