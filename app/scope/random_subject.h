#pragma once

#include "app/scope/subject.h"
#include "engine/inference/long_pattern_view.h"

#include <memory>

namespace attn::scope {

/// Random queries and keys of any length under a causal mask. Only the long-pattern view can show them.
class RandomSubject : public Subject {
public:
    struct Size {
        int64_t tokens = 0, heads = 1, width = 64;
    };
    /// @throws Error that names a size that fits, if the device has not enough memory
    RandomSubject(std::shared_ptr<Device> device, const Size& size, int head);
    ~RandomSubject() override;

    Device& device() override { return *device_; }
    int layers() const override { return 1; }
    int heads() const override { return static_cast<int>(size_.heads); }
    int tokenCount() const override { return static_cast<int>(size_.tokens); }
    std::string facts() const override;
    LongPatternView& longPattern() { return *longPattern_; }

private:
    std::shared_ptr<Device> device_;
    Size size_;
    std::unique_ptr<TensorStore> store_;
    std::unique_ptr<LongPatternView> longPattern_;
};

} // namespace attn::scope
