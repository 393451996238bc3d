#pragma once

#include "engine/models/architecture.h"
#include "engine/ops/training_ops.h"
#include "engine/training/schedule.h"
#include "engine/training/tasks/task_settings.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct AttentionSpec;
struct ModelSpec;
struct Task;

/// The optimiser and its settings.
struct Optimiser {
    enum class Kind : uint8_t { Sgd, Adam, AdamW };
    Kind kind = Kind::AdamW;
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    double momentum = 0.9; ///< for SGD
    double decay = 0.1;    ///< weight decay of matrices; norms and biases have none
    double clip = 1;       ///< largest global norm of the gradient; 0: no limit
    bool operator==(const Optimiser&) const = default;
};

/// Low-rank adapters: the model computes with W + scale B A in place of a matrix W [out,in] of its blocks, where A is
/// [rank,in] and B [out,rank]. Training changes A and B, and of the model only what is new in it.
/// @source Hu et al. 2021, arXiv:2106.09685, section 4.1
struct LowRankAdapters {
    int64_t rank = 0;                     ///< 0: no adapters
    double alpha = 0;                     ///< 0: the rank, so that the scale is 1
    std::string matrices = "*.W_Q,*.W_V"; ///< globs of names of parameters, separated by commas
    double scale() const { return alpha == 0 ? 1 : alpha / static_cast<double>(rank); }
    bool operator==(const LowRankAdapters&) const = default;
};

/// Where training starts, and which parameters it changes.
struct StartingPoint {
    /// A folder, or "builtin:NAME"; the architecture is then the model's, except that Architecture::attention, if it is
    /// not empty, replaces what it names of the model's attention. Empty: new parameters.
    std::string model{};
    std::string hash{}; ///< contentHash() of the model; empty until the training run starts
    /// "all"; "norms and readout", with the embedding if it is the readout too or the tokens are new; or globs of names
    /// of parameters, separated by commas. With adapters "all".
    /// @source Lu et al. 2021, arXiv:2103.05247 (norms and readout)
    std::string trained = "all";
    /// Factor of the learning rate for each layer below the last; the embedding is below the first.
    /// @source Howard and Ruder 2018, arXiv:1801.06146
    double layerDecay = 1;
    LowRankAdapters adapters{};
    /// The fields of the architecture that a recipe demands of the model, by RecipeField::id. The recipe is refused if
    /// the model has others. Without meaning once the hash is known.
    std::set<std::string, std::less<>> asked{};
    bool operator==(const StartingPoint&) const = default;
};

/// All settings of a training run. The same recipe on the same device gives the same bits.
struct Recipe {
    std::string task = "sort";
    TaskSettings settings; ///< its seed is that of the training run
    StartingPoint start{};
    Architecture architecture;
    Optimiser optimiser;
    Schedule schedule;    ///< its steps are those of the training run
    int batch = 64;       ///< sequences per step
    int accumulation = 1; ///< number of equal parts of the batch whose gradients are summed
    double smoothing = 0; ///< label smoothing, 0 to 1
    double dropout = 0;
    /// How activations and their gradients are kept: F32, BF16, or F16 with a scale of the loss. See keeperIn16Bits().
    DType precision = DType::F32;
    bool gradientCheckpointing = false; ///< computes activations of a layer again in the backward pass, to save memory
    int64_t evaluateEvery = 100, checkpointEvery = 500; ///< steps
    bool operator==(const Recipe&) const = default;
};

/// The families that can learn a task.
std::vector<std::string_view> familiesFor(const Task& task);
/// A recipe for a task. It reaches the task's success level, if a recipe that does is known.
Recipe suggestedRecipe(const Task& task);
/// A recipe that starts from a model, and reads a text with its tokens. @param model as StartingPoint::model
Recipe suggestedRecipe(const Task& task, const std::string& model);

/// Checks a recipe. @throws Error naming the field and its valid values
void check(const Recipe& recipe);
/// Writes a recipe as JSON.
nlohmann::json toJson(const Recipe& recipe);
/// Reads a recipe. Missing fields keep their defaults. @throws Error naming the field that is unknown or out of range
Recipe recipeFromJson(const nlohmann::json& json, const std::string& file);
/// The recipe suggested for a task, with the fields of a JSON object in place of its own. @throws Error as
/// recipeFromJson() and taskNamed()
Recipe suggestedRecipeWith(const std::string& fields);

/// The reason why the attention of an architecture cannot be trained.
struct AttentionProblem {
    std::string sentence;
    std::string nearest; ///< the nearest complete expression without any problem; empty: none is known
};
/// Checks an expression that a person types. Every training task is causal. None: the attention can be trained.
std::optional<AttentionProblem> attentionProblem(const Architecture& architecture);

/// The expressions of Architecture::attention, as written. @throws Error as AttentionSpec::parse()
std::vector<AttentionSpec> specsIn(const std::string& attention);

/// Whether the composed attention has a position part, `none` included. If so, a picture model adds no positions of its
/// own. @throws Error as AttentionSpec::parse()
bool saysPositions(const Architecture& architecture);

/// A warning if the masks of the composed attention leave some tokens nothing to see; else empty.
/// @throws Error as AttentionSpec::parse()
std::string emptyRowsWarning(const Architecture& architecture);

/// The expressions in Architecture::attention; empty: none.
std::vector<std::string> expressionsOf(const std::string& attention);
/// Architecture::attention for each layer; empty: the attention of the family. @throws Error as AttentionSpec::parse()
std::vector<AttentionSpec> attentionOf(const Architecture& architecture);

/// The description of a decoder. @param context largest number of positions  @throws Error as check()
ModelSpec decoderOf(const Architecture& architecture, int64_t vocabulary, int64_t context);

} // namespace attn
