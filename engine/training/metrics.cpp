#include "engine/training/metrics.h"

#include "engine/io/input_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <sstream>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 50;     // a double holds it exactly
constexpr uint64_t kMostFileBytes = uint64_t{1} << 29; // the lines of a million steps of a deep model

/// Adds numbers by name. Those in lists and objects have a dot before their place or name.
void addNumbers(std::map<std::string, double, std::less<>>& values, const std::string& name,
                const nlohmann::json& json) {
    if (json.is_number()) values[name] = json.get<double>();
    if (!json.is_structured()) return;
    for (const auto& [key, value] : json.items())
        if (value.is_number()) values[name + '.' + key] = value.get<double>();
}

std::optional<MetricPoint> pointFrom(const std::string& line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const auto step = json.find("step");
    if (step == json.end() || !step->is_number_unsigned() || step->get<uint64_t>() > kMostSteps) return std::nullopt;
    MetricPoint point{.step = step->get<int64_t>()};
    for (const auto& [name, value] : json.items())
        if (name != "step") addNumbers(point.values, name, value);
    return point.find(metric_names::kLoss) ? std::optional(std::move(point)) : std::nullopt;
}

} // namespace

std::optional<double> MetricPoint::find(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
}

double MetricPoint::operator[](std::string_view name) const {
    return find(name).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::map<std::string, double> MetricPoint::under(std::string_view beginning) const {
    std::map<std::string, double> found;
    for (auto at = values.lower_bound(beginning); at != values.end() && at->first.starts_with(beginning); ++at)
        found.emplace(at->first.substr(beginning.size()), at->second);
    return found;
}

std::string metricTitle(std::string_view name) {
    return name == metric_names::kHiddenTokens    ? "accuracy of hidden tokens"
           : name == metric_names::kLabelsF1      ? "mean F1 of the labels"
           : name == metric_names::kAbsoluteError ? "mean absolute error"
                                                  : std::string(name);
}

std::string metricLine(const MetricPoint& point) {
    nlohmann::json json = nlohmann::json::object();
    json["step"] = point.step;
    for (const auto& [name, value] : point.values) json[name] = value;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

RecordedMetrics readMetrics(const fs::path& run) {
    const fs::path path = run / kMetricsFile;
    std::error_code error;
    if (!fs::exists(path, error) && !error) return {};
    RecordedMetrics recorded;
    size_t lines = 0;
    std::vector<size_t> damaged;
    std::istringstream text(readTextFile(path, kMostFileBytes));
    for (std::string line; std::getline(text, line);) {
        ++lines;
        if (auto point = pointFrom(line))
            recorded.points.push_back(std::move(*point));
        else if (!line.empty() && !text.eof())
            damaged.push_back(lines);
    }
    if (!damaged.empty())
        recorded.damage =
            Failure{.what = damaged.size() == 1
                                ? fmt::format("line {} of {} is damaged and left out", damaged.front(), lines)
                                : fmt::format("{} of {} lines are damaged and left out, the first of them line {}",
                                              damaged.size(), lines, damaged.front()),
                    .where = path.string(),
                    .hint = "curves and exports are incomplete; the model is not affected"};
    return recorded;
}

std::optional<MetricPoint> readNewestMetrics(const fs::path& run) {
    constexpr uint64_t kMostLineBytes = 16'384; // twice a line of a hundred layers
    std::error_code error;
    if (!fs::exists(run / kMetricsFile, error)) return std::nullopt;
    const InputFile file(run / kMetricsFile);
    std::string end(std::min(file.sizeBytes(), kMostLineBytes), '\0');
    file.read(file.sizeBytes() - end.size(), std::as_writable_bytes(std::span(end)));
    for (;;) {
        const size_t begin = end.rfind('\n') + 1; // npos + 1 is 0
        if (auto point = pointFrom(end.substr(begin))) return point;
        if (begin == 0) return std::nullopt;
        end.resize(begin - 1);
    }
}

} // namespace attn
