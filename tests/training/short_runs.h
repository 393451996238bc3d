#pragma once

#include "engine/training/trainer.h"

#include <vector>

namespace attn::test {

/// On one thread: small models are faster so.
inline DeviceChoice onOneThread() { return {.softwareThreads = 0}; }

/// The loss of each of the next steps, in nats.
inline std::vector<double> losses(Trainer& trainer, int steps) {
    std::vector<double> result;
    for (int i = 0; i < steps; ++i) result.push_back(trainer.step().loss);
    return result;
}

/// What a graph of the trainer's objective says of a batch, with the trainer's parameters and open gates, in a store of
/// its own. @return padded
inline std::vector<float> outputOf(Trainer& trainer, const Objective::Forward& forward, Tensor output,
                                   const Batch& batch) {
    TensorStore store(trainer.device());
    const auto plan = compile(forward.graph, {{"output", output}});
    std::vector<std::pair<std::string, Shape>> room;
    for (const Trainer::Named& each : trainer.parameters()) room.emplace_back(each.name, each.shape);
    for (const FlowConstant* constant : usedConstants(*plan, forward.partTensors))
        room.emplace_back(constant->name, constant->shape);
    store.reserve(room);
    for (const Trainer::Named& each : trainer.parameters()) store.writeDense(each.name, trainer.read(each.name));
    for (const FlowConstant* constant : usedConstants(*plan, forward.partTensors))
        store.writeDense(constant->name, constant->values());
    GpuExecutor executor(trainer.device(), store, plan);
    trainer.objective().fill(executor, batch);
    for (const Site& site : trainer.objective().structure().sites)
        std::ranges::fill(executor.input(site.inSite("gates")), 1.0f);
    executor.run({});
    const auto result = executor.result("output");
    return {result.begin(), result.end()};
}

} // namespace attn::test
