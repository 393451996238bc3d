#include "engine/models/recipes.h"

#include "engine/core/error.h"

#include <cmath>

namespace attn {

std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key) {
    for (const auto& [name, value] : table)
        if (name == key) return value;
    throw Error({.what = "the family has no tensor for this parameter", .where = key});
}

std::vector<double> rotaryFrequencies(double base, int rotated) {
    std::vector<double> frequencies;
    for (int i = 0; i < rotated / 2; ++i) frequencies.push_back(std::pow(base, -2.0 * i / rotated));
    return frequencies;
}

} // namespace attn
