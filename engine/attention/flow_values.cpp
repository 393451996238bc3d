#include "engine/attention/flow.h"

#include "engine/attention/part.h"
#include "engine/attention/terms.h"
#include "engine/core/random_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

// What an attention declares while it is built: parameters, constants, tables by cell, states.

namespace attn {
namespace {

using namespace terms;

/// What a flow's mask shows, at the longest sequence of a step or at the lengths of a whole sequence.
template <class Flow> MaskSight sightOf(const Flow& flow, int64_t queries, int64_t keys) {
    return flow.spec.mask.sight({.queries = queries,
                                 .keys = keys,
                                 .heads = static_cast<int>(flow.heads),
                                 .layer = static_cast<int>(flow.layer)});
}
bool isAhead(MaskSight shown, int64_t keys) {
    return shown == MaskSight::Ahead || (shown == MaskSight::All && keys > 1);
}
double scaleOf(const AttentionSpec& spec, int64_t width) {
    const Part& score = spec.part(Slot::Score);
    return score.score.dotScale ? score.score.dotScale(spec.values(Slot::Score), width) : 1;
}

} // namespace

Tensor AttentionFlow::parameter(const std::string& name, Shape shape, InitialValue initial) {
    const bool isPosition = !positionWeights.empty() && name.starts_with("position.");
    return declared((isPosition        ? positionWeights
                     : weights.empty() ? prefix
                                       : weights) +
                        "." + name,
                    std::move(shape), initial);
}

void AttentionFlow::setAverage(const std::string& name, Tensor value) {
    averages.emplace_back((weights.empty() ? prefix : weights) + "." + name, value);
}

Tensor AttentionFlow::stackParameter(const std::string& name, Shape shape, InitialValue initial) {
    if (stackWeights.empty()) return parameter(name, std::move(shape), initial);
    return declared(stackWeights + "." + name, std::move(shape), initial);
}

Tensor AttentionFlow::declared(std::string name, Shape shape, InitialValue initial) {
    if (std::ranges::none_of(parameters, [&](const FlowParameter& known) { return known.name == name; }))
        parameters.push_back({name, shape, initial});
    return graph.parameter(std::move(name), std::move(shape));
}

Tensor AttentionFlow::constant(const std::string& name, Shape shape, std::vector<float> values) {
    return constant(name, std::move(shape), [values = std::move(values)] { return values; });
}

Tensor AttentionFlow::constant(const std::string& name, Shape shape, std::function<std::vector<float>()> values) {
    // Plans for other lengths may share a store but have other constants.
    const std::string full = fmt::format("{}.{}#{}x{}", prefix, name, queries, keys);
    if (std::ranges::none_of(constants, [&](const FlowConstant& known) { return known.name == full; }))
        constants.push_back({full, shape, std::move(values)});
    return graph.parameter(full, std::move(shape));
}

std::vector<float> initialNumbers(const FlowParameter& parameter, uint64_t seed) {
    const int64_t rows = parameter.shape.rows(), columns = parameter.shape.columns();
    const InitialValue& initial = parameter.initial;
    std::vector<float> values(static_cast<size_t>(rows * columns), initial.kind == InitialValue::Kind::One ? 1.0f
                                                                   : initial.kind == InitialValue::Kind::Constant
                                                                       ? static_cast<float>(initial.deviation)
                                                                       : 0.0f);
    if (initial.kind == InitialValue::Kind::Normal) return gaussianRows(rows, columns, initial.deviation, seed);
    if (initial.kind == InitialValue::Kind::Identity) {
        values = gaussianRows(rows, columns, initial.deviation, seed);
        for (int64_t i = 0; i < std::min(rows, columns); ++i) values[static_cast<size_t>(i * columns + i)] += 1;
    }
    return values;
}

void AttentionFlow::addToScores(const std::string& name, Tensor term) {
    terms.emplace_back(name, term);
    scores = plus(scores, term);
}

Tensor AttentionFlow::table(const std::string& name, Shape shape, std::function<std::vector<float>()> values) {
    if (std::ranges::none_of(constants, [&](const FlowConstant& known) { return known.name == name; }))
        constants.push_back({name, shape, std::move(values)});
    return graph.parameter(name, std::move(shape));
}

Tensor AttentionFlow::byPosition(const std::string& name, int64_t rows, int64_t columns,
                                 const std::function<double(int64_t, int64_t)>& of) {
    const int64_t count = isStep() ? context : rows;
    const auto values = [count, columns, of] {
        std::vector<float> numbers;
        for (int64_t i = 0; i < count; ++i)
            for (int64_t c = 0; c < columns; ++c) numbers.push_back(static_cast<float>(of(i, c)));
        return numbers;
    };
    const Tensor all = table(fmt::format("{}.{}#{}", prefix, name, count), {count, columns}, values);
    return isStep() ? take(all, positions) : all;
}

Tensor AttentionFlow::byDistance(const std::string& name, int64_t columns,
                                 const std::function<double(int64_t, int64_t)>& of) {
    const int64_t count = queries + keys - 1;
    const auto numbers = [columns, of](int64_t first, int64_t end) {
        std::vector<float> values;
        for (int64_t distance = first; distance < end; ++distance)
            for (int64_t c = 0; c < columns; ++c) values.push_back(static_cast<float>(of(distance, c)));
        return values;
    };
    if (!isStep()) return constant(name, {count, columns}, [=, T = queries, S = keys] { return numbers(1 - T, S); });
    const Tensor all = table(fmt::format("{}.{}#distances", prefix, name), {2 * context - 1, columns},
                             [=, L = context] { return numbers(1 - L, L); });
    // Row i is of distance i - (T - 1) - p, where p is the first query's position.
    const Tensor rows =
        table(fmt::format("{}.distances#{}x{}", prefix, queries, keys), {count}, [count, first = context - queries] {
            std::vector<float> ids;
            for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<float>(i + first));
            return ids;
        });
    return take(all, toInteger(minus(rows, toReal(slice(positions, 0, 0, 1)))));
}

Tensor AttentionFlow::byCell(const std::string& name, const std::function<double(int64_t, int64_t)>& of) {
    const int64_t rows = isStep() ? keys : queries; // a step's positions are below S
    const Tensor all = table(fmt::format("{}.{}#{}x{}", prefix, name, rows, keys), {rows, keys}, [=, S = keys] {
        std::vector<float> values;
        values.reserve(static_cast<size_t>(rows * S));
        for (int64_t t = 0; t < rows; ++t)
            for (int64_t s = 0; s < S; ++s) values.push_back(static_cast<float>(of(t, s)));
        return values;
    });
    return isStep() ? take(all, positions) : all;
}

Tensor AttentionFlow::byGlobals(Tensor ofGlobals, Tensor ofOthers) {
    const Tensor isGlobal = byPosition("projections.globals", queries, 1,
                                       [count = globals](int64_t t, int64_t) { return t < count ? 1.0 : 0.0; });
    return select(isGlobal, ofGlobals, ofOthers);
}

Tensor AttentionFlow::parameterByCell(const std::string& name, InitialValue initial) {
    if (!isStep()) return parameter(name, {queries, keys}, initial);
    return slice(take(parameter(name, {context, context}, initial), positions), 1, 0, keys);
}

Tensor AttentionFlow::state(const std::string& name, const Shape& shape, double initial) {
    const Tensor kept = graph.state(prefix + ".state_" + name, {.shape = shape});
    const Tensor hasBegun = reshape(toReal(slice(positions, 0, 0, 1)), {1, 1}); // not 0 after the first step
    return select(hasBegun, kept, fill(graph, {1, 1}, initial));
}

void AttentionFlow::setState(const std::string& name, Tensor value) {
    const std::string full = prefix + ".state_" + name;
    updates.emplace_back(full, assign(graph.state(full, {.shape = value.shape()}), value, StepScalar::Beginning));
}

MaskSight AttentionFlow::sight() const {
    return isStep() ? sightOf(*this, context, context) : sightOf(*this, queries, keys);
}
std::optional<MaskBand> AttentionFlow::band() const {
    if (const auto band = spec.mask.band()) return band;
    if (!spec.mask.contentTerms().empty()) return {};
    const int64_t most = std::max(queries, keys);
    const MaskSight seen = sight();
    if (seen == MaskSight::Past) return MaskBand{most, 0};
    return seen == MaskSight::All ? std::optional(MaskBand{most, most}) : std::nullopt;
}
bool AttentionFlow::isCausal() const { return sight() == MaskSight::Past; }
bool AttentionFlow::looksAhead() const { return isAhead(sight(), isStep() ? context : keys); }
double AttentionFlow::scoreScale() const { return scaleOf(spec, width); }
bool ReferenceFlow::isVisible(int64_t head, int64_t t, int64_t s) const {
    return mask[static_cast<size_t>((head * queries + t) * keys + s)] != 0;
}
bool ReferenceFlow::isCausal() const { return sightOf(*this, queries, keys) == MaskSight::Past; }
bool ReferenceFlow::looksAhead() const { return isAhead(sightOf(*this, queries, keys), keys); }
double ReferenceFlow::scoreScale() const { return scaleOf(spec, width); }

Dense::Dense(std::vector<int64_t> shape, double value)
    : extents(std::move(shape)),
      data(static_cast<size_t>(std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies{})), value) {
}

size_t Dense::offset(std::initializer_list<int64_t> index) const {
    int64_t at = 0;
    size_t axis = 0;
    for (int64_t i : index) at = at * extents[axis++] + i;
    return static_cast<size_t>(at);
}

} // namespace attn
