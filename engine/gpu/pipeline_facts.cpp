#include "engine/gpu/pipeline_facts.h"

#include <fmt/format.h>

#include <map>

namespace attn::gpu {
namespace {

// From the SPIR-V specification, version 1.5.
enum Opcode : uint32_t {
    kExecutionMode = 16,
    kConstant = 43,
    kConstantComposite = 44,
    kSpecConstant = 50,
    kSpecConstantComposite = 51,
    kDecorate = 71
};
constexpr uint32_t kLocalSize = 17, kSpecId = 1, kBuiltIn = 11, kWorkgroupSize = 25;
constexpr size_t kHeaderWords = 5;

std::string valueOf(const VkPipelineExecutableStatisticKHR& statistic) {
    switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return statistic.value.b32 == VK_TRUE ? "yes" : "no";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return std::to_string(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return std::to_string(statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return fmt::format("{:.4g}", statistic.value.f64);
    default:
        return "?";
    }
}

Owned<VkPipeline, vkDestroyPipeline> compile(Context& context, const ComputePipeline& like,
                                             std::span<const uint32_t> spirv,
                                             std::span<const uint32_t> specialisation) {
    VkShaderModuleCreateInfo moduleCreate{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    moduleCreate.codeSize = spirv.size_bytes();
    moduleCreate.pCode = spirv.data();
    VkShaderModule module = VK_NULL_HANDLE;
    check(vkCreateShaderModule(context.device(), &moduleCreate, nullptr, &module), "vkCreateShaderModule", like.name());
    const Owned<VkShaderModule, vkDestroyShaderModule> owned(context.device(), module);
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t id = 0; id < specialisation.size(); ++id) entries.push_back({id, id * 4, 4});
    const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                         specialisation.size_bytes(), specialisation.data()};
    VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    create.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    create.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    create.stage.module = module;
    create.stage.pName = "main";
    create.stage.pSpecializationInfo = &constants;
    create.layout = like.layout();
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroup{
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
    subgroup.requiredSubgroupSize = context.physical().requiredSubgroupSize;
    if (subgroup.requiredSubgroupSize > 0) create.stage.pNext = &subgroup;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateComputePipelines(context.device(), VK_NULL_HANDLE, 1, &create, nullptr, &pipeline),
          "vkCreateComputePipelines", like.name());
    return {context.device(), pipeline};
}

} // namespace

std::array<uint32_t, 3> workgroupSize(std::span<const uint32_t> spirv, std::span<const uint32_t> specialisation) {
    std::array<uint32_t, 3> size{1, 1, 1};
    std::map<uint32_t, uint32_t> constants, specIds; // by result id
    std::map<uint32_t, std::vector<uint32_t>> composites;
    uint32_t builtIn = 0; // the id that is decorated as the workgroup's size; ids begin at 1
    for (size_t at = kHeaderWords; at < spirv.size();) {
        const uint32_t length = spirv[at] >> 16, opcode = spirv[at] & 0xffff;
        if (length == 0 || at + length > spirv.size()) break;
        const std::span<const uint32_t> words = spirv.subspan(at + 1, length - 1);
        if (opcode == kExecutionMode && words.size() >= 5 && words[1] == kLocalSize)
            size = {words[2], words[3], words[4]};
        if (opcode == kDecorate && words.size() >= 3 && words[1] == kSpecId) specIds[words[0]] = words[2];
        if (opcode == kDecorate && words.size() >= 3 && words[1] == kBuiltIn && words[2] == kWorkgroupSize)
            builtIn = words[0];
        if ((opcode == kConstant || opcode == kSpecConstant) && words.size() >= 3) constants[words[1]] = words[2];
        if ((opcode == kConstantComposite || opcode == kSpecConstantComposite) && words.size() >= 2)
            composites[words[1]] = {words.begin() + 2, words.end()};
        at += length;
    }
    const auto parts = composites.find(builtIn);
    if (builtIn == 0 || parts == composites.end() || parts->second.size() != size.size()) return size;
    for (size_t axis = 0; axis < size.size(); ++axis) {
        const uint32_t part = parts->second[axis];
        const auto spec = specIds.find(part);
        if (spec != specIds.end() && spec->second < specialisation.size())
            size[axis] = specialisation[spec->second];
        else if (const auto constant = constants.find(part); constant != constants.end())
            size[axis] = constant->second;
    }
    return size;
}

bool offersPipelineFacts(const PhysicalDevice& device) {
    if (!device.hasExtension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) return false;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR offered{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &offered};
    vkGetPhysicalDeviceFeatures2(device.handle, &features);
    return offered.pipelineExecutableInfo == VK_TRUE;
}

std::vector<std::pair<std::string, std::string>> pipelineFacts(Context& context, const ComputePipeline& like,
                                                               std::span<const uint32_t> spirv,
                                                               std::span<const uint32_t> specialisation) {
    if (!offersPipelineFacts(context.physical())) return {};
    const auto getStatistics = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
        vkGetDeviceProcAddr(context.device(), "vkGetPipelineExecutableStatisticsKHR"));
    if (getStatistics == nullptr) return {};
    const auto pipeline = compile(context, like, spirv, specialisation);
    VkPipelineExecutableInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
    info.pipeline = pipeline.get(); // a compute pipeline is one executable
    uint32_t count = 0;
    check(getStatistics(context.device(), &info, &count, nullptr), "vkGetPipelineExecutableStatisticsKHR", like.name());
    std::vector<VkPipelineExecutableStatisticKHR> statistics(
        count, VkPipelineExecutableStatisticKHR{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
    check(getStatistics(context.device(), &info, &count, statistics.data()), "vkGetPipelineExecutableStatisticsKHR",
          like.name());
    std::vector<std::pair<std::string, std::string>> facts;
    for (const VkPipelineExecutableStatisticKHR& statistic : statistics)
        facts.emplace_back(static_cast<const char*>(statistic.name), valueOf(statistic));
    return facts;
}

} // namespace attn::gpu
