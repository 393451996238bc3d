#pragma once

#include "engine/models/architecture.h"
#include "engine/models/model_builder.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A field of an architecture that its family cannot have.
struct ArchitectureProblem {
    std::string_view field; ///< of recipe.json
    std::string what, hint{};
};

/// A family of models that training can start from new parameters. Each stands in the file of its family and has a line
/// in the catalogue.
struct TrainableFamily {
    std::string_view id;                                       ///< Architecture::family
    std::string_view title;                                    ///< with the properties that distinguish it
    std::vector<TextReadout> readouts{TextReadout::NextToken}; ///< that its models can learn; ignored for pictures
    AxisKind axis = AxisKind::Tokens;                          ///< of what its models read
    bool hasSource = false;
    bool permutes = false;   ///< learns tokens in an order of their own
    bool looksAhead = false; ///< its rows see later rows
    bool composes = true;    ///< its files can hold Architecture::attention
    // Fields of Architecture that it can have.
    bool mayLackBiases = false, mayLackMlps = false, hasKeyValueHeads = false;
    std::vector<std::string_view> positions{"learned"}; ///< values of Architecture::positions
    /// Rules of its own; null: none. None: it can have the architecture.
    std::optional<ArchitectureProblem> (*check)(const Architecture& architecture) = nullptr;
    /// Describes a model with the family's own attention. Null for pictures.
    /// @param context largest number of positions
    ModelSpec (*describe)(const Architecture& architecture, int64_t vocabulary, int64_t context) = nullptr;
};

/// In the order in which a task that several families can learn offers them.
std::span<const TrainableFamily* const> trainableFamilies();
/// @throws Error listing the ids if there is none
const TrainableFamily& trainableFamilyNamed(std::string_view id);

// For `describe`.

/// The attention of a layer of the architecture, with biases.
LayerAttention attentionOfLayers(const Architecture& architecture, MaskExpression mask);
/// The feed-forward layers of the architecture, without a gate and with biases. @throws Error naming the activation
FeedForwardSpec feedForwardOf(const Architecture& architecture);
/// Gives a decoder its layers, and an encoder of the same size.
/// @param self,cross the attention of every layer within a stream and to the encoder, both without a mask
ModelSpec withEncoder(ModelSpec decoder, LayerAttention self, const LayerAttention& cross, int64_t layers);

extern const TrainableFamily kTrainsGpt2, kTrainsLlama, kTrainsBert, kTrainsXlnet, kTrainsT5, kTrainsBart,
    kTrainsMarian, kTrainsVit;

} // namespace attn
