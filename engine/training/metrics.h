#pragma once

#include "engine/core/failure.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

namespace metric_names {
inline constexpr const char* kLoss = "loss";
inline constexpr const char* kGradientNorm = "gradient_norm";
inline constexpr const char* kLearningRate = "learning_rate";
inline constexpr const char* kValidationLoss = "validation_loss"; ///< measured after the step, as the next
inline constexpr const char* kMetric = "metric";                  ///< by Task::metric
inline constexpr const char* kHiddenTokens = "hidden_tokens";     ///< share of the hidden tokens that were found
inline constexpr const char* kLabelsF1 = "labels_f1";             ///< mean over several labels
inline constexpr const char* kAbsoluteError = "absolute_error";   ///< mean over the numbers of a regression
inline constexpr const char* kLossScale = "loss_scale";       ///< after the step, in training with f16: see LossScale
inline constexpr const char* kSkippedSteps = "skipped_steps"; ///< until then, of which the gradients overflowed
/// Beginning of the names of the shares of exact matches of the tasks of a file.
inline constexpr const char* kSubtasks = "subtasks.";
/// Beginning of the names of ratios, at every tenth step: the norm of the update divided by the norm of the parameters,
/// "update_ratios.0" for all parameters outside of layers, then one for each layer.
inline constexpr const char* kUpdateRatios = "update_ratios.";
} // namespace metric_names

/// The metrics of one step, by name: a line of metrics.jsonl.
struct MetricPoint {
    int64_t step = 0; ///< number of the step, from 1
    std::map<std::string, double, std::less<>> values{};

    std::optional<double> find(std::string_view name) const;
    /// @return NaN if it was not measured
    double operator[](std::string_view name) const;
    /// The values whose names begin with a text, by the rest of their names.
    std::map<std::string, double> under(std::string_view beginning) const;
};

/// The name of a metric for people: "accuracy of hidden tokens". That of the task's own metric is Task::metricName.
std::string metricTitle(std::string_view name);
inline constexpr const char* kMetricsFile = "metrics.jsonl";

/// A line of metrics.jsonl, with its end.
std::string metricLine(const MetricPoint& point);

/// What metrics.jsonl of a training run holds.
struct RecordedMetrics {
    std::vector<MetricPoint> points;
    std::optional<Failure> damage; ///< which lines cannot be read and are left out; none: all are read
};
/// Reads metrics.jsonl of a training run. Empty if there is no such file. The last line may lack its end: its writer is
/// at it, or was killed.
/// @throws Error if it is not a file or cannot be read
RecordedMetrics readMetrics(const std::filesystem::path& run);

/// The metrics of the newest step, from the end of metrics.jsonl alone. Leaves out what readMetrics() leaves out. None
/// if the end holds none.
/// @throws Error as readMetrics()
std::optional<MetricPoint> readNewestMetrics(const std::filesystem::path& run);

} // namespace attn
