#pragma once

#include "engine/training/objective.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The low-rank adapter of a matrix W [out,in]: the model computes with W + scale B A. See LowRankAdapters.
struct Adapter {
    std::string matrix; ///< name of the parameter W
    Shape shape;        ///< of W
    int64_t rank = 0;

    std::string nameOfA() const { return matrix + ".lora_A"; }
    std::string nameOfB() const { return matrix + ".lora_B"; }
    Shape shapeOfA() const { return {rank, shape[1]}; }
    Shape shapeOfB() const { return {shape[0], rank}; }
    /// Kaiming's uniform numbers, as in PEFT: from -1 / sqrt(in) to 1 / sqrt(in). B begins with zeros.
    std::vector<float> initialA(uint64_t seed) const;
    /// W + scale B A. @param w node of the matrix
    Tensor addedTo(Tensor w, double scale) const;
};

/// The adapters of a model. @param parameters those that the model learns  @param blocks as ModelStructure::blocks()
/// @return none for rank 0  @throws Error if a glob matches no matrix of a block, or a matrix has a smaller rank
std::vector<Adapter> adaptersOf(const LowRankAdapters& recipe,
                                std::span<const std::pair<std::string, Shape>> parameters,
                                std::span<const std::string> blocks);

/// A copy of a graph, which reads W + scale B A in place of each matrix W that has an adapter.
Objective::Forward withAdapters(Objective::Forward forward, std::span<const Adapter> adapters, double scale);

/// Adds scale B A to W. @param w dense values of W  @param a of A  @param b of B
void addProduct(const Adapter& adapter, double scale, std::span<float> w, std::span<const float> a,
                std::span<const float> b);

/// Writes adapters in the layout of Hugging Face's PEFT: adapter_config.json and adapter_model.safetensors. The
/// adapters of several matrices that share a tensor of the file, as GPT-2's queries and values do, become one of their
/// ranks' sum.
/// @param model    folder of the model that has just been written, with its model.safetensors
/// @param start    path of the model to which the adapters are added
/// @param read     as for Objective::writeModel(), for the names of A and B too
/// @throws Error if a file cannot be written
void writeAdapters(const std::filesystem::path& folder, const std::filesystem::path& model, const std::string& start,
                   const Objective& objective, std::span<const Adapter> adapters, double scale,
                   const ReadParameter& read);

} // namespace attn
