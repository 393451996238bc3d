#include "app/scope/swapchain.h"

#include <algorithm>

namespace attn::scope {
namespace {

/// Like gpu::check, for calls that may also report a lost surface.
void checkSurface(VkResult result, const char* call) {
    if (result == VK_ERROR_SURFACE_LOST_KHR)
        throw SurfaceLost({.what = "the window's surface was lost and could not be created again",
                           .where = call,
                           .hint = "start the program again; if it stays so, the display server or its driver is at "
                                   "fault"});
    gpu::check(result, call, "window");
}

} // namespace

Swapchain::Swapchain(gpu::Context& context, VkSurfaceKHR surface) : context_(context), surface_(surface) {
    VkBool32 canPresent = VK_FALSE;
    gpu::check(
        vkGetPhysicalDeviceSurfaceSupportKHR(context.physicalDevice(), context.queueFamily(), surface, &canPresent),
        "vkGetPhysicalDeviceSurfaceSupportKHR");
    if (canPresent == VK_FALSE)
        throw Error({.what = context.traits().name + " cannot draw on this display",
                     .where = "--device",
                     .hint = "choose another device (attention-cli devices lists them), or start the program on the "
                             "display that it drives"});
    chooseFormat();
    makeRenderPass();
    acquired_ = makeSemaphore("image acquired");
}

Swapchain::~Swapchain() { waitIdle(); }

void Swapchain::waitIdle() {
    const std::lock_guard lock(context_.queueMutex());
    vkDeviceWaitIdle(context_.device());
}

gpu::Owned<VkSemaphore, vkDestroySemaphore> Swapchain::makeSemaphore(const char* name) {
    const VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    gpu::check(vkCreateSemaphore(context_.device(), &create, nullptr, &semaphore), "vkCreateSemaphore", name);
    context_.setName(VK_OBJECT_TYPE_SEMAPHORE, semaphore, name);
    return {context_.device(), semaphore};
}

void Swapchain::chooseFormat() {
    uint32_t count = 0;
    gpu::check(vkGetPhysicalDeviceSurfaceFormatsKHR(context_.physicalDevice(), surface_, &count, nullptr),
               "vkGetPhysicalDeviceSurfaceFormatsKHR");
    std::vector<VkSurfaceFormatKHR> formats(count);
    gpu::check(vkGetPhysicalDeviceSurfaceFormatsKHR(context_.physicalDevice(), surface_, &count, formats.data()),
               "vkGetPhysicalDeviceSurfaceFormatsKHR");
    if (formats.empty())
        throw Error({.what = "the display offers no pixel format",
                     .where = context_.traits().name,
                     .hint = "update the Vulkan driver or choose another --device"});
    // Colours are written as sRGB bytes, by the shader and by Dear ImGui.
    const auto fits = [](const VkSurfaceFormatKHR& f) {
        return f.format == VK_FORMAT_B8G8R8A8_UNORM || f.format == VK_FORMAT_R8G8B8A8_UNORM;
    };
    const auto found = std::ranges::find_if(formats, fits);
    format_ = found != formats.end() ? *found : formats.front();
}

void Swapchain::makeRenderPass() {
    VkAttachmentDescription colour{};
    colour.format = format_.format;
    colour.samples = VK_SAMPLE_COUNT_1_BIT;
    colour.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    colour.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    colour.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    colour.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    colour.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    colour.finalLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    const VkAttachmentReference reference{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkSubpassDescription subpass{};
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &reference;
    // The image is ours once its semaphore has been waited for, which the submission does at every stage.
    VkSubpassDependency before{};
    before.srcSubpass = VK_SUBPASS_EXTERNAL;
    before.srcStageMask = before.dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    before.dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    VkSubpassDependency after{};
    after.dstSubpass = VK_SUBPASS_EXTERNAL;
    after.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    after.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    after.dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT; // a screenshot copies it
    after.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    const VkSubpassDependency dependencies[] = {before, after};
    VkRenderPassCreateInfo create{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    create.attachmentCount = 1;
    create.pAttachments = &colour;
    create.subpassCount = 1;
    create.pSubpasses = &subpass;
    create.dependencyCount = 2;
    create.pDependencies = dependencies;
    VkRenderPass pass = VK_NULL_HANDLE;
    gpu::check(vkCreateRenderPass(context_.device(), &create, nullptr, &pass), "vkCreateRenderPass", "scope");
    renderPass_ = {context_.device(), pass};
    context_.setName(VK_OBJECT_TYPE_RENDER_PASS, pass, "scope");
}

bool Swapchain::rebuild(Window::Size size) {
    waitIdle();
    VkSurfaceCapabilitiesKHR surface{};
    checkSurface(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(context_.physicalDevice(), surface_, &surface),
                 "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    extent_ = surface.currentExtent;
    if (extent_.width == UINT32_MAX) // the images set the size of the window (Wayland)
        extent_ = {
            std::clamp(static_cast<uint32_t>(size.width), surface.minImageExtent.width, surface.maxImageExtent.width),
            std::clamp(static_cast<uint32_t>(size.height), surface.minImageExtent.height,
                       surface.maxImageExtent.height)};
    if (extent_.width == 0 || extent_.height == 0) return false;
    smallestImageCount_ = std::max(2u, surface.minImageCount);
    canBeRead_ = (surface.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) != 0;
    VkSwapchainCreateInfoKHR create{VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
    create.surface = surface_;
    create.minImageCount = smallestImageCount_;
    create.imageFormat = format_.format;
    create.imageColorSpace = format_.colorSpace;
    create.imageExtent = extent_;
    create.imageArrayLayers = 1;
    create.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (canBeRead_) create.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    create.imageSharingMode = VK_SHARING_MODE_EXCLUSIVE;
    create.preTransform = surface.currentTransform;
    create.compositeAlpha = (surface.supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR) != 0
                                ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
                                : VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
    create.presentMode = VK_PRESENT_MODE_FIFO_KHR; // available everywhere, and never faster than the screen
    create.clipped = VK_TRUE;
    create.oldSwapchain = swapchain_.get();
    images_.clear();
    VkSwapchainKHR made = VK_NULL_HANDLE;
    checkSurface(
        [&] {
            const std::shared_lock lock(gpu::loaderLists());
            return vkCreateSwapchainKHR(context_.device(), &create, nullptr, &made);
        }(),
        "vkCreateSwapchainKHR");
    swapchain_ = {context_.device(), made};
    uint32_t count = 0;
    gpu::check(vkGetSwapchainImagesKHR(context_.device(), made, &count, nullptr), "vkGetSwapchainImagesKHR");
    std::vector<VkImage> images(count);
    gpu::check(vkGetSwapchainImagesKHR(context_.device(), made, &count, images.data()), "vkGetSwapchainImagesKHR");
    for (VkImage image : images) addImage(image);
    builtFor_ = size;
    isStale_ = false;
    return true;
}

void Swapchain::addImage(VkImage image) {
    Image added{image, {}, {}, makeSemaphore("image drawn")};
    VkImageViewCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    create.image = image;
    create.viewType = VK_IMAGE_VIEW_TYPE_2D;
    create.format = format_.format;
    create.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageView view = VK_NULL_HANDLE;
    gpu::check(vkCreateImageView(context_.device(), &create, nullptr, &view), "vkCreateImageView", "window");
    added.view = {context_.device(), view};
    VkFramebufferCreateInfo frame{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
    frame.renderPass = renderPass_.get();
    frame.attachmentCount = 1;
    frame.pAttachments = &view;
    frame.width = extent_.width;
    frame.height = extent_.height;
    frame.layers = 1;
    VkFramebuffer framebuffer = VK_NULL_HANDLE;
    gpu::check(vkCreateFramebuffer(context_.device(), &frame, nullptr, &framebuffer), "vkCreateFramebuffer", "window");
    added.framebuffer = {context_.device(), framebuffer};
    images_.push_back(std::move(added));
}

std::optional<Swapchain::Target> Swapchain::acquire(Window::Size size) {
    if (size.isEmpty()) return std::nullopt;
    if ((isStale_ || size != builtFor_) && !rebuild(size)) return std::nullopt;
    uint32_t index = 0;
    const VkResult result =
        vkAcquireNextImageKHR(context_.device(), swapchain_.get(), UINT64_MAX, acquired_.get(), VK_NULL_HANDLE, &index);
    if (result == VK_ERROR_OUT_OF_DATE_KHR) {
        isStale_ = true;
        return std::nullopt;
    }
    if (result == VK_SUBOPTIMAL_KHR)
        isStale_ = true; // this image can still be shown
    else
        checkSurface(result, "vkAcquireNextImageKHR");
    const Image& image = images_.at(index);
    return Target{index, image.image, image.framebuffer.get(), extent_, acquired_.get(), image.drawn.get()};
}

void Swapchain::present(const Target& target) {
    VkPresentInfoKHR present{VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
    const VkSwapchainKHR swapchain = swapchain_.get();
    present.waitSemaphoreCount = 1;
    present.pWaitSemaphores = &target.drawn;
    present.swapchainCount = 1;
    present.pSwapchains = &swapchain;
    present.pImageIndices = &target.index;
    const std::lock_guard lock(context_.queueMutex());
    const VkResult result = vkQueuePresentKHR(context_.queue(), &present);
    if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR)
        isStale_ = true;
    else
        checkSurface(result, "vkQueuePresentKHR");
}

} // namespace attn::scope
