#include "engine/attention/attention_spec.h"
#include "engine/attention/block/block_flow.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/attention/parts.h"
#include "engine/core/bit_row.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace attn {
namespace {

/// A position that depends on the distance of query and key, as those that act on scores do, but not on the scores.
const Part* relativeWithoutScores() {
    const auto parts = partCatalogue();
    const auto found = std::ranges::find_if(parts, [](const Part* part) {
        return part->slot == Slot::Position && part->position.isRelative && !part->actsOnScores;
    });
    return found == parts.end() ? nullptr : *found;
}

/// Gathers problems; each offers the nearest spec without that problem.
class Checker {
public:
    Checker(const AttentionSpec& spec, const AttentionUse& use) : spec_(spec), use_(use) {}

    std::vector<SpecProblem> run() {
        const Part &heads = spec_.part(Slot::Heads), &position = spec_.part(Slot::Position);
        const Part &score = spec_.part(Slot::Score), &memory = spec_.part(Slot::Memory),
                   &mixer = spec_.part(Slot::Mixer);
        const Part &output = spec_.part(Slot::Output), &projections = spec_.part(Slot::Projections);
        const bool isAttention = !mixer.mix.replacesAttention;
        const Part& core = isAttention ? spec_.part(Slot::Normaliser) : mixer;

        const HeadCounts counts = headCounts(spec_);
        if (counts.heads % counts.groups != 0)
            add(fmt::format("{0} heads cannot share {1} key/value heads; choose a number that divides {0}",
                            counts.heads, counts.groups),
                [&](AttentionSpec& nearest) {
                    int64_t groups = counts.groups;
                    while (counts.heads % groups != 0) --groups;
                    nearest.setValue(Slot::Heads, "groups", static_cast<double>(groups));
                });
        for (const Slot slot : kSpecSlots) {
            const Part& part = spec_.part(slot);
            if (const auto problem =
                    part.checkValues ? part.checkValues(spec_.values(slot), use_.headWidth) : std::nullopt)
                add(problem->sentence, [&](AttentionSpec& nearest) {
                    if (problem->list.empty())
                        nearest.setValue(slot, problem->param, problem->value);
                    else
                        nearest.setList(slot, problem->list);
                });
        }

        if (core.mix.needsSharedQueryKey && !heads.sharesQueryKey)
            add(fmt::format("{} hashes vectors that are both query and key, but {} has separate ones", core.title,
                            heads.title),
                [&](AttentionSpec& nearest) {
                    nearest.put(Slot::Heads, kSharedQueryKey.id, {static_cast<double>(counts.heads)});
                });
        if (!core.mix.usesScores) {
            const auto needsScores = [&](const Part& part, const std::function<void(AttentionSpec&)>& mend) {
                add(fmt::format("{} needs a score for every pair of tokens, but {} computes none", part.title,
                                core.title),
                    mend);
            };
            if (position.actsOnScores)
                needsScores(position, [&](AttentionSpec& nearest) {
                    const Part* other = isAttention ? relativeWithoutScores() : nullptr;
                    if (other)
                        nearest.set(Slot::Position, other->id);
                    else
                        nearest.reset(Slot::Position);
                });
            if (!isDefault(Slot::Score)) needsScores(score, [](AttentionSpec& nearest) { nearest.reset(Slot::Score); });
            if (projections.actsOnScores)
                needsScores(projections, [](AttentionSpec& nearest) { nearest.reset(Slot::Projections); });
            if (heads.actsOnScores && !(core.mix.needsSharedQueryKey && heads.sharesQueryKey))
                needsScores(heads, [&](AttentionSpec& nearest) { setHeads(nearest, {counts.heads, counts.heads}); });
            if (!memory.hooks.empty()) needsScores(memory, [](AttentionSpec& nearest) { nearest.reset(Slot::Memory); });
            for (const auto& term : spec_.mask.contentTerms()) {
                add(fmt::format("{} hides single pairs of tokens, but {} never computes pairs", term.part->title,
                                core.title),
                    [&](AttentionSpec& nearest) { nearest.mask = spec_.mask.staticPart(); });
                break;
            }
            if (!isAttention && !isDefault(Slot::Normaliser))
                add(fmt::format("{} replaces attention and does not use {}", mixer.title,
                                spec_.part(Slot::Normaliser).title),
                    [](AttentionSpec& nearest) { nearest.reset(Slot::Normaliser); });
        }

        if (mixer.mix.mixesStream) checkStream(mixer);
        if (!projections.hooks.empty() && (heads.sharesQueryKey || !memory.hooks.empty()))
            add(fmt::format("{} gives global tokens keys of their own, but {}", projections.title,
                            heads.sharesQueryKey ? fmt::format("with {} every key is made of its query", heads.title)
                                                 : fmt::format("{} keeps only the ordinary ones", memory.title)),
                [](AttentionSpec& nearest) { nearest.reset(Slot::Projections); });
        checkMask(core);
        if (use_.isCross) {
            for (const Slot slot : kSpecSlots)
                if (spec_.part(slot).needsEqualLengths)
                    add(fmt::format("{} works within one sequence, but here the keys come from another",
                                    spec_.part(slot).title),
                        [slot](AttentionSpec& nearest) { nearest.reset(slot); });
        }
        if (output.mixesHeads && counts.heads == 1)
            add(fmt::format("{} mixes heads, but there is only one", output.title),
                [](AttentionSpec& nearest) { nearest.reset(Slot::Output); });
        if (const Part* residual = spec_.blockPart(Slot::Residual);
            residual && residual->knowsGrid && !residual->block->lastKey && use_.isCausalTask)
            add(fmt::format("{} mixes each token with later ones, and the task is to predict them", residual->title),
                [](AttentionSpec& nearest) { nearest.parts.erase(Slot::Residual); });
        return std::move(problems_);
    }

private:
    /// @param mend null: every change would take the mechanism away
    void add(std::string sentence, const std::function<void(AttentionSpec&)>& mend) {
        std::optional<AttentionSpec> nearest;
        if (mend) mend(nearest.emplace(spec_));
        problems_.push_back({std::move(sentence), std::move(nearest)});
    }

    /// Whether a slot has its default part and values.
    bool isDefault(Slot slot) const {
        AttentionSpec other = spec_;
        other.reset(slot);
        return other.parts.at(slot) == spec_.parts.at(slot);
    }

    /// Parts that act on what a mixer of the stream does not have.
    void checkStream(const Part& mixer) {
        const auto acts = [](const Part& part, Stage stage) {
            return std::ranges::find(part.hooks, stage, &Hook::stage) != part.hooks.end();
        };
        const Part &position = spec_.part(Slot::Position), &output = spec_.part(Slot::Output);
        if (acts(position, Stage::QueriesKeys) && !position.actsOnScores)
            add(fmt::format("{} acts on queries and keys, but {} mixes the residual stream itself and makes none",
                            position.title, mixer.title),
                [](AttentionSpec& nearest) { nearest.reset(Slot::Position); });
        if (!output.hooks.empty())
            add(fmt::format("{} acts on heads, but {} mixes the residual stream itself, which has none", output.title,
                            mixer.title),
                [](AttentionSpec& nearest) { nearest.reset(Slot::Output); });
    }

    MaskSize size() const {
        return {.queries = use_.queries,
                .keys = use_.keys,
                .heads = static_cast<int>(headCounts(spec_).heads),
                .layer = use_.layer};
    }

    /// What a mask shows; nothing if a term is undefined at this size, which building the attention reports.
    std::optional<MaskSight> sight(const MaskExpression& mask) const {
        try {
            return mask.sight(size());
        } catch (const Error&) {
            return {};
        }
    }

    /// Whether a causal mask leaves something of a mask that looks ahead: neither all of the past nor nothing.
    bool survivesCausal(const MaskExpression& causal) const {
        if (!causal.contentTerms().empty()) return true;
        if (sight(causal) == MaskSight::Past) return false;
        MaskSize at = size();
        BitRow row;
        for (at.head = 0; at.head < (causal.dependsOnHead() ? at.heads : 1); ++at.head)
            for (int64_t query = 0; query < at.queries; ++query) {
                causal.row(at, query, row);
                if (row.any()) return true;
            }
        return false;
    }

    void checkMask(const Part& core) {
        const std::optional<MaskSight> shown = sight(spec_.mask);
        const bool isFull = shown == MaskSight::All,
                   looksAhead = shown == MaskSight::Ahead || (isFull && use_.keys > 1);
        if (core.mix.masks == MaskSupport::FullOnly) {
            if (use_.isCausalTask || !isFull) {
                const bool becomesCausal = core.mix.causalForm && (use_.isCausalTask || shown == MaskSight::Past);
                const std::string why = core.mix.causalForm
                                            ? fmt::format("; {}, can be causal", core.mix.causalForm->title)
                                            : ", so nothing can be hidden from a position";
                std::function<void(AttentionSpec&)> mend;
                if (becomesCausal)
                    mend = [&](AttentionSpec& nearest) {
                        nearest.set(core.slot, core.mix.causalForm->id);
                        nearest.mask = MaskExpression::causal();
                    };
                else if (!use_.isCausalTask)
                    mend = [](AttentionSpec& nearest) { nearest.mask = MaskExpression(); };
                add(fmt::format("every position contributes to every result of {}{}", core.title, why), mend);
            }
            return;
        }
        if (core.mix.masks == MaskSupport::CausalOnly) {
            if (use_.keys > 1 && shown != MaskSight::Past)
                add(fmt::format("{} reads the tokens one after another, so it needs the mask causal instead of {}",
                                core.title, spec_.mask.text()),
                    [](AttentionSpec& nearest) { nearest.mask = MaskExpression::causal(); });
            return;
        }
        if (core.mix.masks == MaskSupport::FullOrCausal && !isFull && shown != MaskSight::Past)
            add(fmt::format("{} can work with a full or a causal mask but not with {}", core.title, spec_.mask.text()),
                [&](AttentionSpec& nearest) {
                    nearest.mask = looksAhead && !use_.isCausalTask ? MaskExpression() : MaskExpression::causal();
                });
        else if (use_.isCausalTask && looksAhead && shown && attn::looksAhead(spec_, use_.keys, use_.layer)) {
            const MaskExpression causal = isFull ? MaskExpression::causal() : MaskExpression::causal() & spec_.mask;
            if (isFull || survivesCausal(causal))
                add(fmt::format("the task is to predict the next token, but the mask {} shows it", spec_.mask.text()),
                    [&](AttentionSpec& nearest) { nearest.mask = causal; });
            else
                add(fmt::format("the task is to predict the next token, but the mask {} shows it, and a causal mask "
                                "would leave nothing of its pattern",
                                spec_.mask.text()),
                    {});
        }
    }

    const AttentionSpec& spec_;
    const AttentionUse& use_;
    std::vector<SpecProblem> problems_;
};

/// The spec after one mend after another. None: a problem has no mend, or mends do not come to an end.
std::optional<AttentionSpec> mended(AttentionSpec spec, const AttentionUse& use) {
    constexpr int kMostMends = 16;
    for (int mends = 0; mends < kMostMends; ++mends) {
        const std::vector<SpecProblem> problems = Checker(spec, use).run();
        if (problems.empty()) return spec;
        const auto next = std::ranges::find_if(problems, [](const auto& each) { return each.nearest.has_value(); });
        if (next == problems.end()) break;
        spec = *next->nearest;
    }
    return {};
}

} // namespace

std::vector<SpecProblem> check(const AttentionSpec& spec, const AttentionUse& use) {
    std::vector<SpecProblem> problems = Checker(spec, use).run();
    for (SpecProblem& problem : problems)
        if (problem.nearest) problem.nearest = mended(std::move(*problem.nearest), use);
    return problems;
}

} // namespace attn
