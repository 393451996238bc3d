#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace attn {
class Device;
}

namespace attn::cli {

/// The results of a benchmark: a line for each as it comes, or all of them as JSON at the end.
class Measurements {
public:
    /// @param nameWidth characters of the column of names
    Measurements(bool isJson, int nameWidth);

    void setDevice(const Device& device);
    void add(const std::string& name, double value, const char* unit, int decimals = 1);
    void finish() const;

private:
    bool isJson_;
    int nameWidth_;
    std::shared_ptr<nlohmann::json> json_; ///< never null
};

/// The median of measurements; of an even number, the larger of the two in the middle.
/// @param values at least one
double median(std::vector<double> values);

} // namespace attn::cli
