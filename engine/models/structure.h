#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct ModelSpec;

/// The data in the rows of an axis, which decides how a view names and draws them.
enum class AxisKind : uint8_t {
    Tokens, ///< words or pieces of words
    Patches ///< patches of a picture, after tokens such as CLS
};

/// "tokens" or "patches"; also the name of the input of such rows.
constexpr std::string_view nameOf(AxisKind kind) {
    constexpr std::array<std::string_view, 2> kNames{"tokens", "patches"};
    return kNames.at(static_cast<size_t>(kind));
}

/// The dimension along which the rows of a stream lie.
struct Axis {
    AxisKind kind = AxisKind::Tokens;
    int64_t length = 0; ///< largest number of rows
    bool operator==(const Axis&) const = default;
};

/// Rows of one width along an axis, through one or more layers.
struct Stream {
    std::string name;  ///< "decoder"; "encoder"; "stage 2", where an encoder of pictures has several
    int axis = 0;      ///< index into ModelStructure::axes
    int64_t width = 0; ///< C
    bool operator==(const Stream&) const = default;
};

/// One attention of a model, or the mechanism in its place.
struct Site {
    std::string name;                   ///< as in the names of hooks: "blocks.3.attn"
    std::string block{};                ///< the block that it is in: "blocks.3"
    int layer = 0;                      ///< block, counted from 0
    int queryStream = 0, keyStream = 0; ///< indices into ModelStructure::streams
    int heads = 1;                      ///< H
    int keyValueHeads = 1;              ///< G; G < H means grouped-query attention
    int headWidth = 1;                  ///< D
    bool operator==(const Site&) const = default;

    std::string hook(std::string_view hook) const;    ///< "blocks.3.attn.hook_pattern" from "pattern"
    std::string inSite(std::string_view part) const;  ///< "blocks.3.attn.W_O" from "W_O"
    std::string inBlock(std::string_view part) const; ///< "blocks.3.hook_resid_pre" from "hook_resid_pre"
    /// "hook_embed", or "decoder.hook_embed" in a model with an encoder and a decoder.
    std::string inStack(std::string_view part) const;
    std::string stack() const; ///< "blocks", "encoder" or "decoder"
};

/// A prediction that a model makes at rows of a stream.
struct Readout {
    enum class Kind : uint8_t { NextToken, MaskedToken, Class };
    Kind kind = Kind::NextToken;
    int stream = 0;      ///< index into ModelStructure::streams
    int64_t choices = 0; ///< number of logits
    bool operator==(const Readout&) const = default;
};

/// The parts of a model that views and analyses address. A head is named by (site, head), a cell by (site, head, query
/// row, key row), where `site` is an index into `sites`.
struct ModelStructure {
    std::vector<Axis> axes;
    std::vector<Stream> streams;
    std::vector<Site> sites; ///< in execution order
    std::vector<Readout> readouts;

    const Axis& queryAxis(int site) const;
    const Axis& keyAxis(int site) const;
    int mostHeads() const;                      ///< largest number of heads in a site
    std::vector<std::string> blocks() const;    ///< names of the blocks, in execution order
    std::vector<int> firstSites() const;        ///< of each of these blocks
    std::vector<int> sitesOf(int stream) const; ///< sites whose queries are rows of a stream
    bool isCross(int site) const; ///< whether the keys of a site are rows of another stream than its queries
    /// How figures name a site: "L2"; with two streams "Encoder L2", "Decoder L2" or "Cross L2".
    std::string labelOf(int site) const;
    std::string blockLabelOf(int site) const; ///< how figures name its block: "L2", "Encoder L2" or "Decoder L2"
    /// The site that a hook is in: "blocks.3.attn" of "blocks.3.attn.hook_z". @return nothing if it is in none
    std::optional<int> siteOf(const std::string& hook) const;
    bool hasTwoStacks() const; ///< an encoder, and a decoder that reads its rows
    /// The axis along which the rows of a hook lie, or the keys. @param letter 'T' or 'S' of the probe's axes
    int axisOf(const std::string& hook, char letter) const;
    bool operator==(const ModelStructure&) const = default;
};

/// @param length largest number of tokens of a text that will run
ModelStructure structureOf(const ModelSpec& config, int64_t length = 0);

} // namespace attn
