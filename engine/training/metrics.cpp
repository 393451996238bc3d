#include "engine/training/metrics.h"

#include "engine/io/input_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <sstream>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 50;     // a double holds it exactly
constexpr uint64_t kMostFileBytes = uint64_t{1} << 29; // the lines of a million steps of a deep model

std::optional<MetricPoint> pointFrom(const std::string& line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const auto number = [&](const char* field) -> std::optional<double> {
        const auto found = json.find(field);
        return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
    };
    const auto step = json.find("step");
    if (step == json.end() || !step->is_number_unsigned() || step->get<uint64_t>() > kMostSteps || !number("loss"))
        return std::nullopt;
    MetricPoint point{.step = step->get<int64_t>(),
                      .loss = *number("loss"),
                      .gradientNorm = number("gradient_norm").value_or(0),
                      .learningRate = number("learning_rate").value_or(0),
                      .validationLoss = number("validation_loss"),
                      .metric = number("metric"),
                      .hiddenTokens = number("hidden_tokens")};
    point.lossScale = number("loss_scale");
    if (const auto skipped = json.find("skipped_steps"); skipped != json.end() && skipped->is_number_unsigned())
        point.skippedSteps = static_cast<int64_t>(std::min(skipped->get<uint64_t>(), kMostSteps));
    if (const auto subtasks = json.find("subtasks"); subtasks != json.end() && subtasks->is_object())
        for (const auto& [name, share] : subtasks->items())
            if (share.is_number()) point.subtasks[name] = share.get<double>();
    for (const auto& ratio : json.value("update_ratios", nlohmann::json::array()))
        if (ratio.is_number()) point.updateRatios.push_back(ratio.get<double>());
    return point;
}

} // namespace

std::string metricLine(const MetricPoint& point) {
    nlohmann::json json{{"step", point.step},
                        {"loss", point.loss},
                        {"gradient_norm", point.gradientNorm},
                        {"learning_rate", point.learningRate}};
    if (point.validationLoss) json["validation_loss"] = *point.validationLoss;
    if (point.metric) json["metric"] = *point.metric;
    if (point.hiddenTokens) json["hidden_tokens"] = *point.hiddenTokens;
    if (point.lossScale) {
        json["loss_scale"] = *point.lossScale;
        json["skipped_steps"] = point.skippedSteps;
    }
    if (!point.subtasks.empty()) json["subtasks"] = point.subtasks;
    if (!point.updateRatios.empty()) json["update_ratios"] = point.updateRatios;
    return json.dump() + '\n';
}

std::vector<MetricPoint> readMetrics(const fs::path& run) {
    std::error_code error;
    if (!fs::exists(run / kMetricsFile, error)) return {};
    std::vector<MetricPoint> points;
    std::istringstream text(readTextFile(run / kMetricsFile, kMostFileBytes));
    for (std::string line; std::getline(text, line);)
        if (auto point = pointFrom(line)) points.push_back(std::move(*point));
    return points;
}

std::optional<MetricPoint> readNewestMetrics(const fs::path& run) {
    constexpr uint64_t kMostLineBytes = 16'384; // twice a line of a hundred layers
    std::error_code error;
    if (!fs::exists(run / kMetricsFile, error)) return std::nullopt;
    const InputFile file(run / kMetricsFile);
    std::string end(std::min(file.sizeBytes(), kMostLineBytes), '\0');
    file.read(file.sizeBytes() - end.size(), std::as_writable_bytes(std::span(end)));
    while (end.ends_with('\n')) end.pop_back();
    return pointFrom(end.substr(end.rfind('\n') + 1)); // npos + 1 is 0
}

} // namespace attn
