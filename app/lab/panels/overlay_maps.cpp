#include "app/figures/vision_figures.h"
#include "app/lab/panels/run_maps.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/snapshot_views.h"
#include "engine/inference/pattern_divergence.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace attn {

QString RunMaps::titleOf(Map map) {
    return map == First ? tr("A: the current run") : map == Second ? tr("B: the other run") : tr("A − B");
}

OverlayMaps::OverlayMaps(Workbench& bench, const SecondRun& second, QObject* parent)
    : RunMaps(bench, second, parent), a_(make("comparePictureA", First)), b_(make("comparePictureB", Second)),
      difference_(make("comparePictureDifference", Difference)) {
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        if (isOn_) show(true);
    });
}

PatchOverlayView* OverlayMaps::make(const char* id, Map map) {
    auto* view = named(new PatchOverlayView, id, titleOf(map));
    connect(view, &PatchOverlayView::pointedAt, &bench_.pictures(), &PictureBench::point);
    connect(view, &PatchOverlayView::chosen, &bench_.pictures(), &PictureBench::togglePatch);
    connect(view, &PatchOverlayView::activated, this, [this, map] { emit activated(map); });
    followTheme(bench_, view);
    return view;
}

QWidget* OverlayMaps::view(Map map) const { return map == First ? a_ : map == Second ? b_ : difference_; }

const Figure& OverlayMaps::figure(Map map) const { return static_cast<const PatchOverlayView*>(view(map))->figure(); }

void OverlayMaps::show(bool isOn) {
    isOn_ = isOn;
    for (PatchOverlayView* view : {a_, b_}) view->setVisible(isOn);
    PatchOverlayFigure figure;
    const PictureRun first = isOn ? pictureRun(*first_) : PictureRun{},
                     second = isOn ? pictureRun(*second_.snapshot()) : PictureRun{};
    if (first.model && second.model) { // B may not have followed A yet
        const VisionLook look = bench_.pictures().look();
        QString shown;
        for (const auto& [view, run, title] :
             {std::tuple(b_, &second, tr("B: %1")), std::tuple(a_, &first, tr("A: %1"))}) {
            PatchOverlayFigure overlay = overlayFigure(*run, look);
            shown = overlay.title;
            overlay.title = title.arg(shown);
            view->setFigure(std::move(overlay));
        }
        const PatchRow a = rowOf(first, look), b = rowOf(second, look);
        if (first.model->grid == second.model->grid && !a.patches.empty() && !b.patches.empty()) {
            figure = first.axis().overlay(difference(a, b));
            figure.isSigned = true;
            figure.opacity = std::max(look.opacity, 0.75);
            figure.isSmooth = look.isSmooth;
            figure.title = tr("A − B: %1").arg(shown);
        }
    }
    difference_->setVisible(!figure.isEmpty()); // both need attention over the same grid of patches
    difference_->setFigure(std::move(figure));
}

bool OverlayMaps::hasNoDifference() const { return difference_->figure().isEmpty(); }

bool OverlayMaps::hasHead() const { return !bench_.pictures().look().isRollout; }

RunMaps::Divergences OverlayMaps::divergences() const {
    Divergences all;
    const auto &a = first_->answer->patterns, &b = second_.snapshot()->answer->patterns;
    for (size_t site = 0; site < std::min(a.size(), b.size()); ++site)
        for (int head = 0; head < a[site].heads; ++head)
            if (const auto bits = patternDivergence(a[site], b[site], head))
                all.push_back({{static_cast<int>(site), head}, *bits});
    return all;
}

RunMaps::Parts OverlayMaps::compared() const { return {first_->answer, second_.snapshot()->answer}; }

bool OverlayMaps::hasSameInput() const { return second_.with() != SecondRun::OtherInput; }

} // namespace attn
