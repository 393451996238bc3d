#include "app/lab/panels/text_attention.h"

#include "app/figures/arcs_figure.h"
#include "app/figures/head_label.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/arcs_view.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/token_strip.h"

#include <QLabel>

// The rows and columns of the views of one head: tokens, or whole words in place of their pieces. Everything else
// counts tokens.

namespace attn {

/// Whether a tile shows each cell of a whole pattern.
bool TextAttention::canJoin(const PatternTile& tile) const {
    return tile.isExact() && tile.rows == std::ssize(snapshot_->queries(tile.site)) &&
           tile.columns == std::ssize(snapshot_->keys(tile.site));
}

void TextAttention::joinWords(int site) {
    joined_.reset();
    if (!look_.wholeWords || !snapshot_->detail || !canJoin(*snapshot_->detail)) return;
    joined_ = {wordRows(snapshot_->queries(site)), wordRows(snapshot_->keys(site))};
}

std::shared_ptr<const PatternTile> TextAttention::shownTile(const std::shared_ptr<const PatternTile>& tile) const {
    return joined_ && tile && canJoin(*tile) ? wordTile(*tile, joined_->queries, joined_->keys) : tile;
}

std::vector<QString> TextAttention::labelsOf(std::span<const TokenInfo> tokens, const WordRows* words) {
    return words ? words->labels : tokenLabels(tokens);
}

int TextAttention::placeOf(int token, const WordRows* words) {
    return words && token >= 0 && token < std::ssize(words->wordOf) ? words->wordOf[static_cast<size_t>(token)] : token;
}

int TextAttention::tokenAt(int place, const WordRows* words) {
    return words && place >= 0 && place < words->count() ? words->begins[static_cast<size_t>(place)] : place;
}

const WordRows* TextAttention::queryWords() const { return joined_ ? &joined_->queries : nullptr; }
const WordRows* TextAttention::keyWords() const { return joined_ ? &joined_->keys : nullptr; }

int TextAttention::linkedPlace() const {
    return hoveredToken_ >= 0 ? hoveredToken_ : placeOf(bench_.selection().row.value_or(-1), queryWords());
}

void TextAttention::showArcs() {
    if (look_.picture != AttentionPicture::Arcs || !snapshot_) return;
    ArcsFigure figure;
    figure.title = headTitle(choice(), bench_.siteLabel(choice().site));
    figure.hidesFirst = look_.scale.hidesFirst;
    figure.labels = heatmap_->figure().queryLabels();
    figure.keyLabels = heatmap_->figure().keyLabels();
    const auto isCurrent = [&](const PatternTile& tile) {
        return tile.queryEnd <= std::ssize(figure.labels) && tile.keyEnd <= std::ssize(figure.keyLabels);
    };
    if (look_.arcsOfLayer) {
        const int site = bench_.selection().site;
        figure.title = tr("All heads of %1").arg(bench_.siteLabel(site));
        if (const auto& grid = snapshot_->grid; grid && site < grid->sites)
            for (int head = 0; head < grid->heads; ++head)
                if (const auto tile = shownTile({grid, &grid->at(site, head)}); tile->rows > 0 && isCurrent(*tile))
                    figure.heads.push_back({head, tile});
    } else if (const auto tile = shownTile(snapshot_->detail); tile && isCurrent(*tile)) {
        figure.heads.push_back({std::max(0, tile->head), tile});
    }
    if (const int linked = linkedPlace(); linked >= 0 && linked < std::ssize(figure.labels)) figure.query = linked;
    arcs_->setFigure(std::move(figure));
}

std::optional<Cell> TextAttention::selectedPlace() const {
    const auto& cell = bench_.selection().cell;
    if (!cell) return {};
    return Cell{placeOf(cell->query, queryWords()), placeOf(cell->key, keyWords())};
}

void TextAttention::nameWords(int query) {
    const HeatmapFigure& head = heatmap_->figure();
    const std::vector<QString>& labels = head.queryLabels();
    const bool isKnown = query >= 0 && query < static_cast<int>(labels.size());
    wordsTitle_->setText(isKnown ? tr("%1 · query “%2”, token %3")
                                       .arg(head.title, labels[static_cast<size_t>(query)], QString::number(query))
                                 : head.title);
    wordsMeaning_->setText(
        head.before
            ? tr("The stronger the colour of a word, the larger the difference in its attention weight:")
            : tr("The stronger the colour of a word, the larger the attention weight that the query gives it:"));
}

} // namespace attn
