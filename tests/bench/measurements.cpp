#include "tests/bench/measurements.h"

#include "app/cli/command.h"

#include "engine/runtime/device.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace attn::cli {

Measurements::Measurements(bool isJson, int nameWidth)
    : isJson_(isJson), nameWidth_(nameWidth), json_(std::make_shared<nlohmann::json>(nlohmann::json::object())) {}

void Measurements::setDevice(const Device& device) {
    (*json_)["device"] = device.name();
    if (!isJson_) fmt::print("device: {}, {}\n", device.name(), device.traits().driver);
}

void Measurements::add(const std::string& name, double value, const char* unit, int decimals) {
    (*json_)[name] = value;
    if (!isJson_) fmt::print("{:<{}} {:>10.{}f} {}\n", name, nameWidth_, value, decimals, unit);
    std::fflush(stdout);
}

void Measurements::finish() const {
    if (isJson_) print(*json_);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace attn::cli
