#pragma once

#include <cstdint>
#include <vector>

// Matrix products in which every sum is added term by term, in order. A row of the result has the same bits for any
// rows beside it, and for any division of a longer product. They are as fast as product() if the second factor is
// stored in panels and serves several calls.

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
    int64_t aStride = 0; ///< floats from row to row; may be negative
    Columns b{};
    float* out = nullptr;
    int64_t stride = 0; ///< of out
    bool keeps = false; ///< adds the product to what out holds
};
void orderedProduct(const OrderedProduct& product);

} // namespace attn::host
