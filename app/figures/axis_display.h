#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "engine/analysis/patch_embedding.h"
#include "engine/inference/model_info.h"
#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"

#include <QImage>
#include <QString>

#include <optional>
#include <span>
#include <vector>

namespace attn {

/// How the rows of an axis are named and drawn: tokens as words, patches as places in a picture. Views ask the axis, so
/// that they work for every kind of input.
struct AxisDisplay {
    std::vector<QString> names; ///< one per row
    // Set only for an axis whose last rows are patches:
    QImage picture; ///< divided into the patches
    int gridRows = 0, gridColumns = 0;

    /// The row of the first patch, after tokens such as CLS.
    int firstPatch() const { return static_cast<int>(names.size()) - gridRows * gridColumns; }
    /// The name of a row: "cat", "CLS", "patch 1, 3"; the number of a row without a name.
    QString nameOf(int row) const;
    /// Draws one number per patch over the picture; empty for an axis without a picture.
    /// @param layout of the layer with these numbers, which may join patches to tokens; null: no patches are joined
    PatchOverlayFigure overlay(std::vector<float> patches, const LayerLayout* layout = nullptr) const;
};

/// The axis of a model's input.
/// @param tokens names of the tokens of a text  @param picture as the model reads it; null if only names are needed
AxisDisplay inputAxis(const ModelInfo& model, std::vector<QString> tokens, QImage picture = {});

/// A vision model's run on a picture, as figures show it. It refers to results that others keep.
struct PictureRun {
    const ModelInfo* model = nullptr;                ///< null: no model is open
    const Image* seen = nullptr;                     ///< the picture as the model reads it; null: there is no run
    std::span<const int> hidden{};                   ///< patches that the model did not see
    std::span<const SitePattern> patterns{};         ///< one per layer; without values if it forms no pattern
    const TokenMap* rollout = nullptr;               ///< null if a layer forms no pattern
    std::optional<int> rolloutClass{};               ///< the class whose gradients weight the rollout
    std::span<const std::vector<float>> distances{}; ///< mean attention distance of each layer: [heads], in pixels
    const PatchEmbeddingMaps* embedding = nullptr;   ///< null until it is known

    /// The axis of patches, with the picture; hidden patches are grey. @pre there is a run
    AxisDisplay axis() const;
};

} // namespace attn
