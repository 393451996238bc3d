#include "engine/training/checkpoint.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/checksums.h"
#include "engine/io/json_file.h"
#include "engine/io/safetensors.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/bundled.h"
#include "engine/system/atomic_file.h"
#include "engine/system/folder.h"
#include "engine/training/starting_model.h"
#include "engine/training/trainer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kOptimiserFile = "optimizer.safetensors";
constexpr const char* kStateFile = "training_state.json";
constexpr std::array<std::string_view, 2> kStateFiles{kOptimiserFile, kStateFile};
constexpr const char* kPartial = ".partial"; ///< ends the names of folders that are not checkpoints yet, or no longer
constexpr const char* kFormer = ".former";

std::vector<std::string_view> checkpointFiles() {
    std::vector<std::string_view> names(kModelFiles.begin(), kModelFiles.end());
    names.insert(names.end(), kStateFiles.begin(), kStateFiles.end());
    return names;
}

/// Whole checkpoints that have no name, by the name that each should have: a process was killed before it could rename
/// them. Of two for the same step, the newer one.
std::map<fs::path, fs::path> nameless(const fs::path& run) {
    std::map<fs::path, fs::path> found;
    std::error_code error;
    for (const fs::path& entry : entriesOf(run / kCheckpointFolder, error)) {
        if (entry.extension() != kPartial) continue;
        fs::path whole = fs::path(entry).replace_extension();
        const bool isFormer = whole.extension() == kFormer;
        if (isFormer) whole.replace_extension();
        if (!checkpointStep(whole) || fs::exists(whole, error) || !hasChecksums(entry)) continue; // they come last
        if (attempt({}, [&] { verifyChecksums(entry, checkpointFiles()); })) continue;
        if (isFormer)
            found.emplace(whole, entry);
        else
            found[whole] = entry;
    }
    return found;
}

/// @throws Error if something is in the way that cannot be removed
void removeFolder(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
        throw Error({.what = fmt::format("cannot be removed: {}", error.message()),
                     .where = folder.string(),
                     .hint = remedyForWriting(error.value())});
}

void renameFolder(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error)
        throw Error({.what = fmt::format("cannot be renamed to {}: {}", to.filename().string(), error.message()),
                     .where = from.string(),
                     .hint = remedyForWriting(error.value())});
}

void writeModelFiles(const fs::path& folder, const Trainer& trainer) {
    const Objective& objective = trainer.objective();
    const ReadParameter read = [&](const std::string& name) {
        std::vector<float> values = trainer.read(name);
        if (!trainer.isFrozen(name) && !std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
            throw trainer.diverged(
                fmt::format("after step {}, {} has weights that are not numbers", trainer.stepsDone(), name));
        return values;
    };
    objective.writeModel(folder, read);
    const StartingPoint& start = trainer.recipe().start;
    const bool isForStart = std::ranges::none_of(
        trainer.parameters(), [&](const Trainer::Named& parameter) { return objective.isNew(parameter.name); });
    if (!trainer.adapters().empty() && isForStart) // else they do not fit the model from which training started
        writeAdapters(folder / "adapter", folder, modelFolder(start.model).string(), objective, trainer.adapters(),
                      start.adapters.scale(), read);
}

/// Writes the parameters of a folder, of those with an adapter only if asked.
void loadParameters(Trainer& trainer, const fs::path& folder, bool loadsAdapted) {
    const ReadStored stored = trainer.objective().openModel(folder);
    for (const Trainer::Named& parameter : trainer.parameters()) {
        const bool isAdapted =
            std::ranges::find(trainer.adapters(), parameter.name, &Adapter::matrix) != trainer.adapters().end();
        if (loadsAdapted || !isAdapted)
            trainer.write(parameter.name, readDense(stored, parameter.name, parameter.shape));
    }
}

void writeCheckpointFiles(const fs::path& folder, const Trainer& trainer) {
    writeModelFiles(folder, trainer);
    std::vector<std::vector<float>> values;
    std::vector<WrittenTensor> written;
    for (const Trainer::Named& state : trainer.states()) {
        values.push_back(trainer.read(state.name));
        written.push_back({.name = state.name, .shape = state.shape.extents()});
    }
    for (size_t i = 0; i < written.size(); ++i) written[i].values = values[i];
    writeSafetensors(folder / kOptimiserFile, written);
    writeAtomically(folder / kStateFile,
                    nlohmann::json{{"step", trainer.stepsDone()}, {"recipe", toJson(trainer.recipe())}}.dump(2) + "\n");
    writeChecksums(folder, checkpointFiles());
}

} // namespace

void writeModel(const fs::path& folder, const Trainer& trainer) {
    removeChecksums(folder); // those of an older model must not refuse this one if the program is killed in between
    writeModelFiles(folder, trainer);
    writeChecksums(folder, kModelFiles);
}

void startRun(const fs::path& run, const Recipe& recipe) {
    createFolder(run);
    std::error_code error;
    if (!fs::exists(run / "recipe.json", error)) writeAtomically(run / "recipe.json", toJson(recipe).dump(2) + "\n");
}

Recipe readRecipe(const fs::path& file) { return recipeFromJson(readJsonFile(file), file.string()); }

fs::path saveCheckpoint(const fs::path& run, const Trainer& trainer) {
    const fs::path whole = run / kCheckpointFolder / fmt::format("step-{:06}", trainer.stepsDone()),
                   partial = whole.string() + kPartial;
    recoverCheckpoints(run);
    const std::vector<fs::path> before = checkpoints(run);
    std::error_code error;
    for (const fs::path& entry : entriesOf(run / kCheckpointFolder, error)) // what a killed process has left
        if (entry.extension() == kPartial) removeFolder(entry);
    try {
        writeCheckpointFiles(partial, trainer);
    } catch (...) {
        fs::remove_all(partial, error); // a full disk has room again
        throw;
    }
    const fs::path former = whole.string() + kFormer + kPartial; // the final name never has only some of the files
    if (fs::exists(whole, error)) renameFolder(whole, former);
    renameFolder(partial, whole);
    syncFolder(whole.parent_path());
    removeFolder(former);
    for (size_t i = 0; i + 1 < before.size(); ++i) fs::remove(before[i] / kOptimiserFile, error);
    return whole;
}

bool hasCheckpoint(const fs::path& run) { return !checkpoints(run).empty() || !nameless(run).empty(); }

void recoverCheckpoints(const fs::path& run) {
    for (const auto& [whole, found] : nameless(run)) renameFolder(found, whole);
}

void discardCheckpoint(const fs::path& run, int64_t step) {
    const std::vector<fs::path> all = checkpoints(run);
    std::error_code error;
    if (all.size() > 1 && checkpointStep(all.back()) == step && fs::exists(all[all.size() - 2] / kOptimiserFile, error))
        removeFolder(all.back());
}

void loadWeights(Trainer& trainer, const fs::path& folder) {
    loadParameters(trainer, folder, true);
    for (const Adapter& adapter : trainer.adapters()) // the folder's matrices hold it
        trainer.write(adapter.nameOfB(), std::vector<float>(static_cast<size_t>(adapter.shapeOfB().elements()), 0.0f));
}

int64_t stepsDoneIn(const nlohmann::json& state, const std::string& file) {
    constexpr uint64_t kMost = uint64_t{1} << 50; // a double, such as the step of a metric, holds it exactly
    const auto step = state.find("step");
    if (step == state.end() || !step->is_number_unsigned() || step->get<uint64_t>() > kMost)
        throw Error({.what = "has no valid \"step\"", .where = file, .hint = "resume from another checkpoint"});
    return step->get<int64_t>();
}

void resume(Trainer& trainer, const fs::path& checkpoint) {
    std::error_code error;
    if (!fs::exists(checkpoint / kOptimiserFile, error))
        throw Error({.what = "no longer has optimiser state",
                     .where = checkpoint.string(),
                     .hint = "resume from the last checkpoint of the run"});
    verifyChecksums(checkpoint, kStateFiles);
    const int64_t steps = stepsDoneIn(readJsonFile(checkpoint / kStateFile), (checkpoint / kStateFile).string());
    const SafetensorsFile file(checkpoint / kOptimiserFile);
    for (const auto& [name, tensor] : file.tensors())
        if (std::ranges::find(trainer.states(), name, &Trainer::Named::name) == trainer.states().end())
            throw Error({.what = fmt::format("holds {}, which this training does not keep", inQuotes(name)),
                         .where = (checkpoint / kOptimiserFile).string(),
                         .hint = "it belongs to another model or optimiser"});
    loadParameters(trainer, checkpoint, false);
    for (const Trainer::Named& named : trainer.states()) {
        const auto found = file.tensors().find(named.name);
        if (found == file.tensors().end() || Shape(found->second.shape) != named.shape)
            throw Error({.what = fmt::format("has no \"{}\" of {}", named.name, named.shape.text()),
                         .where = (checkpoint / kOptimiserFile).string(),
                         .hint = "it belongs to another model or optimiser"});
        std::vector<float> values(static_cast<size_t>(named.shape.elements()));
        file.read(found->second, 0, values);
        trainer.write(named.name, values);
    }
    trainer.setStepsDone(steps);
}

} // namespace attn
