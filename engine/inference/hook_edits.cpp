#include "engine/inference/hook_edits.h"

#include <algorithm>
#include <cmath>

namespace attn {

void HookEdits::declare(const std::string& hook, int64_t heads, int64_t width) {
    hooks_.try_emplace(hook, Hook{.heads = heads, .width = width, .rows = {}});
}

void HookEdits::add(const std::string& hook, Rows rows) { hooks_.at(hook).rows.push_back(std::move(rows)); }

std::set<std::string> HookEdits::hooks() const {
    std::set<std::string> names;
    for (const auto& [name, hook] : hooks_) names.insert(name);
    return names;
}

std::set<int> HookEdits::patternLayers() const {
    std::set<int> layers;
    for (const auto& [head, edit] : patterns_) layers.insert(head.first);
    return layers;
}

bool HookEdits::editsPatternOf(int layer) const { return patternLayers().contains(layer); }

void HookEdits::write(const std::string& name, size_t first, size_t count, size_t stride, std::span<float> kept,
                      std::span<float> added) const {
    const Hook& hook = hooks_.at(name);
    const auto heads = static_cast<size_t>(hook.heads), each = static_cast<size_t>(hook.width) / heads;
    std::ranges::fill(kept.first(count * heads * stride), 1.0f);
    std::ranges::fill(added.first(count * heads * stride), 0.0f);
    for (const Rows& edit : hook.rows)
        for (size_t row = 0; row < count; ++row) {
            const size_t token = first + row;
            if (edit.position >= 0 && token != static_cast<size_t>(edit.position)) continue;
            if (edit.isByToken && token >= static_cast<size_t>(edit.rows)) continue;
            for (size_t head = 0; head < heads; ++head) {
                if (edit.head >= 0 && head != static_cast<size_t>(edit.head)) continue;
                const size_t at = (row * heads + head) * stride;
                const size_t from = (edit.isByToken ? token : 0) * static_cast<size_t>(hook.width) + head * each;
                for (size_t i = 0; i < each; ++i) {
                    kept[at + i] *= edit.keep;
                    added[at + i] = added[at + i] * edit.keep + (edit.values.empty() ? 0.0f : edit.values[from + i]);
                }
            }
        }
}

std::vector<float> editedRow(const PatternEdit& edit, int query, std::span<const int> keys) {
    std::vector<float> weights(keys.size(), 0);
    switch (edit.kind) {
    case PatternEdit::Kind::Rows: {
        const auto row = edit.rows.find(query);
        if (row == edit.rows.end()) return {};
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
    case PatternEdit::Kind::Pin: {
        const auto place = std::ranges::find(keys, edit.key);
        if (place == keys.end()) return {};
        weights[static_cast<size_t>(place - keys.begin())] = 1;
        return weights;
    }
    case PatternEdit::Kind::Uniform: {
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
