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

} // namespace attn::test
