#pragma once

#include "engine/attention/mask/segments.h"
#include "engine/core/shape.h"
#include "engine/io/image.h"
#include "engine/models/block_builder.h"
#include "engine/models/class_activation.h"
#include "engine/models/hook_names.h"
#include "engine/models/structure.h"
#include "engine/models/text_readout.h"
#include "engine/models/written_picture.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// The positions that are added to the embedding: none; a learned table; or sines and cosines. Those of tokens have
/// frequencies that fall from 1 to 1 / 10000, sines first, as Marian orders them. Those of patches are of row and
/// column, and C is a multiple of 4.
enum class Positions : uint8_t { None, Learned, Sinusoidal };

/// How tokens of a text become rows.
struct TokenEmbedding {
    int64_t vocabulary = 0; ///< V
    /// The padding token, whose rows have the first row of the position table. The positions of the other tokens count
    /// only these, from its second row. @source Liu et al. 2019, arXiv:1907.11692, as fairseq and Hugging Face have it
    std::optional<int64_t> paddingToken{};
    int64_t types = 0;  ///< rows of a table added to the embedding by the type of a token; 0: none
    double scale = 1;   ///< factor of the token's row in the sum
    bool isOwn = false; ///< of an encoder and its decoder: each has a table of its own
    bool operator==(const TokenEmbedding&) const = default;
};

/// Square windows of a grid. Tokens attend only within their window. A grid that fits into one window is one window.
/// @source Liu et al. 2021, "Swin Transformer", arXiv:2103.14030, section 3.2
struct GridWindows {
    int64_t size = 0;  ///< tokens per side; 0: one window for the whole grid
    int64_t shift = 0; ///< shift of the windows down and right, in tokens
    bool operator==(const GridWindows&) const = default;
};

/// Replaces tokens by the means of K-means clusters over the input of a layer, without the tokens before the patches.
/// @source Marin et al. 2021, "Token Pooling in Vision Transformers", arXiv:2110.03860, section 4
struct TokenPool {
    int64_t layer = 0;  ///< first layer that runs on fewer tokens
    int64_t tokens = 0; ///< K
    bool operator==(const TokenPool&) const = default;
};

/// How patches of a picture become rows, and where rows of the grid are joined. The tokens are CLS, the distillation
/// token, registers, then patches row by row.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929; distillation token: Touvron et
///         al. 2021, arXiv:2012.12877; registers: Darcet et al. 2024, arXiv:2309.16588; windows and merges: Liu et al.
///         2021, "Swin Transformer", arXiv:2103.14030
struct PatchEmbedding {
    ImageSize image{};    ///< both sides are multiples of the patch
    int64_t patch = 16;   ///< pixels per side of a patch
    int64_t channels = 3; ///< 3: red, green, blue; 1: grey
    bool clsToken = true;
    bool distillationToken = false;
    int64_t registers = 0;
    bool prefixPositions = true;        ///< CLS and the distillation token have positions
    bool registerPositions = false;     ///< registers have them, too
    std::vector<GridWindows> windows{}; ///< one per layer; empty: no windows
    /// Layers, in rising order. Before each, 2 x 2 tokens become one token of twice the width.
    std::vector<int64_t> merges{};
    std::vector<TokenPool> pools{}; ///< in rising order of layers
    bool operator==(const PatchEmbedding&) const = default;

    ImageSize grid() const { return {image.height / patch, image.width / patch}; } ///< rows and columns of patches
    int64_t patchValues() const { return channels * patch * patch; }               ///< values of one patch
    int64_t positioned() const {                                                   ///< tokens before the registers
        return (clsToken ? 1 : 0) + (distillationToken ? 1 : 0);
    }
    int64_t prefix() const { return positioned() + registers; } ///< tokens before the patches
    int64_t tokens() const { return prefix() + grid().area(); } ///< T
    int64_t positionRows() const {
        return (prefixPositions ? positioned() : 0) + (registerPositions ? registers : 0) + grid().area();
    }
    int64_t mergesUpTo(int64_t layer) const {
        return std::ranges::count_if(merges, [&](int64_t merge) { return merge <= layer; });
    }
    ImageSize gridOf(int64_t layer) const;        ///< before any pooling
    int64_t tokensOf(int64_t layer) const;        ///< T of one layer
    std::vector<std::string> prefixNames() const; ///< "CLS", "distillation", "register 1" ...
};

/// Rows of one width along an axis: how they begin, and the layers that they pass through.
struct StreamSpec {
    /// Begins the names of its blocks, parameters and hooks: see inStack(). "encoder" and "decoder" if one reads the
    /// other.
    std::string stack{kOnlyStack};
    std::string inputs{};             ///< begins the names of its inputs: "source." if another stream reads it
    AxisKind axis = AxisKind::Tokens; ///< which of the two embeddings counts
    TokenEmbedding tokens{};
    PatchEmbedding patches{};
    int64_t context = 0;    ///< largest number of tokens of a text
    int64_t modelWidth = 0; ///< C of the first layer; each merge doubles it
    Positions positions = Positions::None;
    bool embeddingNorm = false;         ///< a norm of the embedding
    const Part* norm = &kLayerNormPart; ///< of layers whose composition names no other
    double normEpsilon = 1e-5;
    const Part* residual = &kPreNormResidual; ///< of layers that name no other
    bool finalNorm = true;
    FeedForwardSpec feedForward{}; ///< settings of the first layer; each merge doubles the width
    std::vector<LayerAttention> layers{};
    std::vector<LayerAttention> crossAttention{}; ///< one for each layer, to the rows of another stream; empty: none
    bool sharesPositions = false;                 ///< see BlockSettings::sharesPositions
    bool operator==(const StreamSpec&) const = default;

    bool readsStream() const { return !crossAttention.empty(); } ///< whether its layers attend to another stream
    bool isSource() const { return !inputs.empty(); }            ///< whether another stream reads it
    std::string named(std::string_view name) const { return inStack(stack, name); }
    int64_t lastLayer() const { return static_cast<int64_t>(layers.size()) - 1; }
    int64_t widthOf(int64_t layer) const { return modelWidth << patches.mergesUpTo(layer); } ///< C of one layer
    /// The number of rows of one layer; of tokens, the largest one.
    int64_t rowsOf(int64_t layer) const { return axis == AxisKind::Patches ? patches.tokensOf(layer) : context; }
    /// The numbers that its input consists of: [rows, numbers of a row]. None if it reads ids of tokens.
    std::optional<Shape> numbers() const {
        if (axis == AxisKind::Patches) return Shape{patches.grid().area(), patches.patchValues()};
        return {};
    }
};

/// The tokens of the last layer that the classifier of a picture reads.
enum class PatchPooling : uint8_t {
    Cls,       ///< the first token
    Mean,      ///< the mean of the patches
    ClsAndMean ///< both, concatenated, as for DINOv2
};

/// One thing that a model says at the rows of its last stream. Only the members for its kind count.
struct ReadoutSpec {
    TextReadout kind = TextReadout::NextToken;

    // Of tokens.
    bool tiedEmbedding = true; ///< the unembedding is the embedding
    bool unembedBias = false;
    double scale = 1;          ///< factor of the rows that the unembedding reads
    bool hasMaskedHead = true; ///< a masked token's row passes a layer of its own before the unembedding, as in BERT
    std::optional<Activation> headActivation{}; ///< of that layer; empty: that of the feed-forward layers

    // Of classes.
    std::vector<std::string> labels{}; ///< names, in the order of the logits; of pictures: empty if the files have none
    ClassActivation activation = ClassActivation::Softmax;

    // Of classes of a picture.
    int64_t classes = 0; ///< 0: no classifier, only its input
    PatchPooling pooling = PatchPooling::Cls;
    bool normAfterPooling = false; ///< the final norm is applied to the pooled token
    bool distillationHead = false; ///< a second classifier on the distillation token; the logits are the mean
    bool operator==(const ReadoutSpec&) const = default;
};

/// The description of a model: its streams, and the readouts of the last of them, which is the model itself. Families
/// differ only in these values and in the names of tensors in their files.
struct ModelSpec : StreamSpec {
    std::string name{};
    std::string family{};
    std::optional<StreamSpec> encoder{}; ///< the stream that crossAttention reads: see readFrom()

    /// What it says. That of tokens is first. A model that fills in masked tokens may also tell whether the second of
    /// two texts follows the first.
    std::vector<ReadoutSpec> readouts{ReadoutSpec()};

    // Of texts.
    /// The token that a decoder's readout of a whole text passes over at the end, see readoutRow(). None: no token.
    std::optional<int64_t> classPadding{};
    int64_t startToken = 0; ///< the token that begins the target of a model with an encoder
    /// Under a causal mask, every token also sees the tokens of a prefix, which see one another in both directions. The
    /// length of the prefix is data. @source Liu et al. 2018, arXiv:1801.10198; Raffel et al. 2020, arXiv:1910.10683
    bool hasPrefix = false;
    /// While it trains, a second stream predicts tokens without seeing them. @source Yang et al. 2019, arXiv:1906.08237
    bool hasQueryStream = false;
    /// While it trains, a second stream reads each of these segments alone, and the global token of a hidden segment
    /// must agree with it: contrastive predictive coding. @source Ainslie et al. 2020, arXiv:2004.08483, section 3
    Segments segments{};
    /// The pictures that the text is, of a model that writes pictures. It changes no graph.
    std::optional<WrittenPicture> picture{};

    /// Settings of the folder that the computation does not follow, in sentences for the person.
    std::vector<std::string> remarks{};
    bool operator==(const ModelSpec&) const = default;

    const StreamSpec& stream() const { return *this; } ///< the stream that the readouts read
    /// All streams, in order of execution: the one that another reads comes before it.
    std::vector<const StreamSpec*> streams() const;
    /// The stream that is read beside that of the readouts, if its rows lie along such an axis. Null: there is none.
    const StreamSpec* source(AxisKind kind) const { return encoder && encoder->axis == kind ? &*encoder : nullptr; }
    /// Lets crossAttention read a stream, and names both.
    void readFrom(StreamSpec source);
    /// The kind of its first readout. None: it says nothing.
    TextReadout readout() const { return readouts.empty() ? TextReadout::None : readouts.front().kind; }
    /// The readout of tokens, or of classes: one of the kind None if there is none.
    const ReadoutSpec& tokenReadout() const { return readoutOf(true); }
    const ReadoutSpec& classReadout() const { return readoutOf(false); }
    int64_t pooledWidth() const {
        return (classReadout().pooling == PatchPooling::ClsAndMean ? 2 : 1) * widthOf(lastLayer());
    }

private:
    const ReadoutSpec& readoutOf(bool isOfTokens) const;
};

/// A model of pictures with the usual settings of a ViT, and no layers.
inline ModelSpec pictureSpec() {
    ModelSpec spec;
    spec.axis = AxisKind::Patches;
    spec.positions = Positions::Learned;
    spec.normEpsilon = 1e-6;
    spec.readouts = {{.kind = TextReadout::PictureClass}};
    return spec;
}

} // namespace attn
