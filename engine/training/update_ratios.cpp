#include "engine/training/update_ratios.h"

#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "engine/training/starting_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace attn {
namespace {

constexpr int kCopies = 5; ///< of the parameters that must have room: this one, and those of the views

constexpr const char *kChange = "change", *kLength = "length";

std::string nameOf(std::string_view what, size_t parameter) { return fmt::format("{}.{}", what, parameter); }

} // namespace

UpdateRatios::UpdateRatios(Trainer& trainer, std::optional<On> on) : trainer_(trainer) {
    const std::vector<std::string> blocks = trainer.objective().structure().blocks();
    parts_ = blocks.size() + 1;
    for (const Trainer::Named& parameter : trainer.parameters()) {
        if (trainer.isFrozen(parameter.name)) continue;
        parameters_.push_back(parameter);
        partOf_.push_back(static_cast<size_t>(blockOf(blocks, parameter.name) + 1));
    }
    if (on.value_or(trainer.hasRoomFor(kCopies) ? On::Device : On::Host) == On::Device) prepareDevice();
}

void UpdateRatios::prepareDevice() {
    const auto before = std::make_shared<Graph>(), after = std::make_shared<Graph>();
    std::map<std::string, Tensor> kept, compared;
    std::vector<std::pair<std::string, Shape>> room;
    const auto current = [&](Graph& graph, const Trainer::Named& parameter) {
        const Tensor w = graph.parameter(parameter.name, parameter.shape);
        const auto adapter = std::ranges::find(trainer_.adapters(), parameter.name, &Adapter::matrix);
        return adapter == trainer_.adapters().end() ? w : adapter->addedTo(w, trainer_.recipe().start.adapters.scale());
    };
    for (size_t i = 0; i < parameters_.size(); ++i) {
        const Trainer::Named& parameter = parameters_[i];
        room.emplace_back("before." + parameter.name, parameter.shape);
        const auto& [name, shape] = room.back();
        kept.emplace(name,
                     assign(before->state(name, {.shape = shape}), current(*before, parameter), StepScalar::Beginning));
        const Tensor old = after->state(name, {.shape = shape});
        const Tensor change = binary(current(*after, parameter), old, Binary::Subtract);
        compared.emplace(nameOf(kChange, i), squareNorms(std::array{change}));
        compared.emplace(nameOf(kLength, i), squareNorms(std::array{old}));
    }
    trainer_.store().reserve(room);
    remember_ = std::make_unique<GpuExecutor>(trainer_.device(), trainer_.store(), compile(before, kept));
    measure_ = std::make_unique<GpuExecutor>(trainer_.device(), trainer_.store(), compile(after, compared));
}

void UpdateRatios::remember() {
    if (remember_) {
        remember_->run({});
        return;
    }
    before_.clear(); // of a step that failed
    for (const Trainer::Named& parameter : parameters_) before_.push_back(trainer_.read(parameter.name));
}

double UpdateRatios::squaresOf(std::string_view what, size_t parameter) const {
    const auto parts = measure_->result(nameOf(what, parameter));
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

std::vector<double> UpdateRatios::measure() {
    std::vector<double> change(parts_), length(parts_), ratios;
    if (measure_) measure_->run({});
    for (size_t i = 0; i < parameters_.size(); ++i) {
        const size_t part = partOf_[i];
        if (measure_) {
            change[part] += squaresOf(kChange, i);
            length[part] += squaresOf(kLength, i);
            continue;
        }
        const std::vector<float> now = trainer_.read(parameters_[i].name);
        for (size_t at = 0; at < now.size(); ++at) {
            const auto old = static_cast<double>(before_[i][at]), difference = static_cast<double>(now[at]) - old;
            change[part] += difference * difference;
            length[part] += old * old;
        }
    }
    before_.clear();
    for (size_t part = 0; part < parts_; ++part)
        ratios.push_back(length[part] > 0 ? std::sqrt(change[part] / length[part]) : 0);
    return ratios;
}

} // namespace attn
