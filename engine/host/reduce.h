#pragma once

#include <cstdint>

// Sums, maxima and positions of numbers that lie in padded rows.

namespace attn::host {

/// Each of `count` floats that lie `stride` apart in every one of `strip` rows is reduced over the rows, for floats
/// [begin, end). The largest number of a strip is that of its numbers, unless all are NaN.
struct Strip {
    int64_t strip = 0, stride = 0;
    bool isMaximum = false;
    float factor = 1;
};
void reduceStrip(const Strip& strip, int64_t begin, int64_t end, const float* x, float* y);

/// Reduces `lines` padded rows. @return one number
float reduceLines(bool isMaximum, int64_t lines, int64_t columns, const float* x);

/// The sums of all numbers up to each.
struct Cumulative {
    bool isExclusive = false; ///< without the number itself
    bool isReverse = false;   ///< from the last one on
};
void cumulateRow(Cumulative how, int64_t columns, const float* x, float* y);
/// Cumulates through rows that are `stride` floats apart, for floats [begin, end) of each.
void cumulateStrip(Cumulative how, int64_t strip, int64_t stride, int64_t begin, int64_t end, const float* x, float* y);

/// The column of the largest number, the lowest of equals. NaN counts only in column 0.
int32_t argmax(int64_t columns, const float* x);

/// The counts and sums from which a tensor's statistics follow. Numbers at most `masked`, NaN and infinities do not
/// count.
struct Moments {
    int64_t finite = 0, nans = 0, infinities = 0, masked = 0;
    double total = 0;
    float least = 0, most = 0; ///< if there is a finite number
    void add(const Moments& other);
};
Moments moments(float masked, int64_t rows, int64_t columns, const float* x);
/// The sum of the squares of the finite numbers' distances from their mean.
double squaresAbout(float mean, float masked, int64_t rows, int64_t columns, const float* x);

} // namespace attn::host
