#pragma once

#include <cstdint>
#include <vector>

// Products of matrices whose every sum is added up term by term, in order. So a row of the result has the same bits
// whatever rows are computed beside it, and however a longer product of its terms is cut. As fast as product(), where
// the second factor lies in panels and serves several calls.

namespace attn::host {

/// How the second factor [K,N] lies in memory.
struct Columns {
    const float* data = nullptr;
    int64_t step = 0;  ///< floats from a term to the next
    int64_t panel = 0; ///< floats from kPanelColumns columns to the next ones

    static constexpr int64_t kPanelColumns = 32;
    /// A factor whose rows lie `stride` floats apart.
    static Columns ofRows(const float* data, int64_t stride) { return {data, stride, kPanelColumns}; }
};

/// A copy of a factor [K,N] in panels of kPanelColumns columns, each without gaps.
class Panels {
public:
    /// @param stride floats from row to row  @param isTransposed the rows are the columns of the factor: [N,K]
    Panels(int64_t K, int64_t N, const float* rows, int64_t stride, bool isTransposed = false);
    /// @param first a multiple of kPanelColumns
    Columns columns(int64_t first = 0) const {
        return {data_.data() + first * K_, Columns::kPanelColumns, K_ * Columns::kPanelColumns};
    }

private:
    int64_t K_;
    std::vector<float> data_;
};

/// A product [M,K] . [K,N].
struct OrderedProduct {
    int64_t M = 0, N = 0, K = 0;
    const float* a = nullptr;
    int64_t aStride = 0; ///< floats from row to row; of any sign
    Columns b{};
    float* out = nullptr;
    int64_t stride = 0; ///< of out
    bool keeps = false; ///< adds the product to what out holds
};
void orderedProduct(const OrderedProduct& product);

} // namespace attn::host
