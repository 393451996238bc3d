#include "app/scope/drawing.h"
#include "app/scope/views/device_view.h"
#include "app/scope/views/norms_view.h"
#include "app/scope/views/plan_view.h"
#include "app/scope/views/tensor_view.h"
#include "app/scope/views/timeline_view.h"
#include "tests/scope/scope_window.h"

using namespace attn;
using namespace attn::scope;

namespace {

Options showing(const char* view) { return {.prompt = "qwertyuiopqwert", .view = view, .width = 900, .height = 600}; }

template <typename V> V& viewOf(ScopeWindow& window) { return dynamic_cast<V&>(*window.scope().page().view()); }

ScopeWindow::Colour pixelOf(const Screenshot& picture, const Picture& place, const Cell& cell) {
    const uint8_t* pixel =
        picture.at(static_cast<int>(place.originX + (static_cast<float>(cell.key) + 0.5f) * place.cellWidth),
                   static_cast<int>(place.originY + (static_cast<float>(cell.query) + 0.5f) * place.cellHeight));
    return {pixel[0], pixel[1], pixel[2]};
}

} // namespace

TEST_CASE("tensors: a hook is drawn from the device with its statistics", "[scope][gpu]") {
    ScopeWindow window(showing("tensors"));
    auto& view = viewOf<TensorView>(window);
    view.choose("blocks.1.attn.hook_pattern"); // [H,T,S] as rows of keys
    Screenshot picture = window.picture();
    REQUIRE(view.shown() != nullptr);
    CHECK(view.shown()->shape == Shape{2, 15, 15});
    const TensorStatistics& s = view.shown()->statistics;
    CHECK(s.minimum == 0);
    CHECK(s.maximum == Approx(1).margin(1e-4));
    CHECK(s.mean == Approx(1.0 / 15).margin(1e-5)); // rows sum to 1
    CHECK(s.nans + s.infinities == 0);
    CHECK(pixelOf(picture, view.plot().picture(), {12, 3}).isNear(kOne));
    CHECK(pixelOf(picture, view.plot().picture(), {12, 4}).isNear(kZero));

    view.choose("blocks.1.attn.hook_attn_scores"); // what the mask hides does not count
    picture = window.picture();
    CHECK(view.shown()->statistics.masked == 2 * 15 * 14 / 2);
    CHECK(view.shown()->statistics.minimum > -1e3f);

    window.press("space"); // another token: another row of each head
    window.picture();
    CHECK(view.shown()->shape == Shape{2, 16, 16});
}

TEST_CASE("tensors: a weight's statistics are those of its numbers", "[scope][gpu]") {
    ScopeWindow window(showing("tensors"));
    auto& view = viewOf<TensorView>(window);
    LanguageModel& model = window.scope().model().language();
    view.choose("blocks.1.attn.W_Q");
    const Screenshot picture = window.picture();
    const std::vector<float> values = model.store().read("blocks.1.attn.W_Q");
    double sum = 0, squares = 0;
    for (float value : values) sum += static_cast<double>(value);
    const double mean = sum / static_cast<double>(values.size());
    for (float value : values) squares += std::pow(static_cast<double>(value) - mean, 2);
    const TensorStatistics& s = view.shown()->statistics;
    CHECK(s.minimum == std::ranges::min(values));
    CHECK(s.maximum == std::ranges::max(values));
    CHECK(static_cast<double>(s.mean) == Approx(mean).margin(1e-6));
    CHECK(static_cast<double>(s.standardDeviation) ==
          Approx(std::sqrt(squares / static_cast<double>(values.size()))).epsilon(1e-4));
    CHECK(s.finite == static_cast<float>(values.size()));
    const auto columns = view.shown()->shape.columns();
    CHECK(window.scope().model().microscope().value(2, 3) == values[static_cast<size_t>(2 * columns + 3)]);
}

TEST_CASE("tensors: NaN and infinite values are counted and do not spoil the rest", "[scope][gpu]") {
    ScopeWindow window(showing("tensors"));
    LanguageModel& model = window.scope().model().language();
    std::vector<float> values = model.store().read("blocks.1.attn.W_O");
    std::ranges::fill(values, 0.5f);
    values[3] = NAN;
    values[7] = INFINITY;
    values[8] = -INFINITY;
    values[9] = -1.5f;
    model.store().writeDense("blocks.1.attn.W_O", values);
    auto& view = viewOf<TensorView>(window);
    view.choose("blocks.1.attn.W_O");
    window.picture();
    const TensorStatistics& s = view.shown()->statistics;
    CHECK(s.nans == 1);
    CHECK(s.infinities == 2);
    CHECK(s.minimum == -1.5f);
    CHECK(s.maximum == 0.5f);
    CHECK(s.finite == static_cast<float>(values.size() - 3));
    CHECK(view.shown()->isSigned()); // parts at zero: as far on both sides
    CHECK(view.plot().picture().low == -1.5f);
    CHECK(view.plot().picture().high == 1.5f);
}

TEST_CASE("tensors: what is typed into the filter is no command", "[scope][gpu]") {
    ScopeWindow window(showing("tensors"));
    window.click(80, 90); // the filter stands in the corner below the tools
    window.press("r");
    window.press("q");
    window.press("space");
    CHECK_FALSE(window.scope().isRunning());
    CHECK_FALSE(window.scope().wantsToClose());
    CHECK(window.scope().subject().tokenCount() == 15);
    window.click(600, 400); // elsewhere: keys are commands again
    window.press("space");
    CHECK(window.scope().subject().tokenCount() == 16);
}

TEST_CASE("tensors: the wheel zooms, and pointing reads a value", "[scope][gpu]") {
    ScopeWindow window(showing("tensors"));
    auto& view = viewOf<TensorView>(window);
    view.choose("blocks.1.attn.W_Q");
    window.picture();
    const PatternView& shown = view.plot().view();
    const float before = shown.cellSize();
    const Area plot = view.plot().plot();
    window.click(plot.x + plot.width / 2, plot.y + plot.height / 2);
    REQUIRE(view.plot().hovered());
    window.turnWheel(4);
    CHECK(shown.cellSize() > 1.5f * before);
    window.press("0");
    CHECK(shown.isFitted());
}

TEST_CASE("norms: of the stream after each layer are those of the captured stream", "[scope][gpu]") {
    ScopeWindow window(showing("norms"));
    const Screenshot picture = window.picture();
    auto& view = viewOf<NormsView>(window);
    std::vector<float> norms;
    for (int row = 0; row < 3; ++row) norms.push_back(view.norm(row, 7));
    LanguageModel& model = window.scope().model().language();
    const std::vector<int> tokens = model.tokens();
    const auto captured = model.capture(tokens, "blocks.0.hook_resid_pre,blocks.*.hook_resid_post");
    REQUIRE(captured.size() == 3);
    for (size_t row = 0; row < 3; ++row) {
        const auto columns = static_cast<size_t>(captured[row].shape.columns());
        double squares = 0;
        for (size_t i = 0; i < columns; ++i)
            squares += std::pow(static_cast<double>(captured[row].values[7 * columns + i]), 2);
        CHECK(static_cast<double>(norms[row]) == Approx(std::sqrt(squares)).epsilon(1e-4));
    }
}

TEST_CASE("timeline: the ops of a step take what the whole takes, and the cache stays", "[scope][gpu]") {
    ScopeWindow window(showing("timeline"));
    window.picture();
    const StepProfile& profile = viewOf<TimelineView>(window).profile();
    REQUIRE(profile.plan);
    CHECK(profile.queries == 1);
    CHECK(profile.totalMs > 0);
    double sum = 0;
    for (const OpTime& op : profile.ops) sum += op.elapsedMs;
    CHECK(sum == Approx(profile.totalMs));
    const auto attention = std::ranges::find(profile.ops, "fused_attention", &OpTime::name);
    REQUIRE(attention != profile.ops.end());
    CHECK(attention->operations > 0);
    window.press("space"); // continues as if nothing had been timed
    CHECK(window.scope().subject().labels().back() == "y");
}

TEST_CASE("lines of facts break between facts only", "[scope][gpu]") {
    ScopeWindow window(showing("device")); // for its type
    window.picture();
    const auto broken = [](const char* line, const char* widest) {
        return brokenAt("  ·  ", line, ImGui::CalcTextSize(widest).x);
    };
    CHECK(broken("2.50 ms  ·  llvmpipe (LLVM 15.0.6)  ·  15 MiB", "2.50 ms  ·  llvmpipe (LLVM 15.") ==
          "2.50 ms\nllvmpipe (LLVM 15.0.6)\n15 MiB");
    CHECK(broken("one  ·  two  ·  three  ·  four", "one  ·  two  ·  ") == "one  ·  two\nthree  ·  four");
    CHECK(broken("one  ·  two", "one  ·  two") == "one  ·  two");
    CHECK(broken("", "one").empty());
}

TEST_CASE("timeline and plan: of the step with the changes that are in force", "[scope][gpu]") {
    ScopeWindow window(showing("timeline"));
    ModelSubject& model = window.scope().model();
    window.picture();
    auto& timeline = viewOf<TimelineView>(window);
    const size_t ownOps = timeline.profile().ops.size();
    CHECK(timeline.facts().find("change") == std::string::npos);
    const auto edit = [&](const Changes& changes) {
        vkDeviceWaitIdle(window.scope().context().device()); // a frame may still read
        model.setChanges(changes);
        window.picture();
    };
    const auto namesIn = [&](const std::vector<OpTime>& ops, const std::string& part) {
        return std::ranges::any_of(ops, [&](const OpTime& op) { return op.name.find(part) != std::string::npos; });
    };
    const std::map<std::pair<int, int>, float> gates{{{model.layers() - 1, model.heads() - 1}, 0.5f}};
    const Changes edits{{{.hook = "blocks.0.hook_attn_out", .amount = 0.5f}},
                        {{.site = 1, .head = 0, .kind = PatternChange::Kind::Uniform}},
                        gates};
    edit(edits);
    CHECK(timeline.facts().ends_with("with 3 changes"));
    CHECK(timeline.profile().ops.size() > ownOps); // an edited hook and a pattern that is formed
    CHECK(namesIn(timeline.profile().ops, "softmax"));
    // Nothing of it stays: the next tokens and what is seen of the others are as if nothing had been timed.
    const auto pattern = [&] { return model.language().patterns().tile({.site = 1, .head = 1}).values; };
    const std::vector<float> before = pattern();
    for (const auto phase : {Microscope::Phase::Decode, Microscope::Phase::Prefill}) {
        const StepProfile profile = model.microscope().profile(phase);
        CHECK(std::ranges::find(profile.plan->tensors, "blocks.0.hook_attn_out.kept", &PlannedTensor::name) !=
              profile.plan->tensors.end());
        CHECK(model.microscope().plan(phase) == profile.plan);
        CHECK(pattern() == before);
    }
    window.press("7");
    window.picture();
    CHECK(viewOf<PlanView>(window).facts().ends_with("with 3 changes"));
    window.press("9");
    window.picture();
    const auto& kernels = viewOf<ShaderView>(window).kernels();
    const auto forms = [&] { return std::ranges::find(kernels, "attention/mix", &KernelUse::shader) != kernels.end(); };
    CHECK(forms());
    edit({.gates = gates});
    CHECK_FALSE(forms());
    window.press("7");
    window.picture();
    CHECK(viewOf<PlanView>(window).facts().ends_with("with 1 change"));
    edit({});
    window.press("6");
    window.picture();
    CHECK(viewOf<TimelineView>(window).profile().ops.size() == ownOps);
}

TEST_CASE("tensors and norms: of more tokens without another plan, up to what there is room for", "[scope][gpu]") {
    ScopeWindow window(showing("norms"));
    ModelSubject& model = window.scope().model();
    Microscope& microscope = model.microscope();
    LanguageModel& language = model.language();
    window.picture();
    vkDeviceWaitIdle(window.scope().context().device());
    const std::string hook = "blocks.1.attn.hook_z";
    for (int tokens = 15; tokens < 19; ++tokens) {
        CAPTURE(tokens);
        REQUIRE(language.tokens().size() == static_cast<size_t>(tokens));
        const Microscope::DeviceTensor norms = microscope.residualNorms(), tensor = microscope.tensor(hook);
        CHECK(norms.shape == Shape{3, tokens});
        CHECK(norms.rowStride == (tokens <= 16 ? 16 : 32));
        CHECK(tensor.shape[0] == tokens);
        std::vector<float> values;
        for (int64_t row = 0; row < tensor.shape.rows(); ++row)
            for (int64_t column = 0; column < tensor.shape.columns(); ++column)
                values.push_back(microscope.value(row, column));
        const std::vector<int> all = language.tokens();
        const auto captured = language.capture(all, hook).front();
        REQUIRE(values.size() == captured.values.size());
        double sum = 0;
        for (size_t i = 0; i < values.size(); ++i) {
            REQUIRE(values[i] == Approx(captured.values[i]).margin(1e-5));
            sum += static_cast<double>(values[i]);
        }
        CHECK(tensor.statistics.finite == static_cast<float>(values.size()));
        CHECK(tensor.statistics.mean == Approx(sum / static_cast<double>(values.size())).margin(1e-5));
        CHECK(tensor.statistics.maximum == *std::ranges::max_element(values));
        CHECK(norms.statistics.finite == static_cast<float>(3 * tokens));
        language.truncate(0);
        language.feed(all);
        model.generate();
    }
    const Microscope::DeviceTensor pattern = microscope.tensor("blocks.0.attn.hook_pattern"); // as long as it is
    CHECK(pattern.shape[1] == 19);
    CHECK(pattern.shape[2] == 19);
}

TEST_CASE("plan: tensors that live at the same time do not overlap in the arena", "[scope][gpu]") {
    ScopeWindow window(showing("plan"));
    window.picture();
    const auto plan = window.scope().model().microscope().plan(Microscope::Phase::Prefill);
    const std::vector<ArenaSpan> spans = arenaSpans(*plan);
    REQUIRE(spans.size() > 10);
    int pairs = 0;
    for (const ArenaSpan& a : spans)
        for (const ArenaSpan& b : spans) {
            const PlannedTensor &first = plan->tensors[a.tensor], &second = plan->tensors[b.tensor];
            if (a.tensor >= b.tensor || a.lastOp < b.firstOp || b.lastOp < a.firstOp) continue;
            if (first.byteOffset == second.byteOffset) continue; // another view of the same memory
            ++pairs;
            CHECK((first.byteOffset + first.byteSize <= second.byteOffset ||
                   second.byteOffset + second.byteSize <= first.byteOffset));
        }
    CHECK(pairs > 0);
}

TEST_CASE("device: memory by purpose adds up to what is held", "[scope][gpu]") {
    ScopeWindow window(showing("device"));
    window.picture();
    int64_t sum = 0;
    for (const MemoryUse& use : window.scope().model().microscope().memory()) {
        CHECK(use.bytes >= 0);
        sum += use.bytes;
    }
    CHECK(sum == static_cast<int64_t>(window.scope().context().allocatedBytes()));
}

TEST_CASE("shaders: kernels are listed with the sizes that their modules declare", "[scope][gpu]") {
    ScopeWindow window(showing("shaders"));
    window.picture();
    const auto& kernels = viewOf<ShaderView>(window).kernels();
    REQUIRE(kernels.size() > 4);
    const auto embedding = std::ranges::find(kernels, "ops/embedding", &KernelUse::shader);
    REQUIRE(embedding != kernels.end());
    CHECK(embedding->localSize == std::array<uint32_t, 3>{64, 1, 1}); // written in the shader
    const auto product = std::ranges::find_if(
        kernels, [](const KernelUse& kernel) { return kernel.shader.starts_with("ops/matvec_subgroup8"); });
    if (product != kernels.end()) // constants 0 and 1 are its size
        CHECK(product->localSize == std::array<uint32_t, 3>{product->specialisation[0], product->specialisation[1], 1});
    for (const KernelUse& kernel : kernels) {
        const uint32_t invocations = kernel.localSize[0] * kernel.localSize[1] * kernel.localSize[2];
        CHECK(invocations >= 1);
        CHECK(invocations <= window.scope().context().traits().maxWorkGroupInvocations);
    }
}

TEST_CASE("pages: every view draws at every size, light and dark", "[scope][gpu]") {
    ScopeWindow window(showing("grid"));
    for (const auto& [width, height] : {std::pair{900, 600}, {640, 400}, {200, 160}}) {
        glfwSetWindowSize(window.scope().window().handle(), width, height);
        REQUIRE(window.drawUntil([&, w = width, h = height] {
            return window.scope().window().framebufferSize() == Window::Size{w, h};
        }));
        for (const ViewDescriptor& view : viewCatalogue()) {
            INFO(view.name << " at " << width << " x " << height);
            window.scope().page().show(view.id);
            CHECK(window.picture().width == width);
            CHECK(window.scope().page().view() != nullptr);
        }
        window.press("t");
    }
}
