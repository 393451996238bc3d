#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace attn::cli {

/// Prints the names of the tensors that a command writes, and warns of tensors with NaN or infinite values. They are
/// written nevertheless, because the first of them shows where a run fails.
class WrittenNumbers {
public:
    /// @param strange how many of the values are NaN or infinite
    void add(const std::string& name, const std::string& shape, size_t values, int64_t strange);
    /// kFailed, with a sentence, if a tensor has NaN or infinite values.
    int exitCode(const std::string& path) const;

private:
    std::string first_; ///< the first tensor with such values; empty: none
    int tensors_ = 0;
};

} // namespace attn::cli
