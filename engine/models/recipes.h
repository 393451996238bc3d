#pragma once

#include "engine/models/family.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// Names in files by the engine's names. An entry is a parameter with its tensor, or a module, which has a weight and a
/// bias: {"attn.Q", "self.query"} gives "attn.W_Q" the tensor "self.query.weight" and "attn.b_Q" "self.query.bias", and
/// {"ln1", "norm1"} gives "ln1.w" and "ln1.b" those of "norm1".
using NameTable = std::vector<std::pair<std::string_view, std::string_view>>;

/// The tensor of a parameter. @throws Error if the table has none, a bug in the family's table
std::string lookUp(const NameTable& table, const std::string& parameter);

/// The names of a family whose blocks are numbered.
struct FamilyNames {
    std::string_view prefix; ///< that files may have or leave out
    NameTable global;
    std::string_view blocks; ///< precedes the number of a block: "encoder.layer."
    NameTable inBlock;

    /// The tensor of a parameter, as it is named in the files. @throws Error as lookUp()
    std::string tensorOf(const std::string& parameter, const TensorNames& names) const;
};

/// Whether a parameter belongs to the readout of classes of a text.
bool isOfClasses(const std::string& parameter);
/// The tensor of such a parameter in a decoder. @param ofTokens the name of the layer that says a class of each token
/// @source transformers 4, modeling_layers.py, and the classes of GPT-2, GPT-Neo and GPT-NeoX
std::string classTensor(TextReadout readout, std::string_view ofTokens, const std::string& parameter);

/// 0, 1 or 2 for a parameter of the query, key or value projection of a block, else -1.
int projectionOf(const std::string& inBlock);

} // namespace attn
