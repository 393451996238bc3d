// The picture that a model writes, with the attention of the next pixel over it.
#include "app/figures/token_label.h"
#include "app/figures/written_picture_figure.h"
#include "app/lab/panels/text_attention.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/widget_makers.h"

#include <cmath>
#include <utility>
#include <vector>

namespace attn {

const WrittenPicture* TextAttention::writtenPicture() const {
    const bool writes = snapshot_ && snapshot_->model && snapshot_->model->writtenPicture;
    return writes ? &*snapshot_->model->writtenPicture : nullptr;
}

AttentionPicture TextAttention::shownAs() const {
    return look_.picture == AttentionPicture::Pixels && !writtenPicture() ? AttentionPicture::Heatmap : look_.picture;
}

void TextAttention::chooseWritten() {
    if (std::exchange(isRestored_, false) || !writtenPicture() || !look_.isPlain()) return;
    look_.level = AttentionLevel::OneHead;
    look_.picture = AttentionPicture::Pixels;
}

void TextAttention::showWritten(int query) {
    const WrittenPicture* picture = writtenPicture();
    if (!picture || !snapshot_->sequence || shownAs() != AttentionPicture::Pixels) return;
    const HeatmapFigure& head = heatmap_->figure();
    const auto& tokens = snapshot_->sequence->tokens;
    std::vector<float> weights;
    const bool isCurrent = !head.isEmpty() && head.tile->isExact() && query < std::ssize(head.queryLabels()) &&
                           head.queryLabels().size() == tokens.size();
    for (int token = 0; isCurrent && query >= 0 && token < std::ssize(tokens); ++token) {
        const float weight = head.valueAt({query, token});
        weights.push_back(std::isnan(weight) ? 0.0f : weight);
    }
    PatchOverlayFigure figure = writtenPictureFigure(*picture, tokens, query, weights);
    figure.title = head.title.isEmpty() ? figure.title : tr("%1 · %2").arg(head.title, figure.title);
    figure.isSigned = head.before != nullptr;
    figure.colours = look_.colours;
    figure.opacity = 0.5; // the pixels count as much as the attention
    written_->setFigure(std::move(figure));
}

void TextAttention::connectWritten() {
    named(written_, "attentionPixels", tr("The picture that the model writes"),
          tr("Point at a pixel to see where the model looked when it wrote it. Click a pixel, or press the arrow "
             "keys, to keep it. The frame stands around the next pixel."));
    written_->setWhatsThis(
        tr("The picture so far. The colours over it show where the head looks to write the pixel in the frame: the "
           "attention of the channels of a pixel is added. Nothing is written yet where there are faint checks."));
    const auto queryAt = [this](std::optional<int> pixel) {
        const WrittenPicture* picture = writtenPicture();
        const int query = picture && pixel ? queryOfPixel(*picture, *pixel) : -1;
        return query < bench_.queryCount() ? query : -1;
    };
    connect(written_, &PatchOverlayView::pointedAt, this,
            [this, queryAt](std::optional<int> pixel) { hoverRow(placeOf(queryAt(pixel), queryWords())); });
    connect(written_, &PatchOverlayView::chosen, this, [this, queryAt](int pixel) {
        const int row = queryAt(pixel);
        if (row >= 0) bench_.selectRow(bench_.selection().row == row ? std::nullopt : std::optional(row));
    });
}

} // namespace attn
