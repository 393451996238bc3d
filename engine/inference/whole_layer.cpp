#include "engine/inference/whole_layer.h"

#include "engine/inference/named_changes.h"

#include <string_view>

namespace attn {
namespace {

constexpr std::string_view kAttention = ".hook_attn_out", kMlp = ".hook_mlp_out";

/// The prefix of a hook: "blocks.2" for "blocks.2.hook_attn_out".
std::string blockOf(const ValueChange& attention) {
    return attention.hook.substr(0, attention.hook.size() - kAttention.size());
}

bool isWholeLayer(const ValueChange& attention, ValueChange mlp) {
    if (!attention.hook.ends_with(kAttention) || mlp.hook != blockOf(attention).append(kMlp)) return false;
    mlp.hook = attention.hook;
    return mlp == attention;
}

} // namespace

std::vector<ValueChange> wholeLayer(ValueChange change, const std::string& block, bool hasMlp) {
    std::vector<ValueChange> both;
    change.hook = block + std::string(kAttention);
    both.push_back(change);
    if (!hasMlp) return both;
    change.hook = block + std::string(kMlp);
    both.push_back(std::move(change));
    return both;
}

std::vector<std::span<const ValueChange>> changesOf(const std::vector<ValueChange>& valueChanges) {
    std::vector<std::span<const ValueChange>> changes;
    for (size_t at = 0; at < valueChanges.size();) {
        const bool isPair = at + 1 < valueChanges.size() && isWholeLayer(valueChanges[at], valueChanges[at + 1]);
        changes.push_back(std::span(valueChanges).subspan(at, isPair ? 2 : 1));
        at += changes.back().size();
    }
    return changes;
}

std::span<ValueChange> changeAt(Changes& allChanges, int row) {
    const auto changes = changesOf(allChanges.valueChanges);
    const auto at = static_cast<size_t>(row);
    if (row < 0 || at >= changes.size()) return {};
    const auto begin = static_cast<size_t>(changes[at].data() - allChanges.valueChanges.data());
    return std::span(allChanges.valueChanges).subspan(begin, changes[at].size());
}

void removeChange(Changes& allChanges, int row) {
    if (const std::span<ValueChange> change = changeAt(allChanges, row); !change.empty()) {
        const auto begin = allChanges.valueChanges.begin() + (change.data() - allChanges.valueChanges.data());
        allChanges.valueChanges.erase(begin, begin + static_cast<std::ptrdiff_t>(change.size()));
    } else if (const auto at = row - std::ssize(changesOf(allChanges.valueChanges));
               at >= 0 && at < std::ssize(allChanges.patterns)) {
        allChanges.patterns.erase(allChanges.patterns.begin() + at);
    } else if (const auto gate = at - std::ssize(allChanges.patterns);
               gate >= 0 && gate < std::ssize(allChanges.gates)) {
        allChanges.gates.erase(std::next(allChanges.gates.begin(), gate));
    }
}

std::string describe(std::span<const ValueChange> change, const ModelStructure& structure) {
    ValueChange named = change.front();
    if (change.size() > 1) named.hook = blockOf(named);
    return describe(named, structure);
}

} // namespace attn
