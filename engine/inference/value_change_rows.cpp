#include "engine/inference/value_change_rows.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace attn {

HookShape editableShape(const Graph& graph, const ValueChange& change, const std::string& model) {
    const auto probe = graph.probes().find(change.hook);
    if (probe == graph.probes().end())
        throw Error({.what = fmt::format("there is no hook \"{}\"", change.hook),
                     .where = model,
                     .hint = "'attention-cli models PATH --hooks' lists the hooks"});
    const auto& [tensor, axes] = probe->second;
    if (axes != "TC" && axes != "THD" && axes != "TGD")
        throw Error({.what = fmt::format("{} cannot be changed token by token", change.hook),
                     .where = model,
                     .hint = "change queries, keys, values, z, or what flows between the layers; patterns are set by "
                             "hand"});
    const Shape& shape = tensor.shape();
    HookShape result{.heads = axes == "TC" ? 1 : shape[1], .width = axes == "TC" ? shape[1] : shape[1] * shape[2]};
    if (change.head >= result.heads || (axes == "TC" && change.head >= 0))
        throw Error(
            {.what = fmt::format("{} has no head {}", change.hook, change.head),
             .where = model,
             .hint = result.heads == 1 ? "remove the head" : fmt::format("choose one from 0 to {}", result.heads - 1)});
    if (!std::isfinite(change.amount))
        throw Error({.what = "the amount is not a number", .where = change.hook, .hint = "enter a number"});
    return result;
}

std::optional<HookChanges::Rows> rowsOf(const ValueChange& change, const HookShape& shape, const CapturedHook* values,
                                        const CapturedHook* contrast) {
    HookChanges::Rows rows{.head = change.head, .position = change.position, .keep = 1 - change.amount};
    if (change.kind == ValueChange::Kind::Zero) return rows;
    const auto count = static_cast<size_t>(values->shape[0]), width = static_cast<size_t>(shape.width);
    const auto rowOf = [&](const CapturedHook& hook, size_t row) {
        return std::span(hook.values).subspan(row * width, width);
    };
    // The input can change later, so tokens that it lacks are ignored.
    if (change.text.empty() && std::max(change.position, change.textPosition) >= static_cast<int>(count)) return {};
    const auto checked = [&](int position) {
        if (position >= static_cast<int>(count))
            throw Error({.what = fmt::format("the source of the values has no token {}", position),
                         .where = change.hook,
                         .hint = fmt::format("it has {} tokens", count)});
        return static_cast<size_t>(position);
    };
    rows.rows = 1;
    rows.values.assign(width, 0);
    switch (change.kind) {
    case ValueChange::Kind::Zero:
        break;
    case ValueChange::Kind::Mean:
        for (size_t row = 0; row < count; ++row)
            for (size_t i = 0; i < width; ++i) rows.values[i] += rowOf(*values, row)[i] / static_cast<float>(count);
        break;
    case ValueChange::Kind::Patch:
        if (change.position < 0 && change.textPosition < 0) {
            rows.values = values->values;
            rows.rows = static_cast<int64_t>(count);
            rows.isByToken = true;
        } else {
            const int from = change.textPosition >= 0 ? change.textPosition : change.position;
            std::ranges::copy(rowOf(*values, checked(from)), rows.values.begin());
        }
        break;
    case ValueChange::Kind::Steer: {
        rows.keep = 1;
        const size_t from = change.textPosition >= 0 ? checked(change.textPosition) : count - 1;
        std::ranges::copy(rowOf(*values, from), rows.values.begin());
        if (!contrast) break;
        const auto last = rowOf(*contrast, static_cast<size_t>(contrast->shape[0]) - 1);
        for (size_t i = 0; i < width; ++i) rows.values[i] -= last[i];
        break;
    }
    }
    for (float& value : rows.values) value *= change.amount;
    return rows;
}

} // namespace attn
