#include "engine/inference/weight_view.h"

#include "engine/runtime/tensor_store.h"

#include <algorithm>
#include <cmath>

namespace attn {

WeightView weightView(const TensorStore& store, const std::string& name, int maximumSize) {
    constexpr size_t kBins = 64;
    const std::vector<float> values = store.read(name);
    const Shape& shape = store.entry(name).shape;
    const int64_t rows = shape.rows(), columns = shape.columns(), most = std::clamp(maximumSize, 1, 4096);
    WeightView view{.name = name,
                    .shape = shape.extents(),
                    .rows = static_cast<int>(std::min(rows, most)),
                    .columns = static_cast<int>(std::min(columns, most)),
                    .values = {},
                    .histogram = std::vector<int>(kBins)};
    std::vector<double> sums(static_cast<size_t>(view.rows) * static_cast<size_t>(view.columns));
    std::vector<int> counts(sums.size());
    double total = 0, squares = 0;
    int64_t finite = 0;
    view.minimum = INFINITY;
    view.maximum = -INFINITY;
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const float value = values[static_cast<size_t>(row * columns + column)];
            if (!std::isfinite(value)) continue;
            const auto pixel =
                static_cast<size_t>(row * view.rows / rows * view.columns + column * view.columns / columns);
            sums[pixel] += value;
            ++counts[pixel];
            ++finite;
            total += value;
            squares += static_cast<double>(value) * value;
            view.minimum = std::min(view.minimum, value);
            view.maximum = std::max(view.maximum, value);
        }
    if (finite == 0) view.minimum = view.maximum = 0;
    const double n = static_cast<double>(std::max<int64_t>(finite, 1));
    view.mean = static_cast<float>(total / n);
    view.standardDeviation = static_cast<float>(std::sqrt(std::max(0.0, squares / n - total / n * (total / n))));
    for (size_t i = 0; i < sums.size(); ++i)
        view.values.push_back(counts[i] == 0 ? NAN : static_cast<float>(sums[i] / counts[i]));
    const double span = std::max(1e-30, static_cast<double>(view.maximum) - view.minimum);
    for (float value : values)
        if (std::isfinite(value))
            ++view.histogram[std::min(kBins - 1,
                                      static_cast<size_t>((static_cast<double>(value) - view.minimum) / span * kBins))];
    return view;
}

} // namespace attn
