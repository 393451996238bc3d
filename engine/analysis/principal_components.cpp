#include "engine/analysis/principal_components.h"

#include "engine/core/error.h"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace attn {

PrincipalComponents principalComponents(std::span<const float> rows, int64_t width, int64_t most) {
    const int64_t n = width == 0 ? 0 : std::ssize(rows) / width;
    if (n < 2) return {};
    using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::MatrixXd centred = Eigen::Map<const Rows>(rows.data(), n, width).cast<double>();
    centred.rowwise() -= centred.colwise().mean().eval();
    if (!centred.allFinite())
        throw Error({.what = "the rows have NaN or infinite values",
                     .where = "principal components",
                     .hint = "check the values that they were computed from"});
    // X^T X and X X^T have the same nonzero eigenvalues: use the smaller matrix.
    const bool isTall = n >= width;
    const Eigen::MatrixXd side = isTall ? centred.transpose() : centred, products = side * side.transpose();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(products); // eigenvalues in rising order
    const Eigen::VectorXd variances = eigen.eigenvalues().reverse().cwiseMax(0);
    const double total = variances.sum();

    PrincipalComponents result;
    const int64_t count = std::min({std::max<int64_t>(most, 0), width, n - 1});
    for (int64_t i = 0; i < count; ++i) {
        const Eigen::VectorXd vector = eigen.eigenvectors().col(products.cols() - 1 - i);
        Eigen::VectorXd component = isTall ? vector : centred.transpose() * vector;
        const double length = component.norm();
        const double peak = *std::ranges::max_element(component, {}, [](double value) { return std::abs(value); });
        component *= length > 0 ? std::copysign(1 / length, peak) : 0;
        for (const double value : component) result.components.push_back(static_cast<float>(value));
        result.shares.push_back(total > 0 ? variances(i) / total : 0);
    }
    return result;
}

} // namespace attn
