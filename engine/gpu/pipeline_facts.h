#pragma once

#include "engine/gpu/pipeline.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn::gpu {

/// The size of a shader's workgroup along x, y and z.
/// @param specialisation values of constant ids 0, 1, ...; higher ids keep the shader's own values
std::array<uint32_t, 3> workgroupSize(std::span<const uint32_t> spirv, std::span<const uint32_t> specialisation);

/// Whether the driver reports facts about compiled shaders (VK_KHR_pipeline_executable_properties).
bool offersPipelineFacts(const PhysicalDevice& device);

/// The driver's facts about a compiled shader, such as registers, spills and instructions, by the driver's names.
/// Compiles the shader again, with statistics. Empty if the driver reports none.
/// @param like gives the layout and the bindings
std::vector<std::pair<std::string, std::string>> pipelineFacts(Context& context, const ComputePipeline& like,
                                                               std::span<const uint32_t> spirv,
                                                               std::span<const uint32_t> specialisation);

} // namespace attn::gpu
