#include "bench_train_script.h"
#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/core/rng.h"
#include "engine/system/folder.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace attn::cli {
namespace {

using TrainClock = std::chrono::steady_clock;

struct StepShape {
    const char* name;
    int64_t layers, heads, width;
    int context, batch;
    int patch; ///< pixels on a side of a patch, for a vision transformer over 28 x 28 grey pixels; 0: a decoder
    int steps; ///< per turn
};
constexpr std::array kShapes{StepShape{"A", 2, 4, 64, 64, 32, 0, 7}, StepShape{"B", 4, 4, 128, 64, 12, 0, 7},
                             StepShape{"C", 6, 6, 384, 256, 8, 0, 3}, StepShape{"ViT", 4, 4, 64, 50, 64, 4, 5}};
/// The arguments of the script that describe the model.
using Sizes = std::array<int64_t, 7>;

constexpr int kClasses = 10;
constexpr int kTurns = 3, kWarmUpSteps = 2; ///< the first turn compiles kernels

struct BenchTrainOptions {
    DeviceChoice device;
    std::string python = "python3";
    std::vector<std::string> shapes;
    bool profile = false, isAlone = false, json = false;
};

std::string randomLetters(uint64_t count) {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) text += static_cast<char>('0' + static_cast<int>(uniform(3, i) * 65));
    return text;
}

/// Writes IDX files of random pictures: "train" or "t10k".
void writeRandomPictures(const std::filesystem::path& folder, const std::string& part, uint64_t count) {
    constexpr uint64_t kSide = 28;
    std::ofstream images(folder / (part + "-images-idx3-ubyte"), std::ios::binary),
        labels(folder / (part + "-labels-idx1-ubyte"), std::ios::binary);
    const auto number = [](std::ofstream& file, uint64_t value) {
        for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(value >> shift & 0xff));
    };
    number(images, 0x0803);
    for (const uint64_t extent : {count, kSide, kSide}) number(images, extent);
    number(labels, 0x0801);
    number(labels, count);
    for (uint64_t i = 0; i < count * kSide * kSide; ++i)
        images.put(static_cast<char>(static_cast<uint8_t>(uniform(4, i) * 256)));
    for (uint64_t i = 0; i < count; ++i) labels.put(static_cast<char>(i % kClasses));
}

Recipe recipeOf(const StepShape& shape, const std::filesystem::path& text, const std::filesystem::path& pictures) {
    if (shape.patch > 0) {
        Recipe recipe{.task = "images", .batch = shape.batch};
        recipe.settings.data.pictures = pictures;
        recipe.architecture = {.family = "vit",
                               .layers = shape.layers,
                               .heads = shape.heads,
                               .width = shape.width,
                               .activation = "gelu",
                               .patch = shape.patch};
        return recipe;
    }
    Recipe recipe{.task = "text", .batch = shape.batch};
    recipe.settings.data.text = text;
    recipe.settings.values["context"] = shape.context;
    recipe.architecture = {.layers = shape.layers, .heads = shape.heads, .width = shape.width, .activation = "gelu"};
    return recipe;
}

/// The folder of Debian's OpenBLAS with OpenMP threads; empty if it is not installed. It makes PyTorch two to four
/// times faster than the library that it links by default.
std::string fastBlasFolder() {
    std::error_code ignored;
    for (const auto& folder : entriesOf("/usr/lib", ignored))
        if (const auto found = folder / "openblas-openmp"; std::filesystem::is_directory(found, ignored))
            return found.string();
    return {};
}

/// PyTorch's side of a comparison. Each turn is a child process that reads its script from its standard input.
class PyTorch {
public:
    PyTorch(const std::string& python) : python_(python) {}

    /// Seconds of each step; none if there is no interpreter or it has no PyTorch.
    std::vector<double> steps(const Sizes& sizes, int count) {
        const std::string command =
            fmt::format("LD_LIBRARY_PATH=\"${{LD_LIBRARY_PATH:-{}}}\" '{}' - {} {} {} 2>/dev/null "
                        "<<'END OF SCRIPT'\n{}\nEND OF SCRIPT\n",
                        fastBlasFolder(), python_, fmt::join(sizes, " "), std::thread::hardware_concurrency(), count,
                        kBenchTrainScript);
        FILE* child = popen(command.c_str(), "r"); // NOLINT(cert-env33-c): the user names the interpreter
        if (child == nullptr) return {};
        std::string text;
        std::array<char, 4096> piece{};
        for (size_t read = 0; (read = std::fread(piece.data(), 1, piece.size(), child)) > 0;)
            text.append(piece.data(), read);
        if (pclose(child) != 0) return {};
        const auto result = nlohmann::json::parse(text);
        version_ = result.at("version");
        blas_ = result.at("blas");
        return result.at("seconds");
    }
    const std::string& version() const { return version_; }
    const std::vector<std::string>& blas() const { return blas_; } ///< files of its matrix library; none: built in

private:
    std::string python_, version_;
    std::vector<std::string> blas_;
};

void printProfile(const Trainer& trainer) {
    std::map<std::string, std::pair<int, double>> shaders;
    double all = 0;
    for (const auto& [shader, elapsedMs] : trainer.profile()) {
        ++shaders[shader].first;
        shaders[shader].second += elapsedMs;
        all += elapsedMs;
    }
    for (const auto& [shader, total] : shaders)
        fmt::print("  {:<32} {:>4} kernels {:>9.2f} ms {:>4.0f} %\n", shader, total.first, total.second,
                   100 * total.second / all);
}

int benchTrain(const BenchTrainOptions& options) {
    const TemporaryFolder folder;
    std::ofstream(folder / "letters.txt") << randomLetters(200000);
    writeRandomPictures(folder.path(), "train", 320);
    writeRandomPictures(folder.path(), "t10k", 64);
    const DeviceChoice& device = options.device;
    PyTorch pytorch(options.python);
    nlohmann::json results = nlohmann::json::object();
    if (!options.json)
        fmt::print("{:<44} {:>10} {:>10} {:>7} {:>12}\n", "median of a training step", "ours, ms", "PyTorch", "ratio",
                   "kernels");
    for (const StepShape& shape : kShapes) {
        if (!options.shapes.empty() && std::ranges::find(options.shapes, shape.name) == options.shapes.end()) continue;
        Trainer trainer(recipeOf(shape, folder / "letters.txt", folder.path()), device, {.profiles = options.profile});
        const Sizes sizes{shape.layers,
                          shape.heads,
                          shape.width,
                          shape.context,
                          shape.batch,
                          imagesOf(trainer) ? kClasses : sequencesOf(trainer)->instance().vocabularySize(),
                          shape.patch * shape.patch};
        std::vector<double> ours, theirs;
        for (int turn = 0; turn < kTurns; ++turn) {
            for (int i = 0; i < kWarmUpSteps; ++i) trainer.step();
            for (int i = 0; i < shape.steps; ++i) {
                const auto start = TrainClock::now();
                trainer.step();
                ours.push_back(std::chrono::duration<double>(TrainClock::now() - start).count());
            }
            if (options.profile || options.isAlone) break;
            const auto seconds = pytorch.steps(sizes, shape.steps);
            theirs.insert(theirs.end(), seconds.begin(), seconds.end());
        }
        const double ownMs = median(ours) * 1e3,
                     perLayer = static_cast<double>(trainer.kernelCount()) / static_cast<double>(shape.layers);
        auto& result = results[shape.name];
        result = {{"ms", ownMs},
                  {"sizes", sizes},
                  {"steps", shape.steps},
                  {"kernels", trainer.kernelCount()},
                  {"kernels_per_layer", perLayer}};
        if (!theirs.empty()) {
            result["pytorch_ms"] = median(theirs) * 1e3;
            result["ratio"] = median(ours) / median(theirs);
        }
        if (options.json) continue;
        const auto number = [&](const char* key, int decimals) {
            return result.contains(key) ? fmt::format("{:.{}f}", result[key].get<double>(), decimals) : "-";
        };
        fmt::print("{:<44} {:>10.1f} {:>10} {:>7} {:>12}\n",
                   fmt::format("{}: {} layers, {} heads, width {}, {} x {}", shape.name, shape.layers, shape.heads,
                               shape.width, shape.batch, shape.context),
                   ownMs, number("pytorch_ms", 1), number("ratio", 2),
                   fmt::format("{} ({:.1f}/L)", trainer.kernelCount(), perLayer));
        if (options.profile) printProfile(trainer);
        std::fflush(stdout);
    }
    if (!pytorch.version().empty()) {
        results["pytorch"] = pytorch.version();
        results["blas"] = pytorch.blas();
    }
    if (options.json)
        print(results);
    else if (!options.profile && !options.isAlone)
        fmt::print("{}\n",
                   pytorch.version().empty()
                       ? fmt::format("no comparison: {} cannot import torch; name another interpreter with --python",
                                     options.python)
                       : fmt::format("PyTorch {} with {}; both on {} threads", pytorch.version(),
                                     pytorch.blas().empty() ? "its built-in matrix library"
                                                            : fmt::format("{}", fmt::join(pytorch.blas(), ", ")),
                                     std::thread::hardware_concurrency()));
    return kDone;
}

} // namespace

void addBenchTrain(Command& command) {
    const auto options = std::make_shared<BenchTrainOptions>();
    command.about("A step is forward, backward, clipping, AdamW and reading the loss, of the same model on both sides: "
                  "decoders, and a vision transformer over 4 x 4 patches of 28 x 28 pixels with a CLS token. Attention "
                  "Lab also cuts the patches. The two programs take turns.");
    command.about("PyTorch runs with the OpenBLAS of Debian's libopenblas0-openmp, which is much faster than the "
                  "default, if that is installed and LD_LIBRARY_PATH is not set. The last line names the library that "
                  "was loaded. Timings of shared machines vary: quote the median of several runs.");
    addDevice(command, options->device);
    command.option("--shapes LIST", options->shapes, "time only these models, between commas")
        .listed()
        .choices({"A", "B", "C", "ViT"});
    command.option("--python PROGRAM", options->python, "Python interpreter that has PyTorch");
    command.flag("--alone", options->isAlone, "take one turn, without PyTorch");
    command.flag("--profile", options->profile, "print only the device time of one of our steps, by shader");
    addJson(command, options->json);
    command.example("attention-bench train --shapes A,ViT");
    command.action([=] { return benchTrain(*options); });
}

} // namespace attn::cli
