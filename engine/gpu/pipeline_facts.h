#pragma once

#include "engine/gpu/pipeline.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn::gpu {

/// Invocations of a workgroup along x, y and z, as a compute shader declares them.
/// @param specialisation values of constant ids 0, 1, ...; ids beyond keep the shader's own values
std::array<uint32_t, 3> workgroupSize(std::span<const uint32_t> spirv, std::span<const uint32_t> specialisation);

/// Whether the driver tells what it made of a shader (VK_KHR_pipeline_executable_properties).
bool offersPipelineFacts(const PhysicalDevice& device);

/// What the driver tells of a shader: registers, spills, instructions, by its own names. Compiles it once more, with
/// statistics. Empty where the driver does not tell.
std::vector<std::pair<std::string, std::string>> pipelineFacts(Context& context, const ComputePipeline& like,
                                                               std::span<const uint32_t> spirv,
                                                               std::span<const uint32_t> specialisation);

} // namespace attn::gpu
