#include "app/figures/vision_look.h"

#include <QCoreApplication>

#include <algorithm>

namespace attn {
namespace {

struct VisionLookText {
    Q_DECLARE_TR_FUNCTIONS(attn::VisionLook)
};

/// @return the row of the axis that looks; none: the mean of all patches
std::optional<int> queryOf(const ModelInfo& info, const VisionLook& look) {
    if (look.patch) return static_cast<int>(info.prefix.size()) + *look.patch;
    return info.prefix.empty() || look.isMean ? std::nullopt : std::optional(0);
}

/// @return the tokens before the patches: "CLS", "CLS and registers"
QString otherTokens(const ModelInfo& info) {
    QStringList names;
    for (const std::string& token : info.prefix) {
        const QString name =
            token.starts_with("register") ? VisionLookText::tr("registers") : QString::fromStdString(token);
        if (!names.contains(name)) names << name;
    }
    const QString last = names.takeLast();
    return names.isEmpty() ? last : VisionLookText::tr("%1 and %2").arg(names.join(QStringLiteral(", ")), last);
}

QString nameOf(const PictureRun& run, const VisionLook& look) {
    const ModelInfo& info = *run.model;
    if (look.isRollout && run.rolloutClass)
        return VisionLookText::tr("rollout for “%1”").arg(QString::fromStdString(info.labelOf(*run.rolloutClass)));
    if (look.isRollout) return VisionLookText::tr("rollout of %1 layers").arg(info.layers);
    if (look.head == VisionLook::Mean) return VisionLookText::tr("layer %1, mean of heads").arg(look.site);
    if (look.head == VisionLook::Maximum) return VisionLookText::tr("layer %1, maximum of heads").arg(look.site);
    return VisionLookText::tr("layer %1, head %2").arg(look.site).arg(look.head);
}

} // namespace

PatchRow rowOf(const PictureRun& run, const VisionLook& look) {
    if (look.patch && *look.patch >= run.model->grid.area()) return {};
    const std::optional<int> token = queryOf(*run.model, look);
    if (look.isRollout) return run.rollout ? patchRow(*run.rollout, token) : PatchRow{};
    const auto layer = static_cast<size_t>(look.site);
    if (layer >= run.patterns.size()) return {};
    const SitePattern& pattern = run.patterns[layer];
    if (pattern.values.empty() || look.head >= pattern.heads) return {};
    if (look.head < 0)
        return fusedPatchRow(pattern, token, look.head == VisionLook::Mean ? HeadFusion::Mean : HeadFusion::Maximum);
    return patchRow(pattern, look.head, token);
}

PatchOverlayFigure overlayFigure(const PictureRun& run, const VisionLook& look) {
    if (!run.seen) return {};
    const ModelInfo& info = *run.model;
    const AxisDisplay axis = run.axis();
    PatchRow row = rowOf(run, look);
    const bool hasRow = !row.patches.empty();
    if (!hasRow) row.patches.assign(static_cast<size_t>(info.grid.area()), 0);
    PatchOverlayFigure figure =
        axis.overlay(std::move(row.patches),
                     hasRow && !look.isRollout ? &run.patterns[static_cast<size_t>(look.site)].layout : nullptr);
    figure.colours = look.colours;
    figure.opacity = look.opacity;
    figure.isSmooth = look.isSmooth;
    if (hasRow) figure.marked = look.patch;
    const std::optional<int> query = queryOf(info, look);
    figure.title = VisionLookText::tr("From %1: %2")
                       .arg(query ? axis.nameOf(*query) : VisionLookText::tr("mean of all patches"), nameOf(run, look));
    if (!hasRow)
        figure.note = look.isRollout ? VisionLookText::tr("A layer of this model forms no pattern.")
                                     : VisionLookText::tr("There is no pattern for this choice.");
    else if (look.isRollout && run.rolloutClass)
        figure.note = VisionLookText::tr("relevance: attention that raises the class");
    else if (!info.prefix.empty())
        figure.note = VisionLookText::tr("%1 % of attention goes to %2")
                          .arg(row.elsewhere * 100, 0, 'f', 1)
                          .arg(otherTokens(info));
    return figure;
}

HeadOverlaysFigure headOverlaysFigure(const PictureRun& run, const VisionLook& look, const PictureRun* original) {
    HeadOverlaysFigure figure;
    if (!run.seen) return figure;
    const AxisDisplay axis = run.axis();
    figure.heads = run.model->heads;
    figure.picture = axis.picture;
    VisionLook each = look;
    each.isRollout = false;
    for (each.site = 0; each.site < std::ssize(run.patterns); ++each.site) {
        std::vector<PatchOverlayFigure>& layer = figure.layers.emplace_back();
        for (each.head = 0; each.head < run.model->site(each.site).heads; ++each.head) {
            PatchRow row = rowOf(run, each);
            if (row.patches.empty()) break; // the layer forms no pattern
            PatchOverlayFigure& overlay =
                layer.emplace_back(axis.overlay(original ? difference(row, rowOf(*original, each)) : row.patches));
            overlay.isSigned = original != nullptr;
            overlay.colours = look.colours;
            overlay.opacity = look.opacity;
            overlay.isSmooth = look.isSmooth;
            overlay.isBare = true;
        }
    }
    return figure;
}

PatchOverlayFigure differenceFigure(const PictureRun& changed, const PictureRun& original, const VisionLook& look) {
    PatchOverlayFigure figure = overlayFigure(changed, look);
    if (figure.isEmpty()) return figure;
    const PatchRow after = rowOf(changed, look), before = rowOf(original, look);
    if (after.patches.size() != before.patches.size()) return figure;
    figure.isSigned = true;
    figure.opacity = std::max(look.opacity, 0.75);
    figure.setValues(figure.rows(), figure.columns(), difference(after, before));
    figure.title = VisionLookText::tr("%1: changed − original").arg(figure.title);
    return figure;
}

} // namespace attn
