#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// The metrics of one step: a line of metrics.jsonl.
struct MetricPoint {
    int64_t step = 0; ///< number of the step, from 1
    double loss = 0, gradientNorm = 0, learningRate = 0;
    std::optional<double> validationLoss{}, metric{}; ///< measured after this step
    std::optional<double> hiddenTokens{};             ///< see Trainer::Evaluation, as the next
    std::map<std::string, double> subtasks{};         ///< share of exact matches, by name
    std::optional<double> lossScale{};                ///< after this step, in training with f16: see LossScale
    int64_t skippedSteps = 0;                         ///< until then, of which the gradients overflowed
    /// Norm of the update divided by the norm of the parameters: for all parameters outside of layers, then for each
    /// layer. Measured at every tenth step, else empty.
    std::vector<double> updateRatios{};
};

/// What MetricPoint::hiddenTokens is called.
inline constexpr const char* kHiddenTokensName = "accuracy of hidden tokens";
inline constexpr const char* kMetricsFile = "metrics.jsonl";

/// A line of metrics.jsonl, with its end.
std::string metricLine(const MetricPoint& point);

/// Reads metrics.jsonl of a training run, and skips damaged lines. Empty if there is no such file.
/// @throws Error if it is not a file or cannot be read
std::vector<MetricPoint> readMetrics(const std::filesystem::path& run);

/// The metrics of the newest step, without reading those before. None if there are none, or they are damaged.
/// @throws Error as readMetrics()
std::optional<MetricPoint> readNewestMetrics(const std::filesystem::path& run);

} // namespace attn
