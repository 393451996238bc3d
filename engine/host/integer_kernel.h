#pragma once

#include "engine/core/storage.h"
#include "engine/host/fetch.h"
#include "engine/host/integer_rows.h"
#include "engine/host/rows.h"

#include <algorithm>
#include <type_traits>

// Code that the kernels of integerProduct() share. Each kernel is compiled for other instructions.

namespace attn::host {

/// Rows of x and of weights, which a kernel multiplies.
struct IntegerFactors {
    const SkinnyProduct& product;
    const IntegerRows& x;
    const std::byte* w;
    Storage storage;
    StoredRow place = storedRow(storage, product.K); ///< of each row of w
};

/// Calls Kernel::multiply<storage, rows>(factors, begin, end).
template <typename Kernel> void multiplyWith(const IntegerFactors& factors, int64_t begin, int64_t end) {
    const int64_t bytes = factors.place.bytes;
    fetch(factors.w + begin * bytes, std::min(kFetchAhead, (end - begin) * bytes));
    const auto multiply = [&](auto rows) {
        if (factors.storage == Storage::Q4_0)
            Kernel::template multiply<Storage::Q4_0, rows.value>(factors, begin, end);
        else
            Kernel::template multiply<Storage::Q4_K, rows.value>(factors, begin, end);
    };
    static_assert(kMostSkinnyRows == 4);
    switch (factors.product.rows) {
    case 1:
        return multiply(std::integral_constant<int, 1>());
    case 2:
        return multiply(std::integral_constant<int, 2>());
    case 3:
        return multiply(std::integral_constant<int, 3>());
    default:
        return multiply(std::integral_constant<int, 4>());
    }
}

void multiplyWithAvx2(const IntegerFactors& factors, int64_t begin, int64_t end);

} // namespace attn::host
