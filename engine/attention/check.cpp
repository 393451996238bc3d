#include "engine/attention/attention_spec.h"
#include "engine/attention/heads/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace attn {
namespace {

const MaskExpression& causalMask() {
    static const MaskExpression kCausal = MaskExpression::parse("causal");
    return kCausal;
}

/// Gathers problems; each offers the nearest spec without that problem.
class Checker {
public:
    Checker(const AttentionSpec& spec, const AttentionUse& use) : spec_(spec), use_(use) {}

    std::vector<SpecProblem> run() {
        const Part &heads = spec_.part(Slot::Heads), &position = spec_.part(Slot::Position);
        const Part &score = spec_.part(Slot::Score), &memory = spec_.part(Slot::Memory),
                   &mixer = spec_.part(Slot::Mixer);
        const Part& output = spec_.part(Slot::Output);
        const bool isAttention = mixer.id == "attention";
        const Part& core = isAttention ? spec_.part(Slot::Normaliser) : mixer;

        const HeadCounts counts = headCounts(heads, spec_.values(Slot::Heads));
        if (counts.heads % counts.groups != 0)
            add(fmt::format("{0} heads cannot share {1} key/value heads; choose a number that divides {0}",
                            counts.heads, counts.groups),
                [&](AttentionSpec& nearest) {
                    int64_t groups = counts.groups;
                    while (counts.heads % groups != 0) --groups;
                    nearest.setValue(Slot::Heads, "groups", static_cast<double>(groups));
                });
        if (position.id == "rope" &&
            spec_.values(Slot::Position).real("fraction") * static_cast<double>(use_.headWidth) < 2)
            add(fmt::format("rope rotates pairs of features, but this fraction of {} features leaves no pair",
                            use_.headWidth),
                [](AttentionSpec& nearest) { nearest.setValue(Slot::Position, "fraction", 1); });

        if (!core.usesScores) {
            const auto needsScores = [&](const Part& part, Slot slot, std::string_view fallback) {
                add(fmt::format("{} needs a score for every pair of tokens, but {} computes none", part.title,
                                core.title),
                    [slot, fallback](AttentionSpec& nearest) { nearest.set(slot, fallback); });
            };
            if (position.actsOnScores) needsScores(position, Slot::Position, isAttention ? "rope" : "none");
            if (score.id != "scaled_dot") needsScores(score, Slot::Score, "scaled_dot");
            if (heads.actsOnScores) {
                add(fmt::format("{} needs a score for every pair of tokens, but {} computes none", heads.title,
                                core.title),
                    [&](AttentionSpec& nearest) {
                        nearest.set(Slot::Heads, "multi_head", std::array{static_cast<double>(counts.heads)});
                    });
            }
            if (memory.id != "none") needsScores(memory, Slot::Memory, "none");
            for (const auto& term : spec_.mask.contentTerms()) {
                add(fmt::format("{} hides single pairs of tokens, but {} never computes pairs", term.part->title,
                                core.title),
                    [&](AttentionSpec& nearest) { nearest.mask = spec_.mask.staticPart(); });
                break;
            }
            if (!isAttention && spec_.parts.at(Slot::Normaliser) != AttentionSpec().parts.at(Slot::Normaliser))
                add(fmt::format("{} replaces attention and does not use {}", mixer.title,
                                spec_.part(Slot::Normaliser).title),
                    [](AttentionSpec& nearest) { nearest.set(Slot::Normaliser, "softmax"); });
        }

        checkMask(core);
        if (use_.isCross) {
            for (const Slot slot : kSpecSlots)
                if (spec_.part(slot).needsEqualLengths)
                    add(fmt::format("{} works within one sequence, but here the keys come from another",
                                    spec_.part(slot).title),
                        [slot](AttentionSpec& nearest) { nearest.parts[slot] = AttentionSpec().parts.at(slot); });
        }
        if (output.mixesHeads && counts.heads == 1)
            add(fmt::format("{} mixes heads, but there is only one", output.title),
                [](AttentionSpec& nearest) { nearest.set(Slot::Output, "plain"); });
        return std::move(problems_);
    }

private:
    void add(std::string sentence, const std::function<void(AttentionSpec&)>& mend) {
        AttentionSpec nearest = spec_;
        mend(nearest);
        problems_.push_back({std::move(sentence), std::move(nearest)});
    }

    /// Replaces parts that cannot be causal by the nearest ones that can.
    static void makeCausal(AttentionSpec& nearest) {
        const bool isEfficient = nearest.parts.at(Slot::Normaliser).id == "efficient";
        if (isEfficient)
            nearest.set(Slot::Normaliser, "efficient_running");
        else if (nearest.part(Slot::Normaliser).masks == MaskSupport::FullOnly)
            nearest.set(Slot::Normaliser, "softmax");
        if (nearest.part(Slot::Mixer).masks == MaskSupport::FullOnly) nearest.set(Slot::Mixer, "attention");
        nearest.mask = causalMask();
    }

    bool looksAhead(const MaskExpression& mask) const {
        constexpr int64_t kProbe = 64; // long enough for every term to show its shape
        try {
            return mask.staticPart().looksAhead({.queries = kProbe, .keys = kProbe});
        } catch (const std::exception&) {
            return false; // a term is undefined at this size; building the attention reports it
        }
    }

    void checkMask(const Part& core) {
        const bool isFull = spec_.mask == MaskExpression();
        if (core.masks == MaskSupport::FullOnly) {
            if (use_.isCausalTask || !isFull) {
                const std::string_view why = core.id == "efficient" ? "; Efficient Attention, running, can be causal"
                                                                    : ", so nothing can be hidden from a position";
                add(fmt::format("every position contributes to every result of {}{}", core.title, why), makeCausal);
            }
            return;
        }
        if (core.masks == MaskSupport::FullOrCausal && !isFull && spec_.mask != causalMask())
            add(fmt::format("{} uses running sums, which work with a full or a causal mask but not with {}", core.title,
                            spec_.mask.text()),
                [&](AttentionSpec& nearest) {
                    nearest.mask = looksAhead(spec_.mask) && !use_.isCausalTask ? MaskExpression() : causalMask();
                });
        else if (use_.isCausalTask && looksAhead(spec_.mask))
            add(fmt::format("the task is to predict the next token, but the mask {} shows it", spec_.mask.text()),
                [&](AttentionSpec& nearest) {
                    nearest.mask =
                        isFull ? causalMask() : MaskExpression::parse(fmt::format("causal & ({})", spec_.mask.text()));
                });
    }

    const AttentionSpec& spec_;
    const AttentionUse& use_;
    std::vector<SpecProblem> problems_;
};

} // namespace

std::vector<SpecProblem> check(const AttentionSpec& spec, const AttentionUse& use) { return Checker(spec, use).run(); }

} // namespace attn
