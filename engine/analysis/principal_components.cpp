#include "engine/analysis/principal_components.h"

#include "engine/analysis/symmetric_eigen.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// rows . rows^T
std::vector<double> products(const std::vector<std::vector<double>>& rows) {
    std::vector<double> result(rows.size() * rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (size_t k = 0; k < rows[i].size(); ++k) sum += rows[i][k] * rows[j][k];
            result[i * rows.size() + j] = result[j * rows.size() + i] = sum;
        }
    return result;
}

} // namespace

PrincipalComponents principalComponents(std::span<const float> rows, int64_t width, int64_t most) {
    const auto columns = static_cast<size_t>(width), n = columns == 0 ? 0 : rows.size() / columns;
    if (n < 2) return {};
    std::vector<double> mean(columns, 0);
    for (size_t at = 0; at < n * columns; ++at)
        mean[at % columns] += static_cast<double>(rows[at]) / static_cast<double>(n);
    // X^T X and X X^T have the same nonzero eigenvalues: use the smaller matrix.
    const bool isTall = n >= columns;
    std::vector<std::vector<double>> sides(isTall ? columns : n, std::vector<double>(isTall ? n : columns));
    for (size_t row = 0; row < n; ++row)
        for (size_t column = 0; column < columns; ++column)
            (isTall ? sides[column][row] : sides[row][column]) =
                static_cast<double>(rows[row * columns + column]) - mean[column];
    const SymmetricEigen eigen = symmetricEigen(products(sides), static_cast<int64_t>(sides.size()));
    double total = 0;
    for (const double value : eigen.values) total += std::max(value, 0.0);

    PrincipalComponents result;
    const size_t count = std::min({static_cast<size_t>(std::max<int64_t>(most, 0)), columns, n - 1});
    for (size_t i = 0; i < count; ++i) {
        const auto vector = std::span(eigen.vectors).subspan(i * sides.size(), sides.size());
        std::vector<double> component(columns, 0);
        if (isTall)
            std::ranges::copy(vector, component.begin());
        else
            for (size_t row = 0; row < n; ++row)
                for (size_t column = 0; column < columns; ++column)
                    component[column] += vector[row] * sides[row][column];
        double square = 0;
        for (const double value : component) square += value * value;
        const double peak = *std::ranges::max_element(component, {}, [](double value) { return std::abs(value); });
        const double factor = square > 0 ? std::copysign(1 / std::sqrt(square), peak) : 0;
        for (const double value : component) result.components.push_back(static_cast<float>(value * factor));
        result.shares.push_back(total > 0 ? std::max(eigen.values[i], 0.0) / total : 0);
    }
    return result;
}

} // namespace attn
