#pragma once

#include "engine/analysis/patch_head_kinds.h"
#include "engine/inference/vision_model.h"
#include "tests/models/vision_folder.h"

namespace attn::test {

/// Golden models beside which vision_analysis.py says what their heads are.
inline constexpr const char* kHeadGoldens[] = {"vit",  "deit",       "dinov2_registers", "timm_vit", "timm_registers",
                                               "swin", "swin_padded"};

/// A vision model of the goldens and the patches of its picture.
struct GoldenPicture {
    /// @param change  of the model's description
    explicit GoldenPicture(const std::string& name, const std::function<void(ModelSpec&)>& change = {})
        : info(name),
          model(change ? std::make_unique<ChangedSource>(name, change) : openModelSource((kGoldenRoot / name).string()),
                {.device = {.softwareThreads = 0, .validation = true}}),
          patches(patchesOf(Golden(name).values("pixels"))) {}

    std::vector<float> patchesOf(const std::vector<float>& pixels) const {
        const ModelSpec& config = model.config();
        return cutPatches(pixels, config.patches.channels, config.patches.image, config.patches.patch);
    }
    std::shared_ptr<const HeadDetection> heads() {
        return std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {.input = patches}));
    }

    ScopedInfo info;
    VisionModel model;
    std::vector<float> patches;
};

/// A change by which layer 1 pools its tokens.
inline void poolTokens(ModelSpec& config) { config.patches.pools = {{.layer = 1, .tokens = 5}}; }

} // namespace attn::test
