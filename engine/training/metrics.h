#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace attn {

/// What one step left behind; a line of metrics.jsonl.
struct MetricPoint {
    int64_t step = 0; ///< 1 after the first
    double loss = 0, gradientNorm = 0, learningRate = 0;
    std::optional<double> validationLoss{}, metric{}; ///< measured after this step
    /// Length of the change over the length of the weights: of all outside the blocks, then of each block. Measured at
    /// every tenth step, else empty.
    std::vector<double> updateRatios{};
};

/// The points of a run's metrics.jsonl; lines that are damaged are left out.
std::vector<MetricPoint> readMetrics(const std::filesystem::path& run);

} // namespace attn
