#pragma once

#include "engine/models/model_builder.h"
#include "engine/training/recipe.h"

#include <functional>
#include <string>
#include <string_view>

namespace attn {

// Composed attention of a model with an encoder, which has three kinds of sites. In Architecture::attention, "encoder:"
// or "cross:" before an expression says which sites it is for; the others are for the decoder's self-attention.

/// The expression without the kind of sites before it. @param kind receives "encoder", "decoder", "cross", or nothing
std::string_view withoutSites(std::string_view expression, std::string_view* kind = nullptr);

/// A spec as an expression that specWith() reads, with some slots named even where they have their defaults.
std::string textNaming(const AttentionSpec& spec, const std::function<bool(Slot)>& isNamed);

/// A spec with the slots that an expression names in place of its own. @throws Error as AttentionSpec::parse()
AttentionSpec specWith(AttentionSpec spec, const std::string& expression);

/// Gives the sites of a model with an encoder what the expressions name, in place of their own. The layers of a kind
/// alternate between its expressions. A stack whose self-attention gets positions loses its table of positions.
/// @return whether anything has changed  @throws Error as AttentionSpec::parse()
bool composeSites(ModelSpec& config, const std::string& attention);

/// The attention of all sites of a model with an encoder, as Architecture::attention.
std::string siteCompositionOf(const ModelSpec& config);

} // namespace attn
