#include "app/lab/controls/head_map.h"

#include "app/figures/head_label.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/inference/model_info.h"

#include <QComboBox>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {

HeadMap::HeadMap(const QString& name, QWidget* parent) : QWidget(parent), score_(new QComboBox), view_(new MatrixView) {
    named(score_, name + "Score", tr("Score that colours the map"),
          tr("Choose what colours the heads: how well each fits a kind, or a measure of your own input"));
    named(view_, name + "Map", tr("Map of all heads"), tr("Click a head to show it"));
    score_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    makeColumn(this, 0, {score_, {view_, 1}});
    connect(score_, &QComboBox::activated, this, [this] {
        chosen_ = score_->currentText();
        draw();
        emit scoreChosen();
    });
    connect(view_, &MatrixView::chosen, this, [this](const MatrixCell& cell) {
        if (model_ && cell.row < model_->siteCount() && cell.column < model_->site(cell.row).heads)
            emit headChosen(cell.row, cell.column);
    });
    listScores();
}

const MatrixFigure& HeadMap::figure() const { return view_->figure(); }

void HeadMap::listScores() {
    score_->clear();
    const auto applies = [&](size_t kind) { // a causal model has no next token to look at, for example
        return std::ranges::any_of(results_.kinds->heads,
                                   [&](const HeadScores& head) { return !std::isnan(head.scores[kind]); });
    };
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
        if (applies(kind)) score_->addItem(tr("Kind: %1").arg(fromEngine(kinds_[kind].title)), static_cast<int>(kind));
    for (const HeadMeasure& measure : headMeasures())
        score_->addItem(tr("Your input: %1").arg(fromEngine(measure.title)),
                        -1 - static_cast<int>(&measure - headMeasures().data()));
    // Until the heads have been measured, nothing is chosen, so that no measure is asked for.
    score_->setCurrentIndex(std::max(kinds_.empty() ? -1 : 0, score_->findText(chosen_)));
}

bool HeadMap::showsMeasure() const { return score_->currentData().toInt() < 0; }

QString HeadMap::meaning() const {
    const int score = score_->currentData().toInt();
    if (score < 0) return fromEngine(headMeasures()[static_cast<size_t>(-1 - score)].meaning);
    return {};
}

void HeadMap::setResults(const Results& results, std::shared_ptr<const ModelInfo> model) {
    if (results == results_ && model == model_) return;
    results_ = results;
    model_ = std::move(model);
    if (const auto& kinds = results_.kinds; kinds && kinds != listed_) {
        kinds_ = kinds->kinds;
        listed_ = kinds;
        listScores();
    }
    draw();
}

void HeadMap::setSelected(int site, int head) { view_->setSelected(MatrixCell{site, head}); }

std::vector<float> HeadMap::values(const HeadDetection* kinds, const HeadMeasures* measures, int sites,
                                   int heads) const {
    std::vector<float> all(static_cast<size_t>(sites * heads), std::numeric_limits<float>::quiet_NaN());
    const auto put = [&](int site, int head, float value) {
        if (site < sites && head < heads) all[static_cast<size_t>(site * heads + head)] = value;
    };
    const int score = score_->currentData().toInt();
    if (score < 0 && measures)
        for (const HeadMeasures::OfHead& each : measures->heads)
            put(each.site, each.head, each.values[static_cast<size_t>(-1 - score)]);
    if (score >= 0 && kinds)
        for (const HeadScores& each : kinds->heads)
            if (each.kinds.data() == kinds_.data()) put(each.site, each.head, each.scores[static_cast<size_t>(score)]);
    return all;
}

void HeadMap::draw() {
    const bool isMeasure = showsMeasure();
    const bool hasResult = isMeasure ? results_.measures != nullptr : results_.kinds != nullptr;
    MatrixFigure figure;
    if (model_ && hasResult && model_->siteCount() > 0) {
        const int sites = model_->siteCount();
        int heads = 0;
        for (int site = 0; site < sites; ++site) heads = std::max(heads, model_->site(site).heads);
        std::vector<float> all = values(results_.kinds.get(), results_.measures.get(), sites, heads);
        const bool isCompared = isMeasure ? results_.measuresBefore != nullptr : results_.kindsBefore != nullptr;
        if (isCompared) {
            const auto before = values(results_.kindsBefore.get(), results_.measuresBefore.get(), sites, heads);
            for (size_t i = 0; i < all.size(); ++i) all[i] -= before[i];
        }
        const size_t measure = isMeasure ? static_cast<size_t>(-1 - score_->currentData().toInt()) : 0;
        const bool isShare = !isMeasure || headMeasures()[measure].isShare;
        const QString title = isMeasure ? fromEngine(headMeasures()[measure].title)
                                        : fromEngine(kinds_[static_cast<size_t>(score_->currentData().toInt())].title);
        figure.title = isCompared ? tr("Difference: %1").arg(title) : title;
        figure.rowTitle = tr("layer");
        figure.columnTitle = tr("head");
        for (int site = 0; site < sites; ++site)
            figure.rowLabels.push_back(QString::fromStdString(model_->structure.labelOf(site)));
        for (int head = 0; head < heads; ++head) figure.columnLabels.push_back(headColumnLabel(head));
        figure.rowsAreNamed = figure.columnsAreNamed = true;
        figure.kind = isCompared ? MatrixFigure::Kind::Signed : MatrixFigure::Kind::Weights;
        if (isShare && !isCompared) figure.leastScale = 1; // of each score, so that equal colours are equal shares
        figure.writesValues = true;
        figure.largestCell = 200; // a map of few heads fills its room, too
        figure.setMatrix(sites, heads, std::move(all));
    }
    view_->setFigure(std::move(figure));
}

} // namespace attn
