#include "app/scope/scope.h"

#include "app/scope/png_file.h"
#include "app/scope/presenter.h"
#include "app/scope/random_subject.h"
#include "engine/core/error.h"
#include "engine/inference/capture_file.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace attn::scope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kFramesTimed = 9;   // their median is shown, to ignore a frame that makes a plan
constexpr int kMostSurfacesLost = 3; // more in a row mean that the display is gone
constexpr float kMostFading = 0.05f; // seconds of the glow that pass in a frame
constexpr int kFramesAfterEvent = 3; // Dear ImGui settles sizes and hovers in the next frames

std::vector<int> encodePrompt(const LanguageModel& model, const Options& options) {
    if (!options.tokens.empty()) return parseTokenIds(options.tokens);
    if (model.tokenizer() == nullptr)
        throw Error({.what = "this model has no tokenizer",
                     .where = model.info().name,
                     .hint = "give token ids with --tokens 1,2,3"});
    Encoding encoding =
        model.tokenizer()->readWhole(options.prompt.empty() ? model.source().example() : options.prompt);
    if (const std::string note = model.tokenizer()->noteOn(encoding); !note.empty())
        fmt::print(stderr, "attention-scope: warning: {}\n", note);
    return std::move(encoding.ids);
}

double medianOf(std::deque<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Drops changes that a later message replaces. Dragging a slider sends many changes at once, and each would run the
/// whole text.
void dropOvertaken(std::vector<MirrorMessage>& messages) {
    bool isChangedLater = false;
    for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
        if (std::exchange(isChangedLater, isChangedLater || message->changes.has_value())) message->changes.reset();
        if (message->step > 0) isChangedLater = false; // the step needs the model as it was before
    }
}

} // namespace

Scope::Scope(const DisplayConnection& display, const Options& options)
    : display_(display), window_(display, options.width, options.height), framesWanted_(options.frames),
      screenshotPath_(options.screenshot) {
    if (!options.follow.empty()) follower_ = std::make_unique<Follower>(options.follow, [] { glfwPostEmptyEvent(); });
    open(options);
    page_->look().isLight = options.isLight;
    if (options.presents) present(true);
}

Scope::~Scope() {
    if (renderer_) renderer_->finishFrame(); // the frame reads buffers that the views hold
}

/// Opens another subject on a new device. If that fails, the current subject stays open.
void Scope::open(const Options& options) {
    const Look look = page_ ? page_->look() : Look{};
    const auto computes = options.device.empty() ? std::nullopt : std::optional(options.device);
    const std::optional<std::string> presents = presenterFor(display_, window_, computes, options.presentDevice);
    std::unique_ptr<LanguageModel> model = options.random ? nullptr : openModel(options, !presents);
    std::unique_ptr<Subject> subject;
    if (options.random) {
        const auto [tokens, heads, width] = *options.random;
        subject = std::make_unique<RandomSubject>(openDevice(options, !presents),
                                                  RandomSubject::Size{.tokens = tokens, .heads = heads, .width = width},
                                                  options.head);
    } else {
        subject = std::make_unique<ModelSubject>(*model, encodePrompt(*model, options), options.site, options.head);
    }
    std::unique_ptr<Device> presenter;
    if (presents) {
        Options shows = options;
        shows.device = *presents;
        presenter = openDevice(shows, true);
        subject->setNotice(fmt::format("Computed on {}, shown on {}: images are copied between them.",
                                       subject->device().name(), presenter->name()));
    }
    // Destroy the drawing objects before the device that they use.
    if (renderer_) renderer_->finishFrame();
    page_.reset();
    detach();
    subject_ = std::move(subject);
    model_ = std::move(model);
    presenter_ = std::move(presenter);
    attach();
    const ViewDescriptor* view = viewNamed(options.view);
    page_.emplace(*subject_, view ? view->id : options.random ? ViewId::LongPattern : ViewId::Head);
    page_->look() = look;
    window_.setTitle((options.random ? std::string("Long pattern") : subject_->name()) + " – Attention Scope");
    options_ = options;
    isRunning_ = false;
}

void Scope::attach() {
    if (presenter_) transfer_.emplace(context(), presenter_->context());
    surface_.emplace(presenter().instance(), window_);
    renderer_.emplace(presenter(), surface_->get());
    gui_.emplace(window_, presenter(), renderer_->renderPass(), renderer_->smallestImageCount());
    isLookNew_ = true;
}

void Scope::detach() {
    if (renderer_) renderer_->finishFrame(); // the frame uses buffers that the widgets hold
    gui_.reset();
    renderer_.reset();
    surface_.reset();
    transfer_.reset();
}

DeviceChoice Scope::chosenDevice(const Options& options) {
    return {.device = options.device.empty() ? std::nullopt : std::optional(options.device),
            .validation = options.validation};
}

WindowExtensions Scope::windowExtensions(bool presents) const {
    if (!presents) return {};
    return {.instance = display_.instanceExtensions(), .device = {VK_KHR_SWAPCHAIN_EXTENSION_NAME}};
}

std::unique_ptr<Device> Scope::openDevice(const Options& options, bool presents) const {
    return std::make_unique<Device>(chosenDevice(options), windowExtensions(presents));
}

std::span<const Picture> Scope::shownPictures() {
    if (!transfer_) return page_->pictures();
    renderer_->finishFrame(); // the last frame reads the copies
    return transfer_->copied(page_->pictures());
}

std::unique_ptr<LanguageModel> Scope::openModel(const Options& options, bool presents) {
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
    auto model = std::make_unique<LanguageModel>(
        std::move(source),
        LanguageModel::Options{.device = chosenDevice(options), .window = windowExtensions(presents)}, progress);
    if (model->info().readsSource)
        throw Error({.what = "attention-scope cannot show this model: it draws one stack of layers, and this model has "
                             "an encoder and a decoder",
                     .where = options.path,
                     .hint = "open the model in attention-lab, which shows both"});
    for (const std::string& warning : model->info().warnings)
        fmt::print(stderr, "attention-scope: warning: {}\n", warning);
    return model;
}

void Scope::readKeys() {
    UserRequests requests;
    const std::vector<int> pressed = window_.takeKeys();
    if (gui_->wantsText()) return; // the user is typing
    for (int key : pressed) {
        const auto views = viewCatalogue();
        if (key >= GLFW_KEY_1 && key < GLFW_KEY_1 + static_cast<int>(views.size()))
            requests.view = views[static_cast<size_t>(key - GLFW_KEY_1)].id;
        switch (key) {
        case GLFW_KEY_UP:
            --requests.sites;
            break;
        case GLFW_KEY_DOWN:
            ++requests.sites;
            break;
        case GLFW_KEY_LEFT:
            --requests.heads;
            break;
        case GLFW_KEY_RIGHT:
            ++requests.heads;
            break;
        case GLFW_KEY_ENTER:
        case GLFW_KEY_KP_ENTER:
            requests.open = true;
            break;
        case GLFW_KEY_SPACE:
            ++requests.tokens;
            break;
        case GLFW_KEY_R:
            requests.run = true;
            break;
        case GLFW_KEY_BACKSPACE:
            requests.reset = true;
            break;
        case GLFW_KEY_0:
        case GLFW_KEY_KP_0:
            requests.fit = true;
            break;
        case GLFW_KEY_B:
            requests.lift = true;
            break;
        case GLFW_KEY_T:
            requests.theme = true;
            break;
        case GLFW_KEY_F:
            requests.fullScreen = true;
            break;
        case GLFW_KEY_P:
        case GLFW_KEY_F11:
            requests.present = true;
            break;
        case GLFW_KEY_Q:
            requests.quit = true;
            break;
        case GLFW_KEY_ESCAPE:
            (page_->look().isPresenting ? requests.present : requests.quit) = true;
            break;
        default:
            break;
        }
    }
    fulfil(requests);
}

void Scope::readFollowed() {
    if (!follower_) return;
    const bool isConnected =
        follower_->isConnected(); // read before takeLines(), because lines may arrive until the end
    std::vector<MirrorMessage> messages;
    const auto saying = [&](const auto& work) {
        try {
            work();
        } catch (const gpu::DeviceLost&) {
            throw;
        } catch (const Error& error) {
            subject_->setNotice(error.what());
        }
    };
    for (const std::string& line : follower_->takeLines()) saying([&] { messages.push_back(parseMirrorLine(line)); });
    dropOvertaken(messages);
    for (const MirrorMessage& message : messages) saying([&] { follow(message); });
    if (isConnected) return;
    follower_ = nullptr;
    subject_->setNotice("The program that this window followed has ended. You can still use this window.");
}

void Scope::follow(const MirrorMessage& message) {
    isRunning_ = false;
    const auto textOf = [&](const LanguageModel& model) {
        if (!message.tokens) return TextInput{.tokens = encodePrompt(model, {.prompt = *message.prompt})};
        return TextInput{.tokens = *message.tokens,
                         .types = message.types.value_or(std::vector<int>()),
                         .parents = message.tree.value_or(std::vector<int>())};
    };
    if (message.path && (*message.path != options_.path || options_.random)) {
        Options wanted = options_;
        wanted.random = std::nullopt;
        wanted.path = *message.path;
        wanted.prompt = message.prompt.value_or("");
        wanted.tokens = message.tokens ? fmt::format("{}", fmt::join(*message.tokens, ",")) : std::string();
        wanted.site = wanted.head = 0;
        wanted.view = descriptorOf(page_->shown()).name;
        open(wanted);
    }
    if (ModelSubject* model = subject_->model(); model && (message.tokens || message.prompt)) {
        const TextInput text = textOf(model->language());
        const auto promptLength =
            static_cast<size_t>(std::max(message.promptLength.value_or(static_cast<int>(text.tokens.size())), 1));
        renderer_->finishFrame(); // the frame reads buffers that change now
        if (text != model->text() || promptLength != model->promptLength()) model->setText(text, promptLength);
    }
    for (int i = 0; i < message.step; ++i) step();
    if (ModelSubject* model = subject_->model(); model && message.changes) {
        renderer_->finishFrame();
        model->setChanges(*message.changes);
    }
    subject_->select(message.site.value_or(subject_->layer()), message.head.value_or(subject_->head()));
    if (message.view) {
        const ViewDescriptor* view = viewNamed(*message.view);
        if (view == nullptr)
            throw Error({.what = "there is no view '" + *message.view + "'",
                         .where = "--follow",
                         .hint = "attention-scope --help lists them"});
        page_->show(view->id);
    }
    if (message.theme) {
        page_->look().isLight = *message.theme == "light";
        isLookNew_ = true;
    }
}

void Scope::present(bool isPresenting) {
    page_->look().isPresenting = isPresenting;
    if (window_.isFullScreen() != isPresenting) window_.toggleFullScreen();
    isLookNew_ = true;
}

void Scope::step() {
    ModelSubject* model = subject_->model();
    if (model == nullptr) return;
    renderer_->finishFrame(); // the frame reads buffers that the step writes
    if (!model->generate() || !model->notice().empty()) isRunning_ = false;
}

void Scope::fulfil(const UserRequests& requests) {
    if (requests.view) page_->show(*requests.view);
    subject_->select(requests.site.value_or(subject_->layer()) + requests.sites,
                     requests.head.value_or(subject_->head()) + requests.heads);
    if (requests.open && page_->shown() == ViewId::Grid) page_->show(ViewId::Head);
    if (requests.run) isRunning_ = !isRunning_ && subject_->model() != nullptr;
    if (requests.reset && subject_->model() != nullptr) {
        isRunning_ = false;
        renderer_->finishFrame();
        subject_->model()->reset();
    }
    for (int i = 0; i < requests.tokens; ++i) step();
    if (requests.fit) page_->fit();
    if (requests.lift) page_->look().liftsFaint = !page_->look().liftsFaint;
    if (requests.theme) {
        page_->look().isLight = !page_->look().isLight;
        isLookNew_ = true;
    }
    if (requests.present) present(!page_->look().isPresenting);
    if (requests.fullScreen) window_.toggleFullScreen();
    if (requests.quit) window_.close();
}

void Scope::compose() {
    // A slow frame counts as a short one, so that the glow is seen on any machine.
    const auto now = Clock::now();
    const float seconds =
        std::min(std::chrono::duration<float>(now - std::exchange(composed_, now)).count(), kMostFading);
    if (ModelSubject* model = subject_->model()) model->fade(seconds);
    if (isRunning_) step();
    if (std::exchange(isLookNew_, false)) {
        gui_->setLook(page_->look().isLight, page_->look().isPresenting);
        renderer_->setLight(page_->look().isLight);
    }
    gui_->beginFrame();
    UserRequests requests;
    page_->draw(medianOf(frameMs_), isRunning_, requests);
    gui_->endFrame();
    const bool isBetterLater = page_->prepare([this] { renderer_->finishFrame(); });
    isRefining_ = isBetterLater || isRunning_ || (subject_->model() != nullptr && subject_->model()->isGlowing());
    fulfil(requests); // visible in the next frame
}

template <typename Draw> auto Scope::frame(const Draw& draw) {
    readKeys();
    readFollowed();
    if (gui_->scale() != window_.contentScale()) { // the window moved to a screen with another pixel density
        detach();
        attach();
    }
    const auto begin = Clock::now();
    compose();
    decltype(draw(Window::Size(), std::span<const Picture>(), Renderer::Overlay())) drawn{};
    try {
        drawn = draw(window_.framebufferSize(), shownPictures(),
                     [this](VkCommandBuffer commands) { gui_->record(commands); });
        surfacesLost_ = 0;
    } catch (const SurfaceLost&) {
        if (++surfacesLost_ >= kMostSurfacesLost) throw;
        detach();
        attach();
    }
    frameMs_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    if (frameMs_.size() > kFramesTimed) frameMs_.pop_front();
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

void Scope::reportRate(int frames, double seconds) const {
    fmt::print("{} frames of {} at {} x {} in {:.2f} s: {:.1f} frames per second\n", frames,
               descriptorOf(page_->shown()).name, window_.framebufferSize().width, window_.framebufferSize().height,
               seconds, frames / seconds);
}

void Scope::run() {
    int drawn = 0, due = kFramesAfterEvent, counted = 0;
    Clock::time_point since = Clock::now();
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
            if (framesWanted_ == 0) {
                due = isRefining_ ? kFramesAfterEvent : due - 1;
                continue;
            }
            if (drawn <= kFramesAfterEvent) { // the first ones build pipelines
                since = Clock::now();
                counted = drawn;
            }
            if (drawn < framesWanted_) continue;
            if (drawn > counted)
                reportRate(drawn - counted, std::chrono::duration<double>(Clock::now() - since).count());
            return;
        }
    }
}

} // namespace attn::scope
