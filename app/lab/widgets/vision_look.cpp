#include "app/lab/widgets/vision_look.h"

#include "app/figures/read_image.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>

namespace attn {
namespace {

struct VisionLookText {
    Q_DECLARE_TR_FUNCTIONS(attn::VisionLook)
};

QString tokenName(const ModelInfo& info, std::optional<int> patch) {
    const auto columns = static_cast<int>(info.grid.width);
    if (patch) return VisionLookText::tr("patch %1, %2").arg(*patch / columns).arg(*patch % columns);
    return info.prefix.empty() ? VisionLookText::tr("mean of all patches")
                               : QString::fromStdString(info.prefix.front());
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

QString nameOf(const VisionSnapshot& snapshot, const VisionLook& look) {
    const ModelInfo& info = *snapshot.model;
    if (look.isRollout && snapshot.query.rolloutClass)
        return VisionLookText::tr("rollout for “%1”")
            .arg(QString::fromStdString(info.labelOf(*snapshot.query.rolloutClass)));
    if (look.isRollout) return VisionLookText::tr("rollout of %1 layers").arg(info.layers);
    if (look.head == VisionLook::Mean) return VisionLookText::tr("layer %1, mean of heads").arg(look.site);
    if (look.head == VisionLook::Maximum) return VisionLookText::tr("layer %1, maximum of heads").arg(look.site);
    return VisionLookText::tr("layer %1, head %2").arg(look.site).arg(look.head);
}

} // namespace

std::optional<int> tokenOf(const ModelInfo& info, std::optional<int> patch) {
    const auto before = static_cast<int>(info.prefix.size());
    if (patch) return before + *patch;
    return before > 0 ? std::optional(0) : std::nullopt;
}

PatchRow rowOf(const VisionSnapshot& snapshot, const VisionLook& look) {
    const ModelInfo& info = *snapshot.model;
    if (look.patch && *look.patch >= info.grid.area()) return {};
    const std::optional<int> token = tokenOf(info, look.patch);
    if (look.isRollout) return snapshot.rollout ? patchRow(*snapshot.rollout, token) : PatchRow{};
    const auto& patterns = snapshot.answer->patterns;
    const auto layer = static_cast<size_t>(look.site);
    if (layer >= patterns.size() || patterns[layer].values.empty() || look.head >= patterns[layer].heads) return {};
    if (look.head < 0)
        return fusedPatchRow(patterns[layer], token,
                             look.head == VisionLook::Mean ? HeadFusion::Mean : HeadFusion::Maximum);
    return patchRow(patterns[layer], look.head, token);
}

QImage shownPicture(const VisionSnapshot& snapshot) {
    QImage picture = toQImage(*snapshot.answer->seen).convertToFormat(QImage::Format_RGB32);
    QPainter painter(&picture);
    const ModelInfo& info = *snapshot.model;
    for (const int patch : snapshot.query.hidden) {
        const auto columns = static_cast<int>(info.grid.width);
        painter.fillRect(patch % columns * info.patch, patch / columns * info.patch, info.patch, info.patch,
                         QColor(127, 127, 127));
    }
    return picture;
}

PatchOverlayFigure overlayFigure(const VisionSnapshot& snapshot, const VisionLook& look) {
    PatchOverlayFigure figure;
    if (!snapshot.model || !snapshot.answer) return figure;
    const ModelInfo& info = *snapshot.model;
    figure.image = shownPicture(snapshot);
    figure.colours = look.colours;
    figure.opacity = look.opacity;
    figure.isSmooth = look.isSmooth;
    PatchRow row = rowOf(snapshot, look);
    const bool hasRow = !row.patches.empty();
    if (!hasRow) row.patches.assign(static_cast<size_t>(info.grid.area()), 0);
    figure.setValues(static_cast<int>(info.grid.height), static_cast<int>(info.grid.width), std::move(row.patches));
    const auto layer = static_cast<size_t>(look.site);
    if (const auto& patterns = snapshot.answer->patterns;
        hasRow && !look.isRollout && patterns[layer].layout.tokens < info.tokens())
        figure.tokens = patterns[layer].layout.tokenOf;
    figure.title = VisionLookText::tr("From %1: %2").arg(tokenName(info, look.patch), nameOf(snapshot, look));
    if (!hasRow)
        figure.note = look.isRollout ? VisionLookText::tr("A layer of this model forms no pattern.")
                                     : VisionLookText::tr("There is no pattern for this choice.");
    else if (look.isRollout && snapshot.query.rolloutClass)
        figure.note = VisionLookText::tr("relevance: attention that raises the class");
    else if (!info.prefix.empty())
        figure.note = VisionLookText::tr("%1 % of attention goes to %2")
                          .arg(row.elsewhere * 100, 0, 'f', 1)
                          .arg(otherTokens(info));
    return figure;
}

std::shared_ptr<const VisionSnapshot> uneditedSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot) {
    if (!snapshot->unedited) return snapshot;
    auto plain = std::make_shared<VisionSnapshot>(*snapshot);
    plain->answer = snapshot->unedited;
    plain->rollout = snapshot->uneditedRollout;
    return plain;
}

PatchOverlayFigure differenceFigure(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look) {
    PatchOverlayFigure figure = overlayFigure(*snapshot, look);
    const PatchRow after = rowOf(*snapshot, look), before = rowOf(*uneditedSnapshot(snapshot), look);
    if (figure.isEmpty() || after.patches.size() != before.patches.size()) return figure;
    const ModelInfo& info = *snapshot->model;
    figure.isSigned = true;
    figure.opacity = std::max(look.opacity, 0.75);
    figure.setValues(static_cast<int>(info.grid.height), static_cast<int>(info.grid.width), difference(after, before));
    figure.title = VisionLookText::tr("%1: changed − original").arg(figure.title);
    return figure;
}

} // namespace attn
