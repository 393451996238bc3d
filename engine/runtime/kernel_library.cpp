#include "engine/runtime/kernel_library.h"

#include "engine/core/error.h"
#include "engine/core/made_once.h"
#include "shaders/embedded_shaders.h"

#include <algorithm>

namespace attn {

const gpu::ComputePipeline& KernelLibrary::pipeline(const Dispatch& dispatch, bool texelInputs) {
    std::vector<gpu::BindingKind> kinds{gpu::BindingKind::Storage};
    for (const Binding& binding : dispatch.bindings)
        kinds.push_back(binding.access == Access::Load4 && texelInputs ? gpu::BindingKind::TexelInput
                                                                       : gpu::BindingKind::Storage);

    const std::lock_guard lock(mutex_);
    return madeOnce(pipelines_, Key{dispatch.shader, texelInputs, dispatch.specialisation, kinds}, [&] {
        const auto shaders = embeddedShaders();
        const auto shader = std::ranges::find_if(shaders, [&](const EmbeddedShader& s) {
            return s.name == dispatch.shader && s.texelInputs == texelInputs;
        });
        if (shader == shaders.end())
            throw Error({.what = "this kernel is not part of the program", .where = std::string(dispatch.shader)});
        return std::make_unique<gpu::ComputePipeline>(
            context_,
            gpu::ComputePipeline::Options{.name = std::string(dispatch.shader),
                                          .spirv = shader->spirv,
                                          .bindings = kinds,
                                          .pushConstantBytes = static_cast<uint32_t>(dispatch.push.size() * 4),
                                          .specialisation = dispatch.specialisation},
            &cache_);
    });
}

void KernelLibrary::save() {
    const std::lock_guard lock(mutex_);
    cache_.save();
}

size_t KernelLibrary::count() const {
    const std::lock_guard lock(mutex_);
    return pipelines_.size();
}

} // namespace attn
