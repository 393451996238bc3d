#include "engine/inference/whole_layer.h"

#include "engine/inference/named_changes.h"

#include <string_view>

namespace attn {
namespace {

constexpr std::string_view kAttention = ".hook_attn_out", kMlp = ".hook_mlp_out";

/// The prefix of a hook: "blocks.2" for "blocks.2.hook_attn_out".
std::string blockOf(const Intervention& attention) {
    return attention.hook.substr(0, attention.hook.size() - kAttention.size());
}

bool isWholeLayer(const Intervention& attention, Intervention mlp) {
    if (!attention.hook.ends_with(kAttention) || mlp.hook != blockOf(attention).append(kMlp)) return false;
    mlp.hook = attention.hook;
    return mlp == attention;
}

} // namespace

std::vector<Intervention> wholeLayer(Intervention change, const std::string& block, bool hasMlp) {
    std::vector<Intervention> both;
    change.hook = block + std::string(kAttention);
    both.push_back(change);
    if (!hasMlp) return both;
    change.hook = block + std::string(kMlp);
    both.push_back(std::move(change));
    return both;
}

std::vector<std::span<const Intervention>> changesOf(const std::vector<Intervention>& interventions) {
    std::vector<std::span<const Intervention>> changes;
    for (size_t at = 0; at < interventions.size();) {
        const bool isPair = at + 1 < interventions.size() && isWholeLayer(interventions[at], interventions[at + 1]);
        changes.push_back(std::span(interventions).subspan(at, isPair ? 2 : 1));
        at += changes.back().size();
    }
    return changes;
}

std::span<Intervention> changeAt(Changes& edits, int row) {
    const auto changes = changesOf(edits.interventions);
    const auto at = static_cast<size_t>(row);
    if (row < 0 || at >= changes.size()) return {};
    const auto begin = static_cast<size_t>(changes[at].data() - edits.interventions.data());
    return std::span(edits.interventions).subspan(begin, changes[at].size());
}

void removeChange(Changes& edits, int row) {
    if (const std::span<Intervention> change = changeAt(edits, row); !change.empty()) {
        const auto begin = edits.interventions.begin() + (change.data() - edits.interventions.data());
        edits.interventions.erase(begin, begin + static_cast<std::ptrdiff_t>(change.size()));
    } else if (const auto at = row - std::ssize(changesOf(edits.interventions));
               at >= 0 && at < std::ssize(edits.patterns)) {
        edits.patterns.erase(edits.patterns.begin() + at);
    } else if (const auto gate = at - std::ssize(edits.patterns); gate >= 0 && gate < std::ssize(edits.gates)) {
        edits.gates.erase(std::next(edits.gates.begin(), gate));
    }
}

std::string describe(std::span<const Intervention> change, const ModelStructure& structure) {
    Intervention named = change.front();
    if (change.size() > 1) named.hook = blockOf(named);
    return describe(named, structure);
}

} // namespace attn
