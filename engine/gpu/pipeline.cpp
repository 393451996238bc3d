#include "engine/gpu/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::gpu {

ComputePipeline::ComputePipeline(Context& context, const Options& options, const PipelineCache* cache)
    : name_(options.name), bindings_(options.bindings), pushConstantBytes_(options.pushConstantBytes) {
    const VkDevice device = context.device();
    if (pushConstantBytes_ > context.traits().maxPushConstantBytes) {
        throw Error({fmt::format("the shader takes {} bytes of push constants; {} allows {}", pushConstantBytes_,
                                 context.traits().name, context.traits().maxPushConstantBytes),
                     name_, "choose another device"});
    }

    const auto buffers = static_cast<uint32_t>(std::ranges::count(bindings_, BindingKind::Storage));
    if (buffers > context.traits().maxStorageBuffers)
        throw Error({fmt::format("the shader takes {} storage buffers; {} allows {}", buffers, context.traits().name,
                                 context.traits().maxStorageBuffers),
                     name_, "choose another device"});

    std::vector<VkDescriptorSetLayoutBinding> slots;
    for (BindingKind kind : bindings_) {
        VkDescriptorSetLayoutBinding slot{};
        slot.binding = static_cast<uint32_t>(slots.size());
        slot.descriptorType = kind == BindingKind::TexelInput ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
                                                              : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        slot.descriptorCount = 1;
        slot.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        slots.push_back(slot);
    }
    VkDescriptorSetLayoutCreateInfo setCreate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    setCreate.bindingCount = static_cast<uint32_t>(slots.size());
    setCreate.pBindings = slots.data();
    VkDescriptorSetLayout setLayout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(device, &setCreate, nullptr, &setLayout), "vkCreateDescriptorSetLayout", name_);
    setLayout_ = {device, setLayout};
    context.setName(VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, setLayout, name_);

    const VkPushConstantRange pushRange{VK_SHADER_STAGE_COMPUTE_BIT, 0, pushConstantBytes_};
    VkPipelineLayoutCreateInfo layoutCreate{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layoutCreate.setLayoutCount = 1;
    layoutCreate.pSetLayouts = &setLayout;
    layoutCreate.pushConstantRangeCount = pushConstantBytes_ > 0 ? 1 : 0;
    layoutCreate.pPushConstantRanges = &pushRange;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    check(vkCreatePipelineLayout(device, &layoutCreate, nullptr, &layout), "vkCreatePipelineLayout", name_);
    layout_ = {device, layout};
    context.setName(VK_OBJECT_TYPE_PIPELINE_LAYOUT, layout, name_);

    VkShaderModuleCreateInfo moduleCreate{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    moduleCreate.codeSize = options.spirv.size_bytes();
    moduleCreate.pCode = options.spirv.data();
    VkShaderModule moduleHandle = VK_NULL_HANDLE;
    check(vkCreateShaderModule(device, &moduleCreate, nullptr, &moduleHandle), "vkCreateShaderModule", name_);
    const Owned<VkShaderModule, vkDestroyShaderModule> module(device, moduleHandle);
    context.setName(VK_OBJECT_TYPE_SHADER_MODULE, moduleHandle, name_);

    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t id = 0; id < options.specialisation.size(); ++id) entries.push_back({id, id * 4, 4});
    VkSpecializationInfo specialisation{};
    specialisation.mapEntryCount = static_cast<uint32_t>(entries.size());
    specialisation.pMapEntries = entries.data();
    specialisation.dataSize = options.specialisation.size() * sizeof(uint32_t);
    specialisation.pData = options.specialisation.data();

    VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    create.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    create.stage.module = moduleHandle;
    create.stage.pName = "main";
    create.stage.pSpecializationInfo = &specialisation;
    create.layout = layout;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroup{
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
    subgroup.requiredSubgroupSize = context.physical().requiredSubgroupSize;
    if (subgroup.requiredSubgroupSize > 0) create.stage.pNext = &subgroup;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(vkCreateComputePipelines(device, cache ? cache->get() : VK_NULL_HANDLE, 1, &create, nullptr, &pipeline),
          "vkCreateComputePipelines", name_);
    pipeline_ = {device, pipeline};
    context.setName(VK_OBJECT_TYPE_PIPELINE, pipeline, name_);
}

} // namespace attn::gpu
