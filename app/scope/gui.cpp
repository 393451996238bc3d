#include "app/scope/gui.h"

#include "engine/core/error.h"
#include "engine/gpu/timeline.h"

#include <imgui.h>
#if __has_include(<backends/imgui_impl_vulkan.h>)
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_vulkan.h>
#else // vcpkg, Homebrew
#include <imgui_impl_glfw.h>
#include <imgui_impl_vulkan.h>
#endif

#include <cmath>
#include <filesystem>

namespace attn::scope {
namespace {

constexpr float kFontSize = 16, kLargeFontSize = 28;
constexpr uint32_t kTextures = 16; // the font's texture, and a reserve for later versions

/// Paths of DejaVu Sans in common distributions. It has the arrows and open boxes of token labels.
constexpr const char* kFonts[] = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf", "/usr/share/fonts/dejavu/DejaVuSans.ttf"};
/// Latin, Greek, Cyrillic, punctuation, arrows, mathematics, control pictures, geometric shapes.
constexpr ImWchar kGlyphs[] = {0x20,   0x24f,  0x370,  0x52f,  0x2010, 0x206f, 0x2190, 0x22ff,
                               0x2400, 0x2426, 0x25a0, 0x25ff, 0xfffd, 0xfffd, 0};

void check(VkResult result) { gpu::check(result, "Dear ImGui", "window"); }

struct Colour {
    ImGuiCol id;
    ImVec4 dark, light;
};
const Colour kColours[] = {
    {ImGuiCol_WindowBg, {0.110f, 0.118f, 0.141f, 1}, {0.918f, 0.925f, 0.937f, 1}},
    {ImGuiCol_PopupBg, {0.145f, 0.157f, 0.184f, 0.97f}, {1, 1, 1, 0.98f}},
    {ImGuiCol_Border, {1, 1, 1, 0.12f}, {0, 0, 0, 0.16f}},
    {ImGuiCol_Text, {0.910f, 0.918f, 0.929f, 1}, {0.106f, 0.118f, 0.145f, 1}},
    {ImGuiCol_TextDisabled, {0.620f, 0.639f, 0.671f, 1}, {0.345f, 0.369f, 0.412f, 1}},
    {ImGuiCol_FrameBg, {0.196f, 0.212f, 0.247f, 1}, {0.824f, 0.839f, 0.863f, 1}},
    {ImGuiCol_Button, {0.196f, 0.212f, 0.247f, 1}, {0.824f, 0.839f, 0.863f, 1}},
    {ImGuiCol_FrameBgHovered, {0.255f, 0.278f, 0.325f, 1}, {0.757f, 0.780f, 0.812f, 1}},
    {ImGuiCol_ButtonHovered, {0.255f, 0.278f, 0.325f, 1}, {0.757f, 0.780f, 0.812f, 1}},
    {ImGuiCol_FrameBgActive, {0.294f, 0.325f, 0.384f, 1}, {0.690f, 0.722f, 0.765f, 1}},
    {ImGuiCol_ButtonActive, {0.294f, 0.325f, 0.384f, 1}, {0.690f, 0.722f, 0.765f, 1}},
    {ImGuiCol_PlotHistogram, {1.0f, 0.45f, 0.80f, 1}, {0.72f, 0.10f, 0.42f, 1}},     // warnings
    {ImGuiCol_CheckMark, {0.369f, 0.788f, 0.384f, 1}, {0.075f, 0.475f, 0.275f, 1}},  // a green of viridis
    {ImGuiCol_SliderGrab, {0.149f, 0.404f, 0.400f, 1}, {0.533f, 0.788f, 0.765f, 1}}, // far enough from the text on it
    {ImGuiCol_SliderGrabActive, {0.173f, 0.482f, 0.475f, 1}, {0.451f, 0.733f, 0.706f, 1}},
    {ImGuiCol_TableHeaderBg, {0.157f, 0.169f, 0.200f, 1}, {0.859f, 0.871f, 0.890f, 1}},
};

void setStyle(float scale, bool isLight) {
    ImGuiStyle& style = ImGui::GetStyle() = ImGuiStyle();
    if (isLight)
        ImGui::StyleColorsLight();
    else
        ImGui::StyleColorsDark();
    style.WindowPadding = {10, 8};
    style.FramePadding = {8, 4};
    style.ItemSpacing = {8, 6};
    style.FrameRounding = style.GrabRounding = style.PopupRounding = 4;
    style.WindowRounding = 0;
    style.WindowBorderSize = 0;
    style.PopupBorderSize = 1;
    for (const Colour& colour : kColours) style.Colors[colour.id] = isLight ? colour.light : colour.dark;
    style.Colors[ImGuiCol_Header] = style.Colors[ImGuiCol_SliderGrab]; // the chosen row of a list
    style.Colors[ImGuiCol_HeaderHovered] = style.Colors[ImGuiCol_FrameBgHovered];
    style.Colors[ImGuiCol_HeaderActive] = style.Colors[ImGuiCol_SliderGrabActive];
    style.ScaleAllSizes(scale);
}

} // namespace

Gui::Gui(const Window& window, gpu::Context& context, VkRenderPass renderPass, uint32_t imageCount)
    : context_(context), scale_(window.contentScale()) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, kTextures};
    VkDescriptorPoolCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    create.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    create.maxSets = kTextures;
    create.poolSizeCount = 1;
    create.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    gpu::check(vkCreateDescriptorPool(context.device(), &create, nullptr, &pool), "vkCreateDescriptorPool",
               "Dear ImGui");
    pool_ = {context.device(), pool};

    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr; // the window remembers nothing
    makeFonts(scale_);
    setLook(false, false);
    ImGui_ImplGlfw_InitForVulkan(window.handle(), true);
    ImGui_ImplVulkan_InitInfo info{};
    info.Instance = context.instance();
    info.PhysicalDevice = context.physicalDevice();
    info.Device = context.device();
    info.QueueFamily = context.queueFamily();
    info.Queue = context.queue();
    info.DescriptorPool = pool;
    info.MinImageCount = info.ImageCount = imageCount;
    info.CheckVkResultFn = check;
#if IMGUI_VERSION_NUM >= 19240
    info.PipelineInfoMain.RenderPass = renderPass;
    info.PipelineInfoMain.MSAASamples = VK_SAMPLE_COUNT_1_BIT;
    ImGui_ImplVulkan_Init(&info);
#elif IMGUI_VERSION_NUM >= 19030
    info.MSAASamples = VK_SAMPLE_COUNT_1_BIT;
    info.RenderPass = renderPass;
    ImGui_ImplVulkan_Init(&info);
#else
    info.MSAASamples = VK_SAMPLE_COUNT_1_BIT;
    ImGui_ImplVulkan_Init(&info, renderPass);
#endif
    uploadFont();
}

Gui::~Gui() {
    {
        const std::lock_guard lock(context_.queueMutex());
        vkDeviceWaitIdle(context_.device());
    }
    ImGui_ImplVulkan_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
}

void Gui::makeFonts(float scale) {
    ImFontAtlas* fonts = ImGui::GetIO().Fonts;
    const auto make = [&](float points) {
        const float size = std::round(points * scale);
        for (const char* path : kFonts)
            if (std::error_code error; std::filesystem::exists(path, error))
                if (ImFont* font = fonts->AddFontFromFileTTF(path, size, nullptr, kGlyphs)) return font;
        ImFontConfig config;
        config.SizePixels = size;
        return fonts->AddFontDefault(&config); // ASCII only, and readable
    };
    plain_ = make(kFontSize);
    large_ = make(kLargeFontSize);
}

void Gui::setLook(bool isLight, bool isLarge) {
    setStyle(scale_, isLight);
    ImGui::GetIO().FontDefault = isLarge ? large_ : plain_;
}

/// Uploads the font. Later versions of Dear ImGui do this automatically.
void Gui::uploadFont() {
#if IMGUI_VERSION_NUM < 19000
    gpu::CommandBuffer commands(context_, "font");
    gpu::CommandRecorder recorder(commands);
    ImGui_ImplVulkan_CreateFontsTexture(recorder.get());
    recorder.finish();
    gpu::Timeline timeline(context_, "font");
    timeline.wait(timeline.submit(commands));
    ImGui_ImplVulkan_DestroyFontUploadObjects();
#endif
}

bool Gui::wantsText() const { return ImGui::GetIO().WantTextInput; }

void Gui::beginFrame() {
    {
        const std::lock_guard lock(context_.queueMutex()); // may upload
        ImGui_ImplVulkan_NewFrame();
    }
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
}

void Gui::endFrame() { ImGui::Render(); }

void Gui::record(VkCommandBuffer commands) const { ImGui_ImplVulkan_RenderDrawData(ImGui::GetDrawData(), commands); }

} // namespace attn::scope
