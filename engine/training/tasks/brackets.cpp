#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<Param, 3> kParams{{
    {"kinds", "Kinds", "Number of kinds of brackets: ( [ { <", Param::Kind::Integer, 1, 4, 1, 3},
    {"depth", "Depth", "Largest number of brackets open at once", Param::Kind::Integer, 1, 12, 1, 4},
    {"length", "Length", "Largest number of brackets in the question", Param::Kind::Integer, 1, 120, 1, 20},
}};

/// The start of a balanced string with at least one open bracket, then the brackets that close it.
class Brackets : public SequenceTask {
public:
    Brackets(const TaskValues& values, uint64_t seed)
        : SequenceTask(symbolsOf(values.integer("kinds")),
                       values.integer("length") + std::min(values.integer("depth"), values.integer("length")) + 1,
                       seed),
          kinds_(values.integer("kinds")), depth_(static_cast<size_t>(values.integer("depth"))),
          length_(values.integer("length")) {}

private:
    /// Bracket 2 k opens kind k, 2 k + 1 closes it.
    static std::vector<std::string> symbolsOf(int kinds) {
        constexpr std::string_view kBrackets = "()[]{}<>";
        std::vector<std::string> symbols;
        for (const char bracket : kBrackets.substr(0, 2 * static_cast<size_t>(kinds))) symbols.emplace_back(1, bracket);
        return symbols;
    }

    TaskSequence draw(Draws& draws) const override {
        TaskSequence sequence;
        std::vector<int32_t> open; // kinds
        const auto openOne = [&] {
            open.push_back(draws.below(kinds_));
            sequence.add(2 * open.back());
        };
        for (int left = draws.below(length_); left > 0; --left) {
            if (open.empty() || (open.size() < depth_ && draws.chance(0.5))) {
                openOne();
            } else {
                sequence.add(2 * open.back() + 1);
                open.pop_back();
            }
        }
        if (open.empty()) openOne();
        std::vector<int32_t> closing;
        for (size_t i = open.size(); i-- > 0;) closing.push_back(2 * open[i] + 1);
        closing.push_back(endToken());
        sequence.addAnswer(closing);
        return sequence;
    }

    int kinds_;
    size_t depth_;
    int length_;
};

} // namespace

constinit const Task kBracketsTask{
    .id = "brackets",
    .title = "Balanced brackets",
    .summary = "Closes every bracket that is still open, the innermost first: ( [ ] { -> } )",
    .hint = "Watch: each closing bracket attends to the bracket that it closes, past pairs that are already closed.",
    .citation = "Yao et al. 2021, \"Self-Attention Networks Can Process Bounded Hierarchical Languages\", "
                "arXiv:2105.11115",
    .params = kParams,
    .make = makeSeeded<Brackets>,
};

} // namespace attn
