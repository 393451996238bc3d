#include "engine/attention/mask/catalogue.h"

#include "engine/attention/parts.h"

#include <fmt/format.h>

#include <array>

namespace attn {
namespace {

constexpr Citation kSparseHeads{"Child et al.", 2019, "Generating Long Sequences with Sparse Transformers",
                                "sections 4.3 and 5.1", "arXiv:1904.10509"};

} // namespace

std::span<const Part* const> maskParts() {
    static constexpr std::array kParts{&kFullMask,         &kCausalMask,         &kPrefixMask,
                                       &kXlnetMask,        &kXlnetQueryMask,     &kWindowMask,
                                       &kLocal1dMask,      &kLocal2dMask,        &kDilatedMask,
                                       &kStridedMask,      &kFixedMask,          &kSummaryMask,
                                       &kBlocksMask,       &kPermutedBlocksMask, &kGlobalMask,
                                       &kRandomMask,       &kGlobalToGlobalMask, &kGlobalToLongMask,
                                       &kLongToGlobalMask, &kLongToLongMask,     &kEtcMask,
                                       &kHardG2lMask,      &kHardEtcMask,        &kOwnSegmentMask,
                                       &kLongformerMask,   &kBigBirdMask,        &kRowMask,
                                       &kColumnMask,       &kAxialMask,          &kShiftedMask,
                                       &kAdaptiveSpanMask, &kDynamicSpanMask,    &kLocalPMask,
                                       &kPaintedMask};
    return kParts;
}

std::vector<double> initialValues(const Part& part) {
    std::vector<double> values;
    for (const Param& param : part.params) values.push_back(param.initial);
    if (part.takesList) {
        values.pop_back();
        values.insert(values.end(), part.initialList.begin(), part.initialList.end());
    }
    return values;
}

std::string termText(const Part& part, std::span<const double> values) {
    std::string text(part.id);
    for (size_t left = part.mask.optionalParams; left > 0 && values.back() == part.params[values.size() - 1].initial;
         --left)
        values = values.first(values.size() - 1);
    for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "(" : ", ") + fmt::format("{}", values[i]);
    return values.empty() ? text : text + ")";
}

std::span<const MaskRecipe> maskRecipes() {
    // The strided pattern's two halves are {i-l .. i} and every l-th key; the fixed pattern's are the block and the
    // summary cells.
    static constexpr std::array<MaskRecipe, 14> kRecipes{{
        {"Sparse Transformer, strided, merged",
         "A query sees the keys just before it and every 8th key further back, in one head.", "strided(8)",
         kSparseHeads},
        {"Sparse Transformer, strided, interleaved by layer",
         "One layer looks at the keys just before a query, the next at every 8th key further back.",
         "per_layer(causal & window(9), causal & dilated(65536, 8))", kSparseHeads},
        {"Sparse Transformer, strided, one per head",
         "One head looks at the keys just before a query, the next at every 8th key further back.",
         "per_head(causal & window(9), causal & dilated(65536, 8))", kSparseHeads},
        {"Sparse Transformer, fixed, merged",
         "A query sees its own block and the last tokens of all earlier blocks, in one head.", "fixed(8, 2)",
         kSparseHeads},
        {"Sparse Transformer, fixed, interleaved by layer",
         "One layer looks within blocks, the next at the last tokens of all earlier blocks.",
         "per_layer(causal & blocks(8), summary(8, 2))", kSparseHeads},
        {"Sparse Transformer, fixed, one per head",
         "One head looks within blocks, the next at the last tokens of all earlier blocks.",
         "per_head(causal & blocks(8), summary(8, 2))", kSparseHeads},
        {"GPT-3, alternating dense and banded layers",
         "One layer looks at all earlier tokens, the next only at the nearest of them.",
         "per_layer(causal, causal & window(8))",
         {"Brown et al.", 2020, "Language Models are Few-Shot Learners", "section 2.1", "arXiv:2005.14165"}},
        {"Mistral, sliding window",
         "A query sees only the 16 nearest tokens; through several layers, information still comes from further back.",
         "causal & window(16)",
         {"Jiang et al.", 2023, "Mistral 7B", "section 2", "arXiv:2310.06825"}},
        {"Image Transformer, local 1D, causal",
         "Of a picture that is drawn pixel by pixel, a query sees its stretch of pixels and the one before.",
         "causal & local1d(8, 8)",
         {"Parmar et al.", 2018, "Image Transformer", "section 3.3", "arXiv:1802.05751"}},
        {"Image Transformer, local 2D, causal",
         "Of a picture that is drawn pixel by pixel, a query sees a rectangle of pixels around its block.",
         "causal & local2d(8, 8, 4, 4, 2, 2)",
         {"Parmar et al.", 2018, "Image Transformer", "section 3.3 (the paper works block by block)",
          "arXiv:1802.05751"}},
        {"Blockwise, two heads",
         "One head looks within its block, the other at another block, so that distant blocks meet.",
         "per_head(blocks(16), permuted_blocks(16, 1, 2, 3, 0))",
         {"Qiu et al.", 2020, "Blockwise Self-Attention for Long Document Understanding", "section 3",
          "arXiv:1911.02972"}},
        {"Longformer, windows that grow with depth",
         "The windows of later layers are wider, and the first token sees and is seen by all.",
         "per_layer(longformer(4, 1, 1), longformer(8, 1, 1), longformer(16, 1, 1))",
         {"Beltagy et al.", 2020, "Longformer: The Long-Document Transformer",
          "section 4.1 (in the paper causal, without global tokens)", "arXiv:2004.05150"}},
        {"Axial Transformer, alternating rows and columns",
         "One layer looks along the rows of a picture, the next along its columns.",
         "per_layer(row(8, 8), column(8, 8))",
         {"Ho et al.", 2019, "Axial Attention in Multidimensional Transformers", "section 3", "arXiv:1912.12180"}},
        {"Swin, alternating windows and shifted windows",
         "One layer looks within square windows of a picture, the next within windows that lie across their borders.",
         "per_layer(shifted(8, 8, 4, 0), shifted(8, 8, 4, 2))",
         {"Liu et al.", 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", "section 3.2",
          "arXiv:2103.14030"}},
    }};
    return kRecipes;
}

} // namespace attn
