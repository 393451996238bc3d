#pragma once

#include <span>
#include <string>

namespace attn::cli {

/// Prints the names of the tensors that a command writes, and warns of tensors with NaN or infinite values. They are
/// written nevertheless, because the first of them shows where a run fails.
class WrittenNumbers {
public:
    /// A score of -inf is hidden by the mask and counts as valid.
    void add(const std::string& name, const std::string& shape, std::span<const float> values);
    /// kFailed, with a sentence, if a tensor has NaN or infinite values.
    int exitCode(const std::string& path) const;

private:
    std::string first_; ///< the first tensor with such values; empty: none
    int tensors_ = 0;
};

} // namespace attn::cli
