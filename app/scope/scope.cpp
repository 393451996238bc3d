#include "app/scope/scope.h"

#include "app/scope/png_file.h"
#include "app/scope/shown_lens.h"
#include "engine/core/error.h"
#include "engine/session/capture_file.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include <chrono>

namespace attn::scope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSmoothing = 0.1;   // of the frame time, by each frame
constexpr int kFramesAfterEvent = 3; // Dear ImGui settles sizes and hovers in the next frames

std::vector<int> encodePrompt(const LanguageModel& model, const Options& options) {
    if (!options.tokens.empty()) return parseTokenIds(options.tokens);
    if (model.tokenizer() == nullptr)
        throw Error({.what = "this model has no tokenizer",
                     .where = model.info().name,
                     .hint = "give token ids with --tokens 1,2,3"});
    return model.tokenizer()->encode(options.prompt.empty() ? model.source().example() : options.prompt).ids;
}

} // namespace

Scope::Scope(const DisplayConnection& display, const Options& options)
    : window_(display, options.width, options.height), framesWanted_(options.frames),
      screenshotPath_(options.screenshot) {
    if (options.random)
        openLens(display, options);
    else
        openModel(display, options);
    surface_.emplace(context_->instance(), window_);
    renderer_.emplace(*context_, surface_->get());
    gui_.emplace(window_, *context_, renderer_->renderPass(), renderer_->smallestImageCount());
    if (model_)
        shown_ = std::make_unique<ShownHead>(*model_, encodePrompt(*model_, options), options.layer, options.head);
    window_.setTitle((options.random ? std::string("Lens") : shown_->name()) + " – Attention Scope");
}

Scope::~Scope() = default;

void Scope::openLens(const DisplayConnection& display, const Options& options) {
    const auto [tokens, heads, width] = *options.random;
    auto lens =
        std::make_unique<ShownLens>(std::make_unique<gpu::Context>(gpu::Context::Options{
                                        .device = options.device.empty() ? std::nullopt : std::optional(options.device),
                                        .validation = options.validation,
                                        .instanceExtensions = display.instanceExtensions(),
                                        .deviceExtensions = {VK_KHR_SWAPCHAIN_EXTENSION_NAME}}),
                                    ShownLens::Size{.tokens = tokens, .heads = heads, .width = width}, options.head);
    context_ = &lens->device();
    shown_ = std::move(lens);
}

void Scope::openModel(const DisplayConnection& display, const Options& options) {
    auto source = openModelSource(options.path);
    auto shown = Clock::now();
    const auto progress = [&](float fraction, const std::string&) {
        if (Clock::now() - shown < std::chrono::milliseconds(50)) return;
        shown = Clock::now();
        window_.setTitle(fmt::format("Loading {:.0f} % – Attention Scope", static_cast<double>(fraction) * 100));
        window_.pollEvents();
        if (window_.wantsToClose())
            throw Error(
                {.what = "the window was closed while the model was loading", .where = options.path, .hint = {}});
    };
    model_ = std::make_unique<LanguageModel>(
        std::move(source),
        LanguageModel::Options{.device = options.device.empty() ? std::nullopt : std::optional(options.device),
                               .validation = options.validation,
                               .instanceExtensions = display.instanceExtensions(),
                               .deviceExtensions = {VK_KHR_SWAPCHAIN_EXTENSION_NAME}},
        progress);
    context_ = &model_->context();
    for (const std::string& warning : model_->info().warnings)
        fmt::print(stderr, "attention-scope: warning: {}\n", warning);
}

void Scope::readKeys() {
    Wishes wishes;
    for (int key : window_.takeKeys()) {
        switch (key) {
        case GLFW_KEY_UP:
            --wishes.layers;
            break;
        case GLFW_KEY_DOWN:
            ++wishes.layers;
            break;
        case GLFW_KEY_LEFT:
            --wishes.heads;
            break;
        case GLFW_KEY_RIGHT:
            ++wishes.heads;
            break;
        case GLFW_KEY_SPACE:
            ++wishes.tokens;
            break;
        case GLFW_KEY_R:
            wishes.reset = true;
            break;
        case GLFW_KEY_0:
        case GLFW_KEY_KP_0:
            wishes.fit = true;
            break;
        case GLFW_KEY_B:
            wishes.lift = true;
            break;
        case GLFW_KEY_F:
        case GLFW_KEY_F11:
            wishes.fullScreen = true;
            break;
        case GLFW_KEY_Q:
        case GLFW_KEY_ESCAPE:
            wishes.quit = true;
            break;
        default:
            break;
        }
    }
    fulfil(wishes);
}

void Scope::fulfil(const Wishes& wishes) {
    shown_->select(wishes.layer.value_or(shown_->layer()) + wishes.layers,
                   wishes.head.value_or(shown_->head()) + wishes.heads);
    if (wishes.reset) shown_->reset();
    for (int i = 0; i < wishes.tokens; ++i) shown_->generate();
    if (wishes.fit) page_.fit();
    if (wishes.lift) page_.toggleLift();
    if (wishes.fullScreen) window_.toggleFullScreen();
    if (wishes.quit) window_.close();
}

PatternPicture Scope::compose() {
    gui_->beginFrame();
    Wishes wishes;
    page_.draw(*shown_, frameMs_, wishes);
    gui_->endFrame();
    PatternPicture picture = page_.picture();
    const auto queries = page_.view().visibleQueries(), keys = page_.view().visibleKeys();
    if (!shown_->isPatternReady(queries, keys, picture.cellSize)) {
        renderer_->finishFrame(); // it reads the old one
        isRefining_ = true;
    }
    picture.pattern = shown_->pattern(queries, keys, picture.cellSize);
    isRefining_ = isRefining_ && !shown_->isPatternReady(queries, keys, picture.cellSize);
    fulfil(wishes); // shown by the next frame
    return picture;
}

template <typename Draw> auto Scope::frame(const Draw& draw) {
    readKeys();
    const auto begin = Clock::now();
    const PatternPicture picture = compose();
    auto drawn =
        draw(window_.framebufferSize(), &picture, [this](VkCommandBuffer commands) { gui_->record(commands); });
    const double elapsedMs = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    frameMs_ = frameMs_ == 0 ? elapsedMs : frameMs_ + kSmoothing * (elapsedMs - frameMs_);
    return drawn;
}

bool Scope::drawFrame() {
    window_.pollEvents();
    return frame([this](auto&&... arguments) { return renderer_->draw(arguments...); });
}

std::optional<Screenshot> Scope::drawAndRead() {
    window_.pollEvents();
    return frame([this](auto&&... arguments) { return renderer_->drawAndRead(arguments...); });
}

void Scope::run() {
    int drawn = 0, due = kFramesAfterEvent;
    while (!wantsToClose()) {
        const bool isLast = framesWanted_ > 0 && drawn + 1 >= framesWanted_;
        if (window_.framebufferSize().isEmpty()) {
            window_.waitForEvents();
        } else if (isLast && !screenshotPath_.empty()) {
            if (const auto picture = drawAndRead()) {
                writePng(screenshotPath_, *picture);
                return;
            }
        } else {
            if (due == 0) {
                window_.waitForEvents();
                due = kFramesAfterEvent;
            }
            drawn += drawFrame() ? 1 : 0;
            if (framesWanted_ == 0)
                due = isRefining_ ? kFramesAfterEvent : due - 1;
            else if (drawn >= framesWanted_)
                return;
        }
    }
}

} // namespace attn::scope
