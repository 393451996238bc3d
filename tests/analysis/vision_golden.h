#pragma once

#include "engine/analysis/patch_head_kinds.h"
#include "engine/inference/vision_model.h"
#include "tests/models/vision_folder.h"

#include <memory>
#include <string>

namespace attn::test {

/// Golden models beside which vision_analysis.py says what their heads are.
inline constexpr const char* kHeadGoldens[] = {"vit",  "deit",       "dinov2_registers", "timm_vit", "timm_registers",
                                               "swin", "swin_padded"};

/// What the heads of a golden model are, on its picture.
inline std::shared_ptr<const HeadDetection> headsOfGolden(const std::string& name) {
    VisionModel model(openVisionSource((kGoldenRoot / name).string()), {.softwareThreads = 0, .validation = true});
    const VisionConfig& config = model.config();
    const auto patches = cutPatches(Golden(name).values("pixels"), config.channels, config.image, config.patch);
    return std::static_pointer_cast<HeadDetection>(HeadDetectionAnalysis{}.run(model, {.input = patches}));
}

} // namespace attn::test
