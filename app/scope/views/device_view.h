#pragma once

#include "app/scope/microscope.h"
#include "app/scope/subject.h"
#include "app/scope/view.h"

#include <memory>
#include <vector>

namespace attn::scope {

/// The device's traits, its heaps, and the use of its memory.
class DeviceView : public View {
public:
    explicit DeviceView(Subject& subject) : subject_(subject) {}

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>&) override { return false; }
    bool looksAtTokens() const override { return true; }

private:
    std::vector<MemoryUse> uses() const;
    void drawMemory() const;
    void drawTraits() const;

    Subject& subject_;
};

/// The kernels of the step that generates a token, with local size, push constants and specialisation constants, and
/// the driver's statistics if it offers any.
class ShaderView : public View {
public:
    explicit ShaderView(Subject& subject) : subject_(subject) {}

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::string facts() const override;
    const std::vector<KernelUse>& kernels() const { return kernels_; }

private:
    Subject& subject_;
    std::vector<KernelUse> kernels_;
    bool isRead_ = false;
    uint64_t changesVersion_ = 0; ///< version of the model's changes in kernels_
};

std::unique_ptr<View> makeDeviceView(Subject& subject);
std::unique_ptr<View> makeShaderView(Subject& subject);

} // namespace attn::scope
