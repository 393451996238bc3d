#include "app/scope/renderer.h"

#include "engine/core/error.h"

namespace attn::scope {

Renderer::Renderer(gpu::Context& context, VkSurfaceKHR surface)
    : context_(context), swapchain_(context, surface), pipeline_(context, swapchain_.renderPass()),
      commands_(context, "frame"), timeline_(context, "frames") {}

bool Renderer::draw(Window::Size size, std::span<const Picture> pictures, const Overlay& overlay) {
    finishFrame();
    const auto target = swapchain_.acquire(size);
    if (!target) return false;
    gpu::CommandRecorder recorder(commands_);
    record(recorder.get(), *target, pictures, overlay);
    recorder.finish();
    submit(*target);
    return true;
}

std::optional<Screenshot> Renderer::drawAndRead(Window::Size size, std::span<const Picture> pictures,
                                                const Overlay& overlay) {
    finishFrame();
    const auto target = swapchain_.acquire(size);
    if (!target) return std::nullopt;
    if (!swapchain_.canBeRead())
        throw Error({.what = "this display does not allow screenshots",
                     .where = context_.traits().name,
                     .hint = "use attention-cli render, which writes figures without a display"});
    const auto width = target->extent.width, height = target->extent.height;
    gpu::Buffer pixels(
        context_,
        {.sizeBytes = uint64_t{width} * height * 4, .placement = gpu::Placement::Readback, .name = "screenshot"});
    gpu::CommandRecorder recorder(commands_);
    record(recorder.get(), *target, pictures, overlay);
    recordRead(recorder.get(), *target, pixels);
    recorder.barrier(gpu::Stages::Transfer, gpu::Stages::Host);
    recorder.finish();
    submit(*target);
    finishFrame();

    Screenshot shot{.width = static_cast<int>(width), .height = static_cast<int>(height), .rgb = {}};
    shot.rgb.reserve(size_t{width} * height * 3);
    const bool isBgr =
        swapchain_.format() == VK_FORMAT_B8G8R8A8_UNORM || swapchain_.format() == VK_FORMAT_B8G8R8A8_SRGB;
    const auto bytes = pixels.mappedAs<uint8_t>();
    for (size_t i = 0; i < bytes.size(); i += 4)
        for (size_t channel = 0; channel < 3; ++channel) shot.rgb.push_back(bytes[i + (isBgr ? 2 - channel : channel)]);
    return shot;
}

void Renderer::record(VkCommandBuffer commands, const Swapchain::Target& target, std::span<const Picture> pictures,
                      const Overlay& overlay) {
    pipeline_.prepare(commands, pictures);
    VkClearValue page{}; // as in picture.frag
    page.color = isLight_ ? VkClearColorValue{{0.965f, 0.969f, 0.976f, 1.0f}}
                          : VkClearColorValue{{0.071f, 0.078f, 0.094f, 1.0f}};
    VkRenderPassBeginInfo begin{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = swapchain_.renderPass();
    begin.framebuffer = target.framebuffer;
    begin.renderArea = {{0, 0}, target.extent};
    begin.clearValueCount = 1;
    begin.pClearValues = &page;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    pipeline_.draw(commands, pictures);
    overlay(commands);
    vkCmdEndRenderPass(commands);
}

void Renderer::recordRead(VkCommandBuffer commands, const Swapchain::Target& target, const gpu::Buffer& into) {
    VkImageMemoryBarrier toRead{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    toRead.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    toRead.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    toRead.oldLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    toRead.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    toRead.srcQueueFamilyIndex = toRead.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    toRead.image = target.image;
    toRead.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1, &toRead);
    VkBufferImageCopy copy{};
    copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    copy.imageExtent = {target.extent.width, target.extent.height, 1};
    vkCmdCopyImageToBuffer(commands, target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, into.get(), 1, &copy);
    VkImageMemoryBarrier toPresent = toRead;
    toPresent.srcAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    toPresent.dstAccessMask = 0;
    toPresent.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    toPresent.newLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, nullptr,
                         0, nullptr, 1, &toPresent);
}

void Renderer::submit(const Swapchain::Target& target) {
    const gpu::CommandBuffer* const list[] = {&commands_};
    timeline_.submit(list, {.waitBefore = {target.acquired}, .signalAfter = {target.drawn}});
    swapchain_.present(target);
}

} // namespace attn::scope
