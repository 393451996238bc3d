#include "engine/inference/load_parameters.h"

#include "engine/inference/finite_count.h"
#include "engine/ops/training_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

/// @param strange how many of its values are NaN or infinite
void warnOf(const ParameterInfo& parameter, const TensorStore& store, int64_t strange,
            std::vector<std::string>& warnings) {
    if (strange > 0 && parameter.mayBar) strange = wrongLogits(store.read(parameter.name));
    if (strange == 0) return;
    warnings.push_back(fmt::format("{} of {} values of {} are NaN or infinite: the outputs cannot be trusted", strange,
                                   parameter.count, parameter.name));
}

} // namespace

std::vector<std::string> loadParameters(TensorStore& store, std::span<const ParameterInfo> parameters,
                                        const ParameterReader& read, const LoadProgress& progress) {
    std::vector<std::string> warnings;
    int64_t count = 0, done = 0;
    for (const ParameterInfo& parameter : parameters) count += parameter.count;
    for (const ParameterInfo& parameter : parameters) {
        if (progress)
            progress(static_cast<float>(done) / static_cast<float>(std::max<int64_t>(count, 1)), parameter.name);
        const int64_t strange =
            read(parameter.name, Shape(parameter.shape), [&](const auto& fill) { store.write(parameter.name, fill); });
        warnOf(parameter, store, strange, warnings);
        done += parameter.count;
    }
    return warnings;
}

ParameterCopy::ParameterCopy(Device& device, TensorStore& store, std::vector<ParameterInfo> parameters)
    : store_(store), parameters_(std::move(parameters)) {
    const auto graph = std::make_shared<Graph>();
    std::vector<Tensor> all;
    for (const ParameterInfo& each : parameters_) all.push_back(graph->parameter(each.name, Shape(each.shape)));
    squares_ = std::make_unique<GpuExecutor>(device, store, compile(graph, {{"squares", squareNorms(all)}}));
}

std::vector<std::string> ParameterCopy::run(const TensorStore& from) {
    std::vector<std::string> names, warnings;
    for (const ParameterInfo& each : parameters_) names.push_back(each.name);
    store_.copyFrom(from, names);
    squares_->run({});
    const std::span<const float> squares = squares_->result("squares");
    const size_t parts = squares.size() / parameters_.size();
    for (size_t i = 0; i < parameters_.size(); ++i) {
        const auto isFinite = [](float value) { return std::isfinite(value); };
        if (std::ranges::all_of(squares.subspan(i * parts, parts), isFinite)) continue;
        const std::vector<float> values = store_.read(names[i]); // the square of a large number may overflow
        warnOf(parameters_[i], store_, std::ssize(values) - std::ranges::count_if(values, isFinite), warnings);
    }
    return warnings;
}

} // namespace attn
