#include "app/scope/views/device_view.h"

#include "app/scope/drawing.h"
#include "app/scope/model_subject.h"
#include "engine/gpu/pipeline_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <algorithm>

namespace attn::scope {
namespace {

constexpr ImGuiWindowFlags kPane =
    ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoBackground;
constexpr ImGuiTableFlags kTable =
    ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingStretchProp;

void beginPane(const char* name, const Area& area) {
    ImGui::SetNextWindowPos({area.x, area.y});
    ImGui::SetNextWindowSize({area.width, std::max(area.height, 1.0f)});
    ImGui::Begin(name, nullptr, kPane);
}

void row(const std::string& name, const std::string& value) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(name.c_str());
    ImGui::TableNextColumn();
    ImGui::TextWrapped("%s", value.c_str());
}

std::string heapText(const VkMemoryHeap& heap) {
    return fmt::format("{}{}", bytesText(static_cast<double>(heap.size)),
                       (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 ? ", on the device" : ", on the host");
}

} // namespace

std::vector<MemoryUse> DeviceView::uses() const {
    if (ModelSubject* model = subject_.model()) return model->microscope().memory();
    return {{"queries, keys and the long-pattern view", static_cast<int64_t>(subject_.context().allocatedBytes())}};
}

void DeviceView::drawMemory() const {
    const gpu::Context& context = subject_.context();
    const auto held = static_cast<double>(context.allocatedBytes()), free = static_cast<double>(context.freeBytes());
    ImGui::TextUnformatted(fmt::format("Memory: {} held by this program, {} free of {}", bytesText(held),
                                       bytesText(free), bytesText(static_cast<double>(context.traits().heapBytes)))
                               .c_str());
    if (!ImGui::BeginTable("memory", 3, kTable)) return;
    ImGui::TableSetupColumn("for", 0, 3);
    ImGui::TableSetupColumn("bytes", 0, 1);
    ImGui::TableSetupColumn("share", 0, 3);
    for (const MemoryUse& use : uses()) {
        row(use.purpose, bytesText(static_cast<double>(use.bytes)));
        ImGui::TableNextColumn();
        const auto share = static_cast<float>(static_cast<double>(use.bytes) / std::max(held, 1.0));
        ImGui::PushStyleColor(ImGuiCol_PlotHistogram, ImGui::GetStyleColorVec4(ImGuiCol_SliderGrab));
        ImGui::ProgressBar(share, {-1, ImGui::GetFontSize() * 1.1f},
                           fmt::format("{:.0f} %", static_cast<double>(share) * 100).c_str());
        ImGui::PopStyleColor();
    }
    ImGui::EndTable();
}

void DeviceView::drawTraits() const {
    const gpu::Context& context = subject_.context();
    const gpu::DeviceTraits& traits = context.traits();
    const auto bytes = [](uint64_t count) { return bytesText(static_cast<double>(count)); };
    ImGui::TextUnformatted("Device");
    if (!ImGui::BeginTable("traits", 2, kTable)) return;
    ImGui::TableSetupColumn("name", 0, 2);
    ImGui::TableSetupColumn("value", 0, 3);
    row("name", traits.name);
    row("kind", gpu::deviceTypeName(traits.type));
    row("driver", traits.driver);
    row("Vulkan", fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(traits.apiVersion),
                              VK_API_VERSION_MINOR(traits.apiVersion), VK_API_VERSION_PATCH(traits.apiVersion)));
    row("subgroup", fmt::format("{} invocations", traits.subgroupSize));
    row("workgroup", fmt::format("at most {} invocations, {} of shared memory", traits.maxWorkGroupInvocations,
                                 bytes(traits.maxSharedMemoryBytes)));
    row("workgroups per dispatch", fmt::format("{}", fmt::join(traits.maxWorkGroupCount, " × ")));
    row("push constants", bytes(traits.maxPushConstantBytes));
    row("storage buffers",
        fmt::format("{} per shader, {} each", traits.maxStorageBuffers, bytes(traits.maxStorageBufferRange)));
    row("texel buffers", fmt::format("{} texels", traits.maxTexelBufferElements));
    row("largest allocation", bytes(traits.maxAllocationBytes));
    row("timestamps", traits.timestampPeriodNs > 0 ? fmt::format("every {:g} ns", traits.timestampPeriodNs) : "none");
    row("host writes to device memory", traits.hostVisibleDeviceLocal ? "directly" : "through staging buffers");
    row("shader inputs", traits.prefersTexelInputs ? "texel buffers" : "storage buffers");
    row("matrix kernels", traits.prefersSubgroupTiles ? "one tile per subgroup" : "tiles in shared memory");
    const VkPhysicalDeviceMemoryProperties& memory = context.physical().memory;
    for (uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap)
        row(fmt::format("heap {}", heap), heapText(memory.memoryHeaps[heap]));
    ImGui::EndTable();
}

void DeviceView::draw(const Area& area, const Look&, UserRequests&) {
    beginPane("device", area);
    drawMemory();
    ImGui::Dummy({0, ImGui::GetFontSize() * 0.5f});
    drawTraits();
    ImGui::End();
}

void ShaderView::draw(const Area& area, const Look&, UserRequests&) {
    beginPane("shaders", area);
    ImGui::PushTextWrapPos(0);
    if (!gpu::offersPipelineFacts(subject_.context().physical()))
        ImGui::TextUnformatted("This driver gives no statistics about shaders. Registers, spills and occupancy need "
                               "VK_KHR_pipeline_executable_properties, which it does not support.");
    if (subject_.device().kernelTraits().usesHost)
        ImGui::TextUnformatted("This device is the processor, which computes most operations without shaders. The list "
                               "shows the shaders that compute them on a graphics card.");
    ImGui::PopTextWrapPos();
    if (ImGui::BeginTable("kernels", 6, kTable | ImGuiTableFlags_Resizable | ImGuiTableFlags_ScrollY)) {
        ImGui::TableSetupScrollFreeze(0, 1);
        ImGui::TableSetupColumn("kernel", 0, 5);
        ImGui::TableSetupColumn("launched", 0, 1.6f);
        ImGui::TableSetupColumn("local size", 0, 2);
        ImGui::TableSetupColumn("push constants", 0, 2.4f);
        ImGui::TableSetupColumn("specialisation", 0, 3);
        ImGui::TableSetupColumn("driver", 0, 4);
        ImGui::TableHeadersRow();
        for (const KernelUse& kernel : kernels_) {
            ImGui::TableNextRow();
            const auto cell = [](const std::string& text) {
                ImGui::TableNextColumn();
                ImGui::TextUnformatted(text.c_str(), text.c_str() + text.size());
                if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", text.c_str());
            };
            std::vector<std::string> facts;
            for (const auto& [name, value] : kernel.facts) facts.push_back(name + " " + value);
            cell(kernel.shader);
            cell(fmt::format("{} ×", kernel.dispatches));
            cell(fmt::format("{}", fmt::join(kernel.localSize, " × ")));
            cell(fmt::format("{} bytes", kernel.pushBytes));
            cell(kernel.specialisation.empty() ? "–" : fmt::format("{}", fmt::join(kernel.specialisation, ", ")));
            cell(facts.empty() ? "–" : fmt::format("{}", fmt::join(facts, ", ")));
        }
        ImGui::EndTable();
    }
    ImGui::End();
}

bool ShaderView::prepare(const std::function<void()>& finishFrame) {
    if (isRead_ && changesVersion_ == subject_.model()->changesVersion()) return false;
    finishFrame();
    changesVersion_ = subject_.model()->changesVersion();
    Microscope& microscope = subject_.model()->microscope();
    kernels_ = microscope.kernels(*microscope.plan(Microscope::Phase::Decode));
    isRead_ = true;
    return true; // visible in the next frame
}

std::string ShaderView::facts() const {
    return fmt::format("{} kernels{}", kernels_.size(), withChanges(subject_.model()->changeCount()));
}

std::unique_ptr<View> makeDeviceView(Subject& subject) { return std::make_unique<DeviceView>(subject); }
std::unique_ptr<View> makeShaderView(Subject& subject) { return std::make_unique<ShaderView>(subject); }

} // namespace attn::scope
