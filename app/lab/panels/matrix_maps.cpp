#include "app/figures/drawing.h"
#include "app/figures/map_figure.h"
#include "app/figures/scale.h"
#include "app/figures/token_label.h"
#include "app/lab/panels/run_maps.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/snapshot_views.h"
#include "engine/analysis/token_alignment.h"
#include "engine/inference/pattern_divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace attn {
namespace {

/// Numbers the token texts of both sequences. Equal texts get equal numbers, also where the models' token ids differ.
std::pair<std::vector<int>, std::vector<int>> contents(std::span<const TokenInfo> a, std::span<const TokenInfo> b) {
    std::map<QString, int> numbers;
    const auto numbered = [&](std::span<const TokenInfo> tokens) {
        std::vector<int> result;
        for (const QString& label : tokenLabels(tokens))
            result.push_back(numbers.emplace(label, static_cast<int>(numbers.size())).first->second);
        return result;
    };
    std::vector<int> first = numbered(a);
    return {std::move(first), numbered(b)};
}

MatrixFigure patternFigure(const Snapshot& snapshot, const std::shared_ptr<const PatternTile>& tile,
                           const QString& title) {
    MatrixFigure figure;
    figure.title = title;
    figure.rowTitle = MatrixMaps::tr("query");
    figure.columnTitle = MatrixMaps::tr("key");
    figure.kind = MatrixFigure::Kind::Weights;
    figure.writesValues = true;
    if (!tile || tile->rows == 0) return figure;
    figure.setMatrix(tile->rows, tile->columns, visibleWeights(*tile));
    if (!tile->isExact()) {
        figure.note = tile->leavesOutFirst
                          ? MatrixMaps::tr("each pixel covers several tokens; the first token is left out")
                          : MatrixMaps::tr("each pixel covers several tokens");
        return figure;
    }
    figure.rowLabels = tokenLabels(snapshot.queries(tile->site));
    figure.columnLabels = tokenLabels(snapshot.keys(tile->site));
    figure.rowLabels.resize(static_cast<size_t>(tile->rows));
    figure.columnLabels.resize(static_cast<size_t>(tile->columns));
    return figure;
}

} // namespace

MatrixMaps::MatrixMaps(Workbench& bench, const SecondRun& second, QObject* parent)
    : RunMaps(bench, second, parent), a_(make("compareA", First)), b_(make("compareB", Second)),
      difference_(make("compareDifference", Difference)) {}

MatrixView* MatrixMaps::make(const char* id, Map map) {
    auto* view = named(new MatrixView, id, titleOf(map));
    connect(view, &MatrixView::pointedAt, this, &MatrixMaps::link);
    connect(view, &MatrixView::activated, this, [this, map] { emit activated(map); });
    followTheme(bench_, view);
    return view;
}

QWidget* MatrixMaps::view(Map map) const { return map == First ? a_ : map == Second ? b_ : difference_; }

const Figure& MatrixMaps::figure(Map map) const { return static_cast<const MatrixView*>(view(map))->figure(); }

void MatrixMaps::align() {
    const auto sequences = first_ ? std::pair(first_->sequence, second_.snapshot()->sequence) : decltype(aligned_){};
    if (sequences == std::exchange(aligned_, sequences)) return;
    partners_.clear();
    sourcePartners_.clear();
    if (!sequences.first || !sequences.second) return;
    const auto aligned = [](std::span<const TokenInfo> first, std::span<const TokenInfo> second) {
        const auto [a, b] = contents(first, second);
        return alignTokens(a, b);
    };
    partners_ = aligned(sequences.first->tokens, sequences.second->tokens);
    sourcePartners_ = aligned(sequences.first->source, sequences.second->source);
}

std::vector<int> MatrixMaps::partnersOf(int site, int Site::*stream, int rowsOfA, int rowsOfB) const {
    const Snapshot& second = *second_.snapshot();
    if (!second.model || site >= second.model->siteCount()) return {};
    const bool isOfSource = first_->model->readsSource && first_->model->site(site).*stream == 0;
    const std::vector<int>& partners = isOfSource ? sourcePartners_ : partners_;
    const auto rows = stream == &Site::queryStream ? second.queries(site).size() : second.keys(site).size();
    const bool fits = std::ssize(partners) == rowsOfA && static_cast<size_t>(rowsOfB) == rows;
    return fits ? partners : std::vector<int>();
}

QString MatrixMaps::alignedText() const {
    if (!aligned_.first || !aligned_.second) return {};
    const size_t countA = partners_.size(), countB = aligned_.second->tokens.size();
    const auto count = static_cast<size_t>(std::ranges::count_if(partners_, [](int partner) { return partner >= 0; }));
    const std::vector<QString> a = tokenLabels(aligned_.first.get()), b = tokenLabels(aligned_.second.get());
    int differing = 0;
    for (size_t token = 0; token < countA; ++token)
        if (partners_[token] >= 0 && a[token] != b[static_cast<size_t>(partners_[token])]) ++differing;
    if (count == countA && count == countB && differing == 0) return {};
    const QString sentence = tr("%1 of A's %2 tokens line up with B's %3.").arg(count).arg(countA).arg(countB);
    if (differing == 0) return sentence;
    return sentence + ' ' + (differing == 1 ? tr("1 pair differs.") : tr("%1 pairs differ.").arg(differing));
}

bool MatrixMaps::hasNoDifference() const {
    return difference_->figure().isEmpty() && !difference_->figure().note.isEmpty();
}

RunMaps::Parts MatrixMaps::compared() const {
    return {first_->grid, second_.snapshot()->grid, aligned_.first, aligned_.second};
}

bool MatrixMaps::hasSameInput() const { return first_->sequence->text == second_.snapshot()->sequence->text; }

std::pair<MatrixMaps::Tile, MatrixMaps::Tile> MatrixMaps::tiles() const {
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    const Snapshot& second = *second_.snapshot();
    auto a = shownTile(*first_, site, head, true), b = shownTile(second, site, head, true);
    // Details of long texts differ in size; thumbnails do not.
    const bool isFine = a && b && (a->rows == b->rows || (a->isExact() && b->isExact()));
    if (a && b && !isFine) {
        a = shownTile(nullptr, first_->grid, 0, site, head, true);
        b = shownTile(nullptr, second.grid, 0, site, head, true);
    }
    return {std::move(a), std::move(b)};
}

void MatrixMaps::show(bool isOn) {
    for (MatrixView* view : {a_, b_, difference_}) {
        view->setVisible(isOn);
        if (!isOn) view->setFigure({});
    }
    if (!isOn) return;
    const auto [one, another] = tiles();
    const auto [site, number] = std::pair(bench_.selection().site, bench_.selection().head);
    const QString head = bench_.headLabel(site, number);
    MatrixFigure a = patternFigure(*first_, one, tr("A: %1").arg(head) + bench_.conditionOf(site, number)),
                 b = patternFigure(*second_.snapshot(), another, tr("B: %1").arg(head));
    MatrixFigure difference;
    difference.title = tr("A − B: %1").arg(head);
    difference.writesValues = true;
    difference.rowTitle = tr("query");
    difference.columnTitle = tr("key");
    const std::vector<int>&rows = partnersOfRows_ = partnersOf(site, &Site::queryStream, a.rows(), b.rows()),
          &columns = partnersOfColumns_ = partnersOf(site, &Site::keyStream, a.columns(), b.columns());
    const bool isByToken = !a.rowLabels.empty() && !b.rowLabels.empty() && !rows.empty() && !columns.empty();
    const bool isAlike = one && another && one->leavesOutFirst == another->leavesOutFirst;
    if (!a.isEmpty() && isAlike && (isByToken || (a.rows() == b.rows() && a.columns() == b.columns()))) {
        std::vector<float> values;
        for (int row = 0; row < a.rows(); ++row)
            for (int column = 0; column < a.columns(); ++column) {
                const MatrixCell cell{row, column};
                const auto partner = isByToken ? partnerOf(cell) : cell;
                const float own = a.valueAt(cell),
                            other = partner ? b.valueAt(*partner) : std::numeric_limits<float>::quiet_NaN();
                // What one of both hides has no weight there.
                const bool isOfOne = partner && std::isnan(own) != std::isnan(other);
                values.push_back(!isOfOne ? own - other : std::isnan(own) ? -other : own);
            }
        if (std::ranges::all_of(values, [](float value) { return std::isnan(value); }))
            difference.note = tr("No token of A matches a token of B, so there is no difference to show.");
        else
            difference.setMatrix(a.rows(), a.columns(), std::move(values));
        const auto both = [](std::vector<QString> own, std::span<const QString> others,
                             const std::vector<int>& partners) {
            for (size_t token = 0; token < partners.size(); ++token)
                if (partners[token] >= 0)
                    if (const QString& other = others[static_cast<size_t>(partners[token])]; other != own[token])
                        own[token] = tr("%1 | %2", "tokens of A and B").arg(own[token], other);
            return own;
        };
        difference.rowLabels = isByToken ? both(a.rowLabels, b.rowLabels, rows) : a.rowLabels;
        difference.columnLabels = isByToken ? both(a.columnLabels, b.columnLabels, columns) : a.columnLabels;
    } else if (const ModelInfo& other = *second_.snapshot()->model;
               site >= other.siteCount() || number >= other.heads) {
        b.note = difference.note = tr("B has no %1: it has %2 layers of %3 heads. Go to Inspect and select one of them "
                                      "in the Heads panel.")
                                       .arg(head)
                                       .arg(other.layers)
                                       .arg(other.heads);
    } else if (!a.isEmpty() && !b.isEmpty()) {
        difference.note = tr("Long texts can be compared only if both have the same length.");
    }
    shareScale(a, b);
    a_->setFigure(std::move(a));
    b_->setFigure(std::move(b));
    difference_->setFigure(std::move(difference));
}

RunMaps::Divergences MatrixMaps::divergences() const {
    Divergences all;
    const Snapshot& second = *second_.snapshot();
    const PatternGrid *a = first_->grid.get(), *b = second.grid.get();
    if (!a || !b || a->tiles.empty() || a->sites != b->sites || a->heads != b->heads) return all;
    const auto pixels = [](int count) {
        std::vector<int> each(static_cast<size_t>(count));
        std::iota(each.begin(), each.end(), 0);
        return each;
    };
    for (int at = 0; at < std::ssize(a->tiles); ++at) {
        const PatternTile &one = a->tiles[static_cast<size_t>(at)], &other = b->tiles[static_cast<size_t>(at)];
        const int site = at / a->heads;
        std::vector<int> rows, columns;
        if (one.isExact() && other.isExact()) {
            rows = partnersOf(site, &Site::queryStream, one.rows, other.rows);
            columns = partnersOf(site, &Site::keyStream, one.columns, other.columns);
        }
        if ((rows.empty() || columns.empty()) && one.rows == other.rows && one.columns == other.columns) {
            rows = pixels(one.rows);
            columns = pixels(one.columns);
        }
        if (!rows.empty() && !columns.empty())
            all.push_back({{site, at % a->heads}, patternDivergence(one, other, rows, columns)});
    }
    return all;
}

QString MatrixMaps::reading() const {
    const MatrixFigure &a = a_->figure(), &b = b_->figure(), &difference = difference_->figure();
    const MatrixFigure& named = !a.hovered ? b : difference.hovered ? difference : a;
    if (!named.hovered) return {};
    QStringList values;
    if (a.hovered) values << tr("A %1").arg(valueText(a, *a.hovered));
    if (b.hovered) values << tr("B %1").arg(valueText(b, *b.hovered));
    if (a.hovered && b.hovered && difference.hovered)
        values << tr("A − B %1").arg(valueText(difference, *difference.hovered));
    return tr("Query %1, key %2: %3")
        .arg(named.rowName(named.hovered->row), named.columnName(named.hovered->column), values.join(" · "));
}

std::optional<MatrixCell> MatrixMaps::partnerOf(const MatrixCell& cell) const {
    const auto of = [](const std::vector<int>& partners, int token) {
        return token < std::ssize(partners) ? partners[static_cast<size_t>(token)] : -1;
    };
    const MatrixCell partner{of(partnersOfRows_, cell.row), of(partnersOfColumns_, cell.column)};
    return std::min(partner.row, partner.column) < 0 ? std::nullopt : std::optional(partner);
}

void MatrixMaps::link(const std::optional<MatrixCell>& cell) {
    const bool isByToken = !a_->figure().rowLabels.empty() && !b_->figure().rowLabels.empty();
    std::optional<MatrixCell> inA = cell, inB = cell;
    if (cell && isByToken && sender() == b_) {
        const auto of = [](const std::vector<int>& partners, int token) {
            const auto found = std::ranges::find(partners, token);
            return found == partners.end() ? -1 : static_cast<int>(found - partners.begin());
        };
        inA = MatrixCell{of(partnersOfRows_, cell->row), of(partnersOfColumns_, cell->column)};
        if (std::min(inA->row, inA->column) < 0) inA.reset();
    } else if (cell && isByToken) {
        inB = partnerOf(*cell);
    }
    for (MatrixView* view : {a_, b_, difference_})
        if (view != sender()) view->setLinked(view == b_ ? inB : inA);
    emit pointed();
}

} // namespace attn
