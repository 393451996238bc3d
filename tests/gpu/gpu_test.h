#pragma once

#include "engine/gpu/context.h"
#include "engine/gpu/pipeline.h"
#include "tests/support/catch.h"

namespace attn::gpu {

/// A validating context; ends the test with a failure if the validation layer said anything.
class TestContext {
public:
    explicit TestContext(Context::Options options = {}) : context_(validating(std::move(options))) {
        if (!context_.isValidating()) WARN("the Vulkan validation layer is not installed: nothing is validated");
    }
    ~TestContext() { CHECK(context_.validationMessages() == std::vector<std::string>{}); }

    Context& operator*() { return context_; }
    Context* operator->() { return &context_; }

private:
    static Context::Options validating(Context::Options options) {
        options.validation = true;
        return options;
    }

    Context context_;
};

inline const std::vector<uint32_t>& scaleShader() {
    static const std::vector<uint32_t> words{
#include "scale.comp.inc"
    };
    return words;
}

/// target[i] = factor * source[i] + offset over texels; pushes {texels, bits of offset}.
inline ComputePipeline scalePipeline(Context& context, float factor, const PipelineCache* cache = nullptr) {
    return {context,
            {.name = "scale",
             .spirv = scaleShader(),
             .bindings = {BindingKind::TexelInput, BindingKind::Storage},
             .pushConstantBytes = 8,
             .specialisation = {std::bit_cast<uint32_t>(factor)}},
            cache};
}

} // namespace attn::gpu
