#include "engine/runtime/dense_result.h"

namespace attn {

std::vector<float> denseResult(const GpuExecutor& executor, const std::string& name) {
    const Shape& shape = executor.plan().result(name).type.shape;
    const std::span<const float> padded = executor.result(name);
    std::vector<float> values;
    values.reserve(static_cast<size_t>(shape.elements()));
    for (int64_t row = 0; row < shape.rows(); ++row) {
        const auto begin = padded.begin() + static_cast<std::ptrdiff_t>(row * shape.rowStride());
        values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(shape.columns()));
    }
    return values;
}

} // namespace attn
