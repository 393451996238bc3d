#pragma once

#include "engine/inference/changes.h"
#include "engine/models/structure.h"

#include <optional>
#include <span>
#include <string>

namespace attn {

// Changes in the words of the model that they are made to: its sites have names and labels, not only numbers.

/// The name of a site in files: "decoder.0.cross_attn". A site that the model does not have is numbered:
/// "blocks.3.attn".
std::string siteName(const ModelStructure& structure, int site);
/// The site of a name. Also reads the numbers of older files, which call every site "blocks.N.attn".
std::optional<int> siteNamed(const ModelStructure& structure, const std::string& name);

/// The hook of what a site adds to the residual stream: "decoder.0.hook_cross_attn_out".
std::string outputHook(const Site& site);

/// The same as for a model of which nothing is known, with the labels of its sites: "Cross L0 H1 removed".
std::string describe(const ValueChange& valueChange, const ModelStructure& structure);
/// The text of a change in a list: "layer 2 removed". @param change from changesOf()
std::string describe(std::span<const ValueChange> change, const ModelStructure& structure);
std::string describe(const PatternChange& change, const ModelStructure& structure);

/// Whether a change takes away from all that a head adds, as takesFromHead() says for a numbered site.
bool takesFromHead(const ValueChange& valueChange, const Site& site, int head);
/// The share of a head's output that its gate and such changes leave: 0 for a removed head.
float keptShare(const Changes& changes, const ModelStructure& structure, int site, int head);

/// Writes changes as in session files.
std::string changesToJson(const Changes& changes, const ModelStructure& structure);
/// Reads changes from a session file. @throws Error naming the field
Changes changesFromJson(const std::string& json, const ModelStructure& structure);

} // namespace attn
