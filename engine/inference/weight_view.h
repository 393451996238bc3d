#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

class TensorStore;

/// One parameter of the model, pooled for display.
struct WeightView {
    std::string name;
    std::vector<int64_t> shape;
    int rows = 0, columns = 0;
    std::vector<float> values; ///< [rows, columns], each the mean of a block; a vector is one row
    float minimum = 0, maximum = 0, mean = 0, standardDeviation = 0;
    std::vector<int> histogram; ///< counts in equal bins from minimum to maximum
};

/// Pools a parameter for display. @param maximumSize largest number of rows or columns
WeightView weightView(const TensorStore& store, const std::string& name, int maximumSize);

} // namespace attn
