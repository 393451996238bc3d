#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/core/rng.h"
#include "engine/core/storage.h"
#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/system/large_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <thread>

namespace attn::cli {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A model of GPT-2 small's shape with random parameters. Its speed does not depend on their values.
class RandomGpt2 : public ModelSource {
public:
    RandomGpt2() {
        LayerAttention attention{.spec = plainAttention({12, 12}, MaskExpression::causal()),
                                 .headWidth = 64,
                                 .queryKeyValueBias = true,
                                 .outputBias = true};
        config_.name = "gpt2-small-shaped";
        config_.family = "gpt2";
        config_.tokens.vocabulary = 50257;
        config_.modelWidth = 768;
        config_.context = 1024;
        config_.positions = Positions::Learned;
        config_.feedForward = {.width = 3072};
        config_.layers = std::vector<LayerAttention>(12, attention);
    }
    const ModelSpec& config() const override { return config_; }
    std::string familyTitle() const override { return "GPT-2 small, random weights"; }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const float offset = parameter.ends_with(".w") ? 1.0f : 0.0f;
        uint64_t state = std::hash<std::string>{}(parameter) | 1;
        write([&](int64_t, std::span<float> rows) {
            const auto stride = static_cast<size_t>(shape.rowStride()), columns = static_cast<size_t>(shape.columns());
            for (size_t i = 0; i < rows.size(); ++i) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                if (i % stride < columns)
                    rows[i] = offset + 0.04f * (static_cast<float>(state >> 40) / static_cast<float>(1 << 24) - 0.5f);
            }
        });
        return 0;
    }

private:
    ModelSpec config_;
};

/// Runs a graph on random parameters on the device and on positions. @return the median seconds of a step
double timeGraph(Device& device, const std::shared_ptr<Graph>& graph, const std::map<std::string, Tensor>& outputs,
                 int rounds) {
    TensorStore store(device);
    const auto plan = compile(graph, outputs);
    std::vector<std::pair<std::string, Shape>> operands;
    for (const PlannedTensor& tensor : plan->tensors)
        if (tensor.home == Home::Parameter) operands.emplace_back(tensor.name, tensor.type.shape);
    store.reserve(operands);
    for (const auto& [name, shape] : operands)
        store.write(name, [](int64_t, std::span<float> rows) {
            for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(uniform(1, i) - 0.5);
        });
    GpuExecutor executor(device, store, plan);
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home != Home::Input) continue;
        const auto positions = executor.inputIntegers(tensor.name);
        std::iota(positions.begin(), positions.end(), 0);
    }
    executor.run({});
    std::vector<double> seconds;
    for (int i = 0; i < rounds; ++i) {
        const auto start = Clock::now();
        executor.run({});
        seconds.push_back(secondsSince(start));
    }
    return median(seconds);
}

double matmulGflops(Device& device, int64_t size) {
    const auto graph = std::make_shared<Graph>();
    const Tensor y = matmul(graph->parameter("x", {size, size}), graph->parameter("w", {size, size}));
    return 2.0 * std::pow(static_cast<double>(size), 3) / timeGraph(device, graph, {{"y", y}}, 15) / 1e9;
}

/// Milliseconds of causal attention. With `hasBackward`, includes the gradients of q, k and v.
double attentionMs(Device& device, bool hasBackward) {
    constexpr int64_t T = 2048, H = 8, D = 64;
    const auto graph = std::make_shared<Graph>();
    const Tensor positions = graph->input("positions", {.shape = {T}, .dtype = DType::I32});
    const AttentionInputs inputs{.q = graph->parameter("q", {T, H, D}),
                                 .k = graph->parameter("k", {T, H, D}),
                                 .v = graph->parameter("v", {T, H, D}),
                                 .queryPosition = positions,
                                 .keyPosition = positions};
    const Tensor z = fusedAttention(inputs, graph->parameter("gates", {H}), {.scale = 0.125});
    std::map<std::string, Tensor> outputs{{"z", z}};
    if (hasBackward) {
        const std::vector<Tensor> gradients = gradient(sum(multiply(z, graph->parameter("direction", z.shape()))),
                                                       std::array{inputs.q, inputs.k, inputs.v});
        outputs.insert({{"dq", gradients[0]}, {"dk", gradients[1]}, {"dv", gradients[2]}});
    }
    return timeGraph(device, graph, outputs, 5) * 1e3;
}

/// Gigabytes per second that all cores together read from memory: the best of several passes, because it is a limit.
/// The memory is as large as GPT-2 small's weights and in pages of the same size, so that caches have the same effect.
double readBandwidth() {
    std::vector<char> bytes;
    bytes.reserve(size_t{1} << 29);
    useLargePages(bytes.data(), bytes.capacity());
    bytes.resize(bytes.capacity());
    const size_t cores = std::max(1u, std::thread::hardware_concurrency()), share = bytes.size() / cores;
    double shortest = INFINITY;
    for (int pass = 0; pass < 9; ++pass) {
        const auto start = Clock::now();
        std::vector<std::jthread> readers;
        for (size_t core = 0; core < cores; ++core)
            readers.emplace_back([part = &bytes[core * share], share] {
                // Reads every byte with vector instructions, because no byte is 1.
                [[maybe_unused]] const void* volatile found = std::memchr(part, 1, share);
            });
        readers.clear(); // waits for them
        shortest = std::min(shortest, secondsSince(start));
    }
    return static_cast<double>(share * cores) / shortest / 1e9;
}

/// Megabytes of weights that are read to write one token: all but the table of positions, of which one row is read. The
/// table of tokens is also the unembedding.
double megabytesPerToken(const LanguageModel& model, const ModelSpec& config) {
    const int64_t positions = config.context * storedRow(model.info().storage, config.modelWidth).bytes;
    return static_cast<double>(model.info().parameterBytes - positions) / 1e6;
}

constexpr int kMeasured = 64; ///< tokens written after a text, 4 of them before the clock starts

/// Tokens per second when `count` tokens, or as many as the context holds, are written after `length` others.
double decodeRate(LanguageModel& model, int count, int length = 1) {
    constexpr int kWarm = 4;
    count = std::min(count, model.capacity() - length - kWarm);
    model.truncate(0);
    model.feed(std::vector<int>(static_cast<size_t>(length), 1));
    const auto step = [&] {
        const int next = sampleToken(model.logits(), {}, {}, 0).token;
        model.feed(std::span(&next, 1));
    };
    for (int i = 0; i < kWarm; ++i) step();
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) step();
    return count / secondsSince(start);
}

double prefillRate(LanguageModel& model, int count) {
    std::vector<int> tokens(static_cast<size_t>(count));
    for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<int>(i * 7919 % static_cast<size_t>(model.info().vocabulary));
    std::vector<double> seconds;
    for (int i = 0; i < 6; ++i) {
        model.truncate(0);
        const auto start = Clock::now();
        model.feed(tokens);
        if (i > 0) seconds.push_back(secondsSince(start));
    }
    return count / median(seconds);
}

int64_t peakBytes() {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;)
        if (word == "VmHWM:") {
            int64_t kib = 0;
            file >> kib;
            return kib * 1024;
        }
    return 0;
}

struct BenchOptions {
    std::string path;
    DeviceChoice device;
    std::vector<std::string> only;
    bool json = false, profile = false;
    int after = 0; ///< tokens before the profiled ones
};

/// Prints the time of each shader while one token is written.
void printProfile(const BenchOptions& options, const DeviceChoice& device) {
    LanguageModel model(openModelSource(options.path), {.device = device, .profiles = true, .inspects = false});
    std::map<std::string, std::pair<int, double>> shaders;
    constexpr int kSteps = 64;
    model.feed(std::vector<int>(static_cast<size_t>(std::min(options.after, model.capacity() - kSteps)), 0));
    for (int i = 0; i < kSteps; ++i) {
        const std::vector<int> token{i % model.info().vocabulary};
        model.feed(token);
        for (const auto& [name, elapsedMs] : model.profile()) {
            ++shaders[name].first;
            shaders[name].second += elapsedMs;
        }
    }
    for (const auto& [name, total] : shaders)
        fmt::print("{:<32} {:>4} kernels {:>8.1f} us per token\n", name, total.first / kSteps,
                   total.second * 1e3 / kSteps);
}

int bench(const BenchOptions& options) {
    Measurements results(options.json, 44);
    const auto wants = [&](const char* name) {
        return options.only.empty() || std::ranges::find(options.only, name) != options.only.end();
    };
    const DeviceChoice& device = options.device;
    if (options.profile) {
        printProfile(options, device);
        return kDone;
    }
    if (wants("matmul") || wants("attention")) {
        Device measured(device);
        results.setDevice(measured);
        if (wants("matmul")) results.add("matmul 512^3", matmulGflops(measured, 512), "GFLOP/s");
        if (wants("matmul") && !measured.traits().isSoftware)
            results.add("matmul 4096^3", matmulGflops(measured, 4096), "GFLOP/s");
        if (wants("attention")) {
            results.add("causal attention B1 H8 T2048 D64", attentionMs(measured, false), "ms");
            results.add("causal attention B1 H8 T2048 D64, backward too", attentionMs(measured, true), "ms");
        }
    }
    if (wants("bandwidth")) results.add("reading memory, every core", readBandwidth(), "GB/s");
    if (!options.path.empty() && wants("model")) {
        const int64_t before = peakBytes();
        LanguageModel plain(openModelSource(options.path), {.device = device, .inspects = false});
        if (before > 0)
            results.add(
                "loading: peak memory over float32 weights",
                static_cast<double>(peakBytes() - before) / static_cast<double>(plain.info().parameterCount * 4), "x");
        results.add("decode, nothing captured", decodeRate(plain, 400), "tokens/s");
        for (const int length : {64, 2048})
            if (length + kMeasured <= plain.capacity())
                results.add(fmt::format("decode after {} tokens, nothing captured", length),
                            decodeRate(plain, kMeasured - 4, length), "tokens/s");
        LanguageModel inspecting(openModelSource(options.path), {.device = device});
        results.add("decode, every pattern captured", decodeRate(inspecting, 400), "tokens/s");
        const int tokens = std::min(512, inspecting.capacity());
        prefillRate(inspecting, tokens);
        std::vector<double> seconds;
        for (int i = 0; i < 9; ++i) {
            const std::vector<int> last{i % inspecting.info().vocabulary};
            inspecting.truncate(static_cast<size_t>(tokens) - 1);
            const auto start = Clock::now();
            inspecting.feed(last);
            inspecting.patterns().grid(64);
            seconds.push_back(secondsSince(start));
        }
        results.add(fmt::format("replace the last of {} tokens: all thumbnails", tokens), median(seconds) * 1e3, "ms");
    }
    if (wants("gpt2")) {
        const ModelSpec config = RandomGpt2().config();
        for (const Storage storage : kStorages) {
            const std::string as = storage == Storage::F32 ? "" : fmt::format(", {}", storageName(storage));
            LanguageModel model(std::make_unique<RandomGpt2>(),
                                {.device = device, .storage = storage, .inspects = false});
            results.add("GPT-2-small-shaped weights read per token" + as, megabytesPerToken(model, config), "MB");
            results.add("GPT-2-small-shaped decode" + as, decodeRate(model, 24), "tokens/s");
            results.add("GPT-2-small-shaped prefill of 512" + as, prefillRate(model, 512), "tokens/s");
        }
    }
    results.finish();
    return kDone;
}

} // namespace

void addBenchKernels(Command& command) {
    const auto options = std::make_shared<BenchOptions>();
    command.about("Without a COMMAND: times kernels, decoding, prefill and, with a PATH, the thumbnails of that "
                  "model's heads. Timings of shared machines vary: quote the median of several runs.");
    const Option& path = command.argument("PATH", options->path, "also measure this model");
    addDevice(command, options->device);
    command.option("--only LIST", options->only, "measure only these, between commas")
        .listed()
        .choices({"matmul", "attention", "model", "gpt2", "bandwidth"});
    command.flag("--profile", options->profile, "print only the model's device time per token, by shader").needs(path);
    command.option("--after N", options->after, "with --profile: tokens that come before").atLeast(0);
    addJson(command, options->json);
    command.example("attention-bench builtin:stories");
    command.example("attention-bench builtin:stories --profile");
    command.action([=] { return bench(*options); });
}

} // namespace attn::cli
