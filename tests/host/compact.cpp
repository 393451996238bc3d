#include "engine/host/compact.h"
#include "engine/host/copy.h"
#include "engine/host/integer_product.h"
#include "engine/host/pool.h"

#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace attn;
using namespace attn::host;

namespace {

/// A few rows of x and rows of weights as they are stored.
struct Example {
    int64_t rows, K, N;
    Storage storage;
    std::vector<float> x;
    std::vector<std::byte> stored;
    std::vector<float> w; ///< what `stored` stands for

    Example(int64_t rowCount, int64_t terms, int64_t count, Storage kind, unsigned seed)
        : rows(rowCount), K(terms), N(count), storage(kind), x(static_cast<size_t>(rows * K)),
          stored(static_cast<size_t>(N * storedRow(kind, K).bytes)), w(static_cast<size_t>(N * K)) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        for (size_t i = 0; i < x.size(); ++i) // groups of very different size, and numbers within one
            x[i] = normal(random) * std::exp2(static_cast<float>(i / 32 % 7) * 4 - 12) * (i % 5 == 0 ? 20.0f : 1.0f);
        for (int64_t n = 0; n < N; ++n) {
            std::vector<float> row(static_cast<size_t>(K));
            for (float& value : row) value = normal(random) * 0.1f;
            std::byte* to = stored.data() + n * storedRow(storage, K).bytes;
            encodeRow(storage, row, to);
            decodeRow(storage, to, row);
            std::copy(row.begin(), row.end(), w.begin() + n * K);
        }
    }

    SkinnyProduct product(std::vector<float>& out) const {
        out.assign(static_cast<size_t>(rows * N), std::numeric_limits<float>::quiet_NaN());
        return {.rows = rows, .K = K, .x = x.data(), .out = out.data(), .xStride = K, .outStride = N, .scale = 0.5f};
    }

    /// Checks each result against sums in double precision. @param error of x, in parts of the largest of its group
    void check(const std::vector<float>& out, double error) const {
        for (int64_t m = 0; m < rows; ++m)
            for (int64_t n = 0; n < N; ++n) {
                double sum = 0, size = 0, allowed = 0;
                for (int64_t group = 0; group < K; group += 32) {
                    double most = 0, weights = 0;
                    for (int64_t k = group; k < group + 32; ++k) {
                        const double a = x[static_cast<size_t>(m * K + k)], b = w[static_cast<size_t>(n * K + k)];
                        sum += a * b, size += std::abs(a * b);
                        most = std::max(most, std::abs(a)), weights += std::abs(b);
                    }
                    allowed += most * weights * error;
                }
                const double rounding = 64 * size * std::numeric_limits<float>::epsilon();
                INFO(rows << " rows of " << K << ", row " << m << ", weights " << n);
                REQUIRE(std::abs(out[static_cast<size_t>(m * N + n)] - 0.5 * sum) <= 0.5 * (allowed + rounding));
            }
    }
};

} // namespace

TEST_CASE("compact products: each storage equals sums in double precision", "[host]") {
    for (const Storage storage : {Storage::F16, Storage::BF16, Storage::Q8_0, Storage::Q4_0, Storage::Q4_K})
        for (const int64_t rows : {1, 2, 3, 4})
            for (const int64_t K : {256, 768, 1280}) {
                const Example example(rows, K, 19, storage, 7);
                std::vector<float> out;
                SkinnyProduct product = example.product(out);
                CompactRows prepared;
                groupSums(product, prepared.sums); // and not the path of integers
                INFO(storageName(storage));
                compactProduct(product, storage, prepared, example.stored.data(), 0, 7);
                compactProduct(product, storage, prepared, example.stored.data(), 7, example.N);
                example.check(out, 0);
            }
}

TEST_CASE("products in integers: their error is at most 2^-21 of the largest of each group", "[host]") {
    if (integerInstructions().empty()) {
        WARN("skipped: this processor has no AVX2");
        return;
    }
    IntegerRows integers;
    for (const IntegerInstructions instructions : integerInstructions())
        for (const Storage storage : {Storage::Q4_0, Storage::Q4_K})
            for (const int64_t rows : {1, 2, 3, 4})
                for (const int64_t K : {256, 768, 1280}) {
                    INFO(storageName(storage) << ", instructions " << static_cast<int>(instructions));
                    const Example example(rows, K, 19, storage, 11);
                    std::vector<float> out;
                    const SkinnyProduct product = example.product(out);
                    REQUIRE(splitRows(product, integers));
                    const auto multiply = [&](int64_t begin, int64_t end) {
                        integerProduct(instructions, product, storage, integers, example.stored.data(), begin, end);
                    };
                    multiply(0, 7);
                    multiply(7, example.N);
                    example.check(out, std::exp2(-21));
                    const std::vector<float> all = out;
                    for (const int threads : {1, 3}) { // the same bits in other ranges
                        out.assign(out.size(), std::numeric_limits<float>::quiet_NaN());
                        Pool(threads).ranges(example.N, 1, 1, multiply);
                        CHECK(out == all);
                    }
                }
}

TEST_CASE("products in integers: tiny and huge numbers, groups of zeros and of numbers of the same size", "[host]") {
    IntegerRows integers;
    for (const IntegerInstructions instructions : integerInstructions())
        for (const float size : {1e-27f, 1.0f, 1e24f})
            for (const bool isConstant : {false, true}) {
                Example example(2, 512, 5, Storage::Q4_0, 17);
                for (size_t i = 0; i < example.x.size(); ++i) {
                    if (isConstant) example.x[i] = i % 3 == 0 ? -1.0f : 1.0f;
                    example.x[i] *= i / 32 % 5 == 1 ? 0 : size;
                }
                std::vector<float> out;
                const SkinnyProduct product = example.product(out);
                REQUIRE(splitRows(product, integers));
                integerProduct(instructions, product, example.storage, integers, example.stored.data(), 0, example.N);
                INFO("numbers of about " << size << ", instructions " << static_cast<int>(instructions));
                example.check(out, std::exp2(-21));
            }
}

TEST_CASE("compact weights: columns hold the same floats as rows", "[host]") {
    constexpr float kUntouched = -7;
    for (const Storage storage : kStorages)
        for (const int64_t count : {1, 3, 16, 19, 48})
            for (const int64_t K : {32, 96, 256, 800, 1280}) {
                if (K % storageBlock(storage) != 0) continue;
                const Example example(1, K, count, storage, 17);
                const int64_t stride = count + 5;
                std::vector<float> columns(static_cast<size_t>(K * stride), kUntouched), expected = columns,
                                                                                         row(static_cast<size_t>(K));
                widenTransposed(storage, count, K, example.stored.data(), columns.data(), stride);
                for (int64_t n = 0; n < count; ++n) {
                    widen(storage, K, example.stored.data() + n * storedRow(storage, K).bytes, row.data());
                    for (int64_t k = 0; k < K; ++k)
                        expected[static_cast<size_t>(k * stride + n)] = row[static_cast<size_t>(k)];
                }
                INFO(storageName(storage) << ", " << count << " rows of " << K);
                CHECK(columns == expected);
            }
}

TEST_CASE("transposing: rows of any length, and nothing beside them", "[host]") {
    for (const int64_t rows : {1, 4, 15, 16, 37})
        for (const int64_t columns : {1, 3, 4, 18}) {
            const int64_t step = rows + 2, stride = columns + 3;
            std::vector<float> from(static_cast<size_t>(columns * step)), to(static_cast<size_t>(rows * stride), -1);
            for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
            std::vector<float> expected = to;
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < columns; ++c)
                    expected[static_cast<size_t>(r * stride + c)] = from[static_cast<size_t>(r + c * step)];
            transpose(rows, columns, from.data(), step, to.data(), stride);
            INFO(rows << " rows of " << columns);
            CHECK(to == expected);
        }
}

TEST_CASE("rows of integers: digits of 7 bits stand for each number", "[host]") {
    const Example example(2, 512, 1, Storage::Q4_0, 19);
    std::vector<float> out;
    IntegerRows integers;
    if (!splitRows(example.product(out), integers)) {
        WARN("skipped: this processor has no AVX2");
        return;
    }
    for (size_t i = 0; i < example.x.size(); ++i) {
        const size_t within = i % 32, group = i / 32 % 8,
                     at = within / 8 * 64 + group / 4 * 32 + within / 4 % 2 * 16 + group % 4 * 4 + within % 4;
        const IntegerRows::Super& super = integers.supers[i / 256];
        double value = 0, most = 0, sum = 0;
        for (const auto& digit : super.digits) value = value * 128 + digit[at];
        for (size_t k = i - within; k < i - within + 32; ++k) {
            most = std::max(most, std::abs(static_cast<double>(example.x[k])));
            sum += static_cast<double>(example.x[k]);
        }
        INFO("number " << i);
        REQUIRE(std::abs(value * static_cast<double>(super.factors[group]) - static_cast<double>(example.x[i])) <=
                most * (0.5 / (63 << 14) + 3 * std::exp2(-24))); // half a unit, and the rounding of three floats
        REQUIRE(std::abs(sum + static_cast<double>(super.factors[8 + group])) <= most * 32 * std::exp2(-23));
    }
}

TEST_CASE("compact products: rows of other lengths than multiples of 256", "[host]") {
    for (const Storage storage : {Storage::Q8_0, Storage::Q4_0})
        for (const int64_t K : {32, 96, 800}) {
            const Example example(3, K, 19, storage, 5);
            std::vector<float> out;
            const SkinnyProduct product = example.product(out);
            CompactRows prepared;
            prepareRows(product, storage, prepared);
            CHECK_FALSE(prepared.isInteger);
            compactProduct(product, storage, prepared, example.stored.data(), 0, example.N);
            example.check(out, 0);
        }
}

TEST_CASE("compact products: one storage after another, as in a model that keeps rows of two lengths", "[host]") {
    CompactRows prepared; // as the thread that calls keeps it
    for (const Storage storage :
         {Storage::Q4_K, Storage::Q8_0, Storage::Q4_0, Storage::F16, Storage::Q4_K, Storage::BF16}) {
        const Example example(2, 512, 9, storage, 13);
        std::vector<float> out;
        const SkinnyProduct product = example.product(out);
        prepareRows(product, storage, prepared);
        compactProduct(product, storage, prepared, example.stored.data(), 0, example.N);
        INFO(storageName(storage));
        example.check(out, std::exp2(-21));
    }
}

TEST_CASE("products in integers: numbers that do not fit are left to floats", "[host]") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float unusual : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e36f})
        for (const size_t group : {0, 3, 4, 7}) {
            Example example(2, 256, 5, Storage::Q4_K, 3);
            example.x[256 + group * 32 + 12] = unusual; // in the second row
            std::vector<float> out;
            const SkinnyProduct product = example.product(out);
            IntegerRows integers;
            CHECK_FALSE(splitRows(product, integers));
            CompactRows prepared;
            prepareRows(product, Storage::Q4_K, prepared);
            CHECK_FALSE(prepared.isInteger);
            compactProduct(product, Storage::Q4_K, prepared, example.stored.data(), 0, example.N);
            CHECK(std::isfinite(out[0]));
            CHECK(std::isfinite(out[5]) == (unusual == 1e36f));
        }
    Example zeros(1, 256, 5, Storage::Q4_K, 3);
    std::ranges::fill(zeros.x, 0.0f);
    std::vector<float> out;
    const SkinnyProduct product = zeros.product(out);
    CompactRows prepared;
    prepareRows(product, Storage::Q4_K, prepared);
    compactProduct(product, Storage::Q4_K, prepared, zeros.stored.data(), 0, zeros.N);
    CHECK(out == std::vector<float>(5, 0.0f));
    std::ranges::fill(zeros.x, 1e-42f); // denormal
    prepareRows(product, Storage::Q4_K, prepared);
    CHECK_FALSE(prepared.isInteger);
}
