#pragma once

#include <span>
#include <string>

namespace attn::cli {

/// Names the tensors that a command writes on standard error, and says which of them hold no result. They are written
/// all the same: the first of them shows where a run goes wrong.
class WrittenNumbers {
public:
    /// -inf is a score that the mask hides.
    void add(const std::string& name, const std::string& shape, std::span<const float> values);
    /// kFailed, with a sentence, if a tensor has NaN or infinite values.
    int exitCode(const std::string& path) const;

private:
    std::string first_; ///< tensor with such values; empty: none
    int tensors_ = 0;
};

} // namespace attn::cli
