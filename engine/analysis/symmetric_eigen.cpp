#include "engine/analysis/symmetric_eigen.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

/// Q T Q^T with a tridiagonal T. Rows of `basis` are the columns of Q, so all loops run along memory.
struct Tridiagonal {
    std::vector<double> diagonal, beside; ///< beside[i] couples i and i + 1; the last is 0
    std::vector<double> basis;            ///< [n,n]
};

Tridiagonal tridiagonal(std::span<const double> matrix, size_t n) {
    std::vector<double> a(matrix.begin(), matrix.end());
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i + 1; j < n; ++j) a[i * n + j] = a[j * n + i];
    Tridiagonal result{.diagonal = std::vector<double>(n), .beside = std::vector<double>(n, 0), .basis = {}};
    std::vector<std::vector<double>> reflectors; // I - 2 v v^T on the rows after column k
    std::vector<double> p(n);
    for (size_t k = 0; k + 2 < n; ++k) {
        std::vector<double> v(a.begin() + static_cast<std::ptrdiff_t>(k * n + k + 1),
                              a.begin() + static_cast<std::ptrdiff_t>(k * n + n));
        const double length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
        const double target = v.front() > 0 ? -length : length; // the sign that avoids cancellation
        v.front() -= target;
        const double size = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
        if (size > 0)
            for (double& x : v) x /= size;
        const size_t m = v.size(), from = k + 1;
        // A - 2 v w^T - 2 w v^T with w = A v - (v^T A v) v
        double along = 0;
        for (size_t i = 0; i < m; ++i) {
            const double* row = a.data() + (from + i) * n + from;
            p[i] = std::inner_product(v.begin(), v.end(), row, 0.0);
            along += p[i] * v[i];
        }
        for (size_t i = 0; i < m; ++i) p[i] -= along * v[i];
        for (size_t i = 0; i < m; ++i) {
            double* row = a.data() + (from + i) * n + from;
            for (size_t j = 0; j < m; ++j) row[j] -= 2 * (v[i] * p[j] + p[i] * v[j]);
        }
        result.beside[k] = target;
        reflectors.push_back(std::move(v));
    }
    if (n >= 2) result.beside[n - 2] = a[(n - 2) * n + n - 1];
    for (size_t i = 0; i < n; ++i) result.diagonal[i] = a[i * n + i];

    result.basis.assign(n * n, 0);
    for (size_t i = 0; i < n; ++i) result.basis[i * n + i] = 1;
    for (size_t k = reflectors.size(); k-- > 0;) { // from the last: the block grows by one each time
        const std::vector<double>& v = reflectors[k];
        for (size_t row = k + 1; row < n; ++row) {
            double* x = result.basis.data() + row * n + k + 1;
            const double twice = 2 * std::inner_product(v.begin(), v.end(), x, 0.0);
            for (size_t j = 0; j < v.size(); ++j) x[j] -= twice * v[j];
        }
    }
    return result;
}

/// Rotates rows i and i + 1.
void turn(std::vector<double>& rows, size_t n, size_t i, double cosine, double sine) {
    double *upper = rows.data() + i * n, *lower = upper + n;
    for (size_t k = 0; k < n; ++k) {
        const double u = upper[k], l = lower[k];
        upper[k] = cosine * u + sine * l;
        lower[k] = cosine * l - sine * u;
    }
}

/// One implicit QR step on the unreduced rows first to last.
void step(Tridiagonal& t, size_t n, size_t first, size_t last) {
    std::vector<double>&d = t.diagonal, &e = t.beside;
    const double half = (d[last - 1] - d[last]) / 2, square = e[last - 1] * e[last - 1];
    const double shift = d[last] - square / (half + std::copysign(std::hypot(half, e[last - 1]), half));
    double x = d[first] - shift, bulge = e[first];
    for (size_t k = first; k < last; ++k) {
        const double length = std::hypot(x, bulge);
        const double c = length > 0 ? x / length : 1, s = length > 0 ? bulge / length : 0;
        if (k > first) e[k - 1] = length;
        const double upper = d[k], lower = d[k + 1], between = e[k];
        d[k] = c * c * upper + 2 * c * s * between + s * s * lower;
        d[k + 1] = s * s * upper - 2 * c * s * between + c * c * lower;
        e[k] = c * s * (lower - upper) + (c * c - s * s) * between;
        x = e[k];
        if (k + 1 < last) {
            bulge = s * e[k + 1];
            e[k + 1] *= c;
        }
        turn(t.basis, n, k, c, s);
    }
}

} // namespace

SymmetricEigen symmetricEigen(std::span<const double> matrix, int64_t n) {
    const auto size = static_cast<size_t>(n);
    if (n < 0 || matrix.size() != size * size)
        throw Error({.what = fmt::format("{} values are not a matrix of {} x {}", matrix.size(), n, n),
                     .where = "eigenvalues",
                     .hint = "give a symmetric matrix"});
    if (!std::ranges::all_of(matrix, [](double value) { return std::isfinite(value); }))
        throw Error({.what = "a matrix has NaN or infinite values",
                     .where = "eigenvalues",
                     .hint = "check the values that it was computed from"});
    Tridiagonal t = tridiagonal(matrix, size);
    double largest = 0;
    for (size_t i = 0; i < size; ++i) largest = std::max({largest, std::abs(t.diagonal[i]), std::abs(t.beside[i])});
    const double nothing = std::numeric_limits<double>::epsilon() * largest;
    const auto isLoose = [&](size_t i) { return std::abs(t.beside[i]) <= nothing; };
    for (size_t last = size; last-- > 1;) {
        constexpr int kMostSteps = 100; // usually two or three
        for (int steps = 0; !isLoose(last - 1) && steps < kMostSteps; ++steps) {
            size_t first = last - 1;
            while (first > 0 && !isLoose(first - 1)) --first;
            step(t, size, first, last);
        }
        t.beside[last - 1] = 0;
    }
    std::vector<size_t> order(size);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return t.diagonal[i]; });
    SymmetricEigen result;
    for (const size_t i : order) {
        result.values.push_back(t.diagonal[i]);
        const auto row = t.basis.begin() + static_cast<std::ptrdiff_t>(i * size);
        result.vectors.insert(result.vectors.end(), row, row + n);
    }
    return result;
}

} // namespace attn
