#include "engine/inference/hook_changes.h"

#include <algorithm>
#include <cmath>

namespace attn {

void HookChanges::declare(const std::string& hook, int64_t heads, int64_t width) {
    hooks_.try_emplace(hook, Hook{.heads = heads, .width = width, .rows = {}});
}

void HookChanges::add(const std::string& hook, Rows rows) { hooks_.at(hook).rows.push_back(std::move(rows)); }

std::set<std::string> HookChanges::hooks() const {
    std::set<std::string> names;
    for (const auto& [name, hook] : hooks_) names.insert(name);
    return names;
}

std::set<int> HookChanges::patternLayers() const {
    std::set<int> layers;
    for (const auto& [head, change] : patterns_) layers.insert(head.first);
    return layers;
}

bool HookChanges::changesPatternOf(int layer) const { return patternLayers().contains(layer); }

void HookChanges::write(const std::string& name, size_t first, size_t count, size_t stride, std::span<float> kept,
                        std::span<float> added) const {
    const Hook& hook = hooks_.at(name);
    const auto heads = static_cast<size_t>(hook.heads), each = static_cast<size_t>(hook.width) / heads;
    std::ranges::fill(kept.first(count * heads * stride), 1.0f);
    std::ranges::fill(added.first(count * heads * stride), 0.0f);
    for (const Rows& change : hook.rows)
        for (size_t row = 0; row < count; ++row) {
            const size_t token = first + row;
            if (change.position >= 0 && token != static_cast<size_t>(change.position)) continue;
            if (change.isByToken && token >= static_cast<size_t>(change.rows)) continue;
            for (size_t head = 0; head < heads; ++head) {
                if (change.head >= 0 && head != static_cast<size_t>(change.head)) continue;
                const size_t at = (row * heads + head) * stride;
                const size_t from = (change.isByToken ? token : 0) * static_cast<size_t>(hook.width) + head * each;
                for (size_t i = 0; i < each; ++i) {
                    kept[at + i] *= change.keep;
                    added[at + i] =
                        added[at + i] * change.keep + (change.values.empty() ? 0.0f : change.values[from + i]);
                }
            }
        }
}

std::vector<float> changedPatternRow(const PatternChange& change, int query, std::span<const int> keys) {
    std::vector<float> weights(keys.size(), 0);
    switch (change.kind) {
    case PatternChange::Kind::Rows: {
        const auto row = change.rows.find(query);
        if (row == change.rows.end()) return {};
        const std::vector<float>& given = row->second;
        double all = 0, seen = 0;
        for (const float weight : given) all += static_cast<double>(weight);
        for (size_t place = 0; place < keys.size(); ++place)
            if (keys[place] != kHidden && static_cast<size_t>(keys[place]) < given.size())
                seen += static_cast<double>(weights[place] = given[static_cast<size_t>(keys[place])]);
        if (seen == 0 && all > 0) return {};
        const bool isWhole = std::abs(all - seen) <= 1e-6 * all;
        if (!isWhole && seen > 0)
            for (float& weight : weights) weight = static_cast<float>(static_cast<double>(weight) * all / seen);
        return weights;
    }
    case PatternChange::Kind::Pin: {
        const auto place = std::ranges::find(keys, change.key);
        if (place == keys.end()) return {};
        weights[static_cast<size_t>(place - keys.begin())] = 1;
        return weights;
    }
    case PatternChange::Kind::Uniform: {
        const auto seen = std::ranges::count_if(keys, [](int key) { return key != kHidden; });
        if (seen == 0) return {};
        for (size_t place = 0; place < keys.size(); ++place)
            if (keys[place] != kHidden) weights[place] = 1 / static_cast<float>(seen);
        return weights;
    }
    }
    return {};
}

} // namespace attn
