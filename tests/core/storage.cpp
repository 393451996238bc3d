#include "engine/core/storage.h"
#include "tests/support/catch.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

using namespace attn;

namespace {

std::vector<float> normals(size_t count) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    return values;
}

std::vector<float> roundTrip(Storage storage, const std::vector<float>& row) {
    std::vector<std::byte> stored(static_cast<size_t>(storedRow(storage, static_cast<int64_t>(row.size())).bytes));
    encodeRow(storage, row, stored.data());
    std::vector<float> decoded(row.size());
    decodeRow(storage, stored.data(), decoded);
    return decoded;
}

double rootMeanSquareError(Storage storage, const std::vector<float>& row) {
    const std::vector<float> decoded = roundTrip(storage, row);
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) sum += std::pow(static_cast<double>(row[i] - decoded[i]), 2);
    return std::sqrt(sum / static_cast<double>(row.size()));
}

} // namespace

TEST_CASE("storage: every half becomes a float and comes back", "[core]") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float value = floatOfHalf(half);
        if (std::isnan(value))
            CHECK(std::isnan(floatOfHalf(halfOf(value))));
        else if (halfOf(value) != half)
            FAIL_CHECK("half " << bits << " became " << halfOf(value));
    }
    CHECK(floatOfHalf(0x3c00) == 1.0f);
    CHECK(floatOfHalf(0x7bff) == 65504.0f);
    CHECK(floatOfHalf(0x0001) == 0x1p-24f);
    CHECK(halfOf(65519.9f) == 0x7bff);
    CHECK(halfOf(65520.0f) == 0x7c00);         // rounds to infinity
    CHECK(halfOf(1 + 0x1p-11f) == 0x3c00);     // halfway: to even
    CHECK(halfOf(1 + 3 * 0x1p-11f) == 0x3c02); // the same
    CHECK(halfOf(std::bit_cast<float>(0x80000001)) == 0x8000);
}

TEST_CASE("storage: rows take the bytes that their names promise", "[core]") {
    CHECK(storedRow(Storage::F32, 6).bytes == 32);
    CHECK(storedRow(Storage::F16, 768).bytes == 768 * 2);
    CHECK(storedRow(Storage::Q8_0, 768).bytes == 768 + 24 * 2);
    CHECK(storedRow(Storage::Q4_0, 768).bytes == 384 + 24 * 2);
    CHECK(storedRow(Storage::Q4_K, 768).bytes == 384 + 3 * 20 + 4); // 60 padded to 64
    for (const Storage storage : kStorages) CHECK(storageNamed(storageName(storage)) == storage);
    CHECK_FALSE(storageNamed("q3_k"));
    CHECK(storageFor(Storage::Q4_K, 768) == Storage::Q4_K);
    CHECK(storageFor(Storage::Q4_K, 192) == Storage::Q8_0); // not a multiple of 256
    CHECK(storageFor(Storage::F16, 20) == Storage::F32);
}

TEST_CASE("storage: numbers that a block can hold come back as they were", "[core]") {
    std::vector<float> row(256);
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(static_cast<int>(i % 255) - 127) * 0.25f;
    row[31] = row[63] = row[95] = row[127] = row[159] = row[191] = row[223] = row[255] =
        127 * 0.25f; // each scale is 0.25
    CHECK(roundTrip(Storage::Q8_0, row) == row);
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(static_cast<int>(i % 16) - 8) * 0.5f;
    CHECK(roundTrip(Storage::Q4_0, row) == row);
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i * 7 % 16) * 63 * 0x1p-7f - 63 * 0x1p-5f;
    CHECK(roundTrip(Storage::Q4_K, row) == row);
    const std::vector<float> zeros(256);
    for (const Storage storage : kStorages) CHECK(roundTrip(storage, zeros) == zeros);
}

TEST_CASE("storage: the error of normal numbers shrinks with the bits", "[core]") {
    const std::vector<float> row = normals(4096);
    CHECK(rootMeanSquareError(Storage::F32, row) == 0);
    CHECK(rootMeanSquareError(Storage::F16, row) < 3e-4);
    CHECK(rootMeanSquareError(Storage::BF16, row) < 3e-3);
    CHECK(rootMeanSquareError(Storage::Q8_0, row) < 0.007);
    CHECK(rootMeanSquareError(Storage::Q4_0, row) < 0.1);
    CHECK(rootMeanSquareError(Storage::Q4_K, row) < 0.08);
    CHECK(rootMeanSquareError(Storage::Q4_K, row) < rootMeanSquareError(Storage::Q4_0, row));
}
