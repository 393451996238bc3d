#pragma once

#include "app/cli/analysis_options.h"
#include "app/cli/vision_options.h"
#include "app/figures/lens_answer.h"
#include "engine/core/error.h"

#include <memory>
#include <span>
#include <string>

namespace attn::cli {

/// What `render` draws.
struct RenderOptions {
    ModelOptions model;
    PromptOptions prompt;
    ImageOptions picture;
    TargetOptions target;
    std::string view = "attention", lens, from, out, colours = "viridis", theme = "light", patch, fusion = "mean",
                label;
    int site = 0, head = 0, position = -1, width = 1000, height = 1000;
    double discard = 0, opacity = 0.6;
    bool isSmooth = false;
};

/// The figure of a model that reads text, and of one that reads pictures. @throws Error
std::unique_ptr<Figure> textFigure(const RenderOptions& options);
std::unique_ptr<Figure> pictureFigure(const RenderOptions& options);

/// The lens of a list that the options name. @throws Error naming those of the list
template <class Page> const Page& lensNamed(std::span<const Page> pages, const std::string& id) {
    std::string known;
    for (const Page& page : pages) {
        if (page.id == id) return page;
        known += (known.empty() ? "" : ", ") + std::string(page.id);
    }
    throw Error({.what = "there is no lens \"" + id + '"', .where = "--lens", .hint = "choose one of " + known});
}
/// The figure of a result. @throws Error if it is a text or a table
std::unique_ptr<Figure> requireDrawing(std::unique_ptr<LensFigure> figure, const std::string& lens);

} // namespace attn::cli
