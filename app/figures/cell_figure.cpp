#include "app/figures/cell_figure.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/formula.h"
#include "app/figures/head_label.h"
#include "app/figures/spacing.h"
#include "app/figures/thumbnail_grid_figure.h"

#include <QFontMetricsF>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

namespace attn {
namespace {

struct TermRow {
    QString name;
    const std::vector<float>* values;
    QColor role;
};

constexpr float kLeastPrinted = 0.005f; ///< shown with two decimals, not as 0.00
constexpr size_t kManyZeros = 8;

double norm(const std::vector<float>& vector) {
    double sum = 0;
    for (float value : vector) sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum);
}

QString number(double value) { return formatNumber(value, 4); }
QString number(float value) { return number(static_cast<double>(value)); }

/// Places blocks one below another. Without a painter it only measures.
class Flow {
public:
    Flow(QPainter* painter, const QRectF& area, const FigureTheme& theme)
        : painter_(painter), theme_(theme), left_(area.left() + spacing::kGap),
          width_(area.width() - 2 * spacing::kGap), top_(area.top()), y_(area.top() + spacing::kGap) {}

    double height() const { return y_ - top_ + spacing::kGap; }
    void space(double lines) { y_ += lines * theme_.lineHeight(); }

    void heading(int step, const QString& text, const QColor& colour) {
        space(0.45);
        paragraph(step > 0 ? QStringLiteral("%1  %2").arg(step).arg(text) : text, theme_.titleFont(), colour);
    }
    void sentence(const QString& text) { paragraph(text, theme_.textFont(), theme_.text); }
    /// A line that Formula sets.
    void formula(const QString& text) {
        const Formula formula(text);
        const QFont font = theme_.textFont();
        const double room = std::max(20.0, width_);
        if (painter_) formula.paint(*painter_, QRectF(left_, y_, room, 0), font, theme_.text);
        y_ += std::ceil(formula.sizeFor(room, font).height()) + 3;
    }
    void remark(const QString& text) { paragraph(text, theme_.smallFont(), theme_.faint); }

    /// Adds rows of numbers that belong together, one column per dimension, wrapped to the width. Many columns of zeros
    /// become one sentence.
    void terms(const std::vector<TermRow>& rows) {
        const QFont font = theme_.smallFont();
        const size_t all = rows.front().values->size();
        const auto isZero = [&](size_t column) {
            return std::ranges::all_of(rows, [&](const TermRow& row) {
                return column >= row.values->size() || std::abs((*row.values)[column]) < kLeastPrinted;
            });
        };
        std::vector<size_t> shown;
        for (size_t i = 0; i < all; ++i)
            if (!isZero(i)) shown.push_back(i);
        if (all - shown.size() < kManyZeros) {
            shown.resize(all);
            std::iota(shown.begin(), shown.end(), size_t{0});
        }
        const size_t count = shown.size();
        double labelWidth = 0;
        for (const TermRow& row : rows)
            labelWidth = std::max(labelWidth, Formula(row.name).sizeFor(width_, font).width() + theme_.size * 0.6);
        double termWidth = textWidth(QStringLiteral("00"), font);
        for (const TermRow& row : rows)
            for (float value : *row.values)
                termWidth = std::max(termWidth, textWidth(formatNumber(static_cast<double>(value), 2), font));
        termWidth += 6;
        const auto perLine = static_cast<size_t>(std::max(1.0, (width_ - labelWidth) / termWidth));
        const double line = std::ceil(QFontMetricsF(font).height()) + 2;
        for (size_t begin = 0; begin < count; begin += perLine) {
            const size_t end = std::min(count, begin + perLine);
            if (count > perLine || count < all) {
                for (size_t i = begin; i < end; ++i)
                    put({left_ + labelWidth + static_cast<double>(i - begin) * termWidth, y_, termWidth - 2, line},
                        Qt::AlignCenter, QString::number(shown[i]), font, theme_.faint);
                y_ += line - 1;
            }
            for (const TermRow& row : rows) {
                if (painter_) Formula(row.name).paint(*painter_, {left_, y_, labelWidth, 0}, font, row.role);
                const float largest =
                    std::abs(*std::max_element(row.values->begin(), row.values->end(),
                                               [](float a, float b) { return std::abs(a) < std::abs(b); }));
                for (size_t i = begin; i < end && shown[i] < row.values->size(); ++i)
                    term({left_ + labelWidth + static_cast<double>(i - begin) * termWidth, y_, termWidth - 2, line - 2},
                         (*row.values)[shown[i]], largest);
                y_ += line;
            }
            y_ += 4;
        }
        if (count == all) return;
        QStringList names;
        for (const TermRow& row : rows) names << row.name;
        remark((count > 0 && all - count == 1 ? CellFigure::tr("The other %1 column of %2 is 0.00.")
                : count > 0                   ? CellFigure::tr("The other %1 columns of %2 are 0.00.")
                                              : CellFigure::tr("All %1 columns of %2 are 0.00."))
                   .arg(all - count)
                   .arg(names.join(QStringLiteral(", "))));
    }

    /// The row's attention weights as bars, with this key's bar in its role colour.
    void rowBars(const std::vector<float>& probabilities, int key, const QColor& colour) {
        const double height = 3.2 * theme_.size, count = static_cast<double>(probabilities.size());
        const double barWidth = std::min(width_ / count, 2.5 * theme_.size);
        if (painter_) {
            painter_->fillRect(QRectF(left_, y_, barWidth * count, height), theme_.plot);
            const auto bar = [&](size_t i, const QColor& fill) {
                const double tall = std::clamp(static_cast<double>(probabilities[i]), 0.0, 1.0) * height;
                painter_->fillRect(QRectF(left_ + static_cast<double>(i) * barWidth, y_ + height - tall,
                                          std::max(1.0, barWidth - (barWidth > 4 ? 1 : 0)), tall),
                                   fill);
            };
            for (size_t i = 0; i < probabilities.size(); ++i)
                if (probabilities[i] > 0) bar(i, theme_.faint);
            const size_t own = static_cast<size_t>(key);
            if (own < probabilities.size()) {
                bar(own, colour);
                painter_->fillRect(QRectF(left_ + static_cast<double>(own) * barWidth, y_ + height + 1,
                                          std::max(3.0, barWidth - 1), 3),
                                   colour);
            }
        }
        y_ += height + 7;
    }

private:
    void put(const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
             const QColor& colour) {
        if (painter_) drawLine(*painter_, rect, alignment, text, font, colour);
    }
    void term(const QRectF& rect, float value, float largest) {
        if (!painter_) return;
        const QRgb colour =
            ColourMap::of(ColourMapId::Diverging).at(largest > 0 ? 0.5f + 0.5f * value / largest : 0.5f);
        painter_->fillRect(rect, QColor(colour));
        drawLine(*painter_, rect, Qt::AlignCenter, formatNumber(static_cast<double>(value), 2), theme_.smallFont(),
                 inkOn(colour));
    }
    void paragraph(const QString& text, const QFont& font, const QColor& colour) {
        const QRectF room(left_, y_, std::max(20.0, width_), 10000);
        const int flags = static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWrapAnywhere;
        const QRectF used = QFontMetricsF(font).boundingRect(
            room, static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, text);
        const bool wraps = used.width() <= room.width();
        const QRectF taken = wraps ? used : QFontMetricsF(font).boundingRect(room, flags, text);
        if (painter_) {
            painter_->setFont(font);
            painter_->setPen(colour);
            painter_->drawText(room, wraps ? static_cast<int>(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap : flags,
                               text);
        }
        y_ += std::ceil(taken.height()) + 3;
    }

    QPainter* painter_;
    const FigureTheme& theme_;
    double left_, width_, top_, y_;
};

QString quoted(const std::vector<QString>& labels, int token) {
    const bool isKnown = token >= 0 && static_cast<size_t>(token) < labels.size();
    // Isolates keep a right-to-left token from turning the sentence around.
    return isKnown ? QStringLiteral("“\u2068%1\u2069”").arg(labels[static_cast<size_t>(token)]) : QString();
}

/// The title of a term of the score, or the term's own name if it has no title.
QString titleOf(const ScoreTerm& term) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 7> kTitles{
        {{"position_bias", QT_TRANSLATE_NOOP("attn::CellFigure", "position bias")},
         {"shaw_keys", QT_TRANSLATE_NOOP("attn::CellFigure", "query · relative key")},
         {"xl_content_position", QT_TRANSLATE_NOOP("attn::CellFigure", "query · distance")},
         {"xl_global_content", QT_TRANSLATE_NOOP("attn::CellFigure", "u · key")},
         {"xl_global_position", QT_TRANSLATE_NOOP("attn::CellFigure", "v · distance")},
         {"heads_self", QT_TRANSLATE_NOOP("attn::CellFigure", "penalty for the query's own key")},
         {"mask_factor", QT_TRANSLATE_NOOP("attn::CellFigure", "logarithm of the soft mask")}}};
    const auto found =
        std::ranges::find(kTitles, term.name, [](const auto& entry) { return std::string(entry.first); });
    return found == kTitles.end() ? QString::fromStdString(term.name) : CellFigure::tr(found->second);
}

double weightOf(const CellExplanation& cell) {
    return static_cast<double>(cell.remark.empty() ? cell.probability : cell.displayed);
}

/// @return `before` if both explain the same cell and have a weight, otherwise null
const CellExplanation* comparable(const CellExplanation& cell, const CellExplanation* before) {
    const bool isSame = before && before->site == cell.site && before->head == cell.head &&
                        before->query == cell.query && before->key == cell.key;
    return isSame && !std::isnan(weightOf(cell)) && !std::isnan(weightOf(*before)) ? before : nullptr;
}

void writeChange(Flow& flow, const CellExplanation& cell, const CellExplanation& before) {
    flow.sentence(CellFigure::tr("Original weight %1, changed weight %2, difference %3.")
                      .arg(formatNumber(weightOf(before), 6), formatNumber(weightOf(cell), 6),
                           formatSigned(weightOf(cell) - weightOf(before), 6)));
    if (cell.remark.empty() && before.remark.empty() && !cell.isMasked)
        flow.sentence(CellFigure::tr("Original score %1, changed score %2, difference %3.")
                          .arg(number(before.score), number(cell.score),
                               formatSigned(static_cast<double>(cell.score) - static_cast<double>(before.score), 4)));
}

/// A number in a sum or a product, in brackets if it is negative.
QString inBrackets(float value) {
    const QString text = number(value);
    return value < 0 ? QStringLiteral("(%1)").arg(text) : text;
}

/// "score = q . k / sqrt(D) + position bias = ...", with its numbers.
QString scoreText(const CellExplanation& cell) {
    const auto width = static_cast<double>(cell.q.size());
    // 1e-5: the rounding of a scale in float32.
    const bool isRoot = width > 0 && std::abs(static_cast<double>(cell.scale) * std::sqrt(width) - 1) < 1e-5;
    QString names = isRoot ? QStringLiteral("q . k / sqrt(D)") : CellFigure::tr("scale × q . k"),
            numbers = isRoot ? QStringLiteral("%1 / sqrt(%2)").arg(number(cell.dot)).arg(cell.q.size())
                             : QStringLiteral("%1 × %2").arg(number(cell.scale), inBrackets(cell.dot));
    for (const ScoreTerm& term : cell.terms) {
        names += QStringLiteral(" + ") + titleOf(term);
        numbers += QStringLiteral(" + ") + inBrackets(term.value);
    }
    return CellFigure::tr("score = %1 = %2 = %3").arg(names, numbers, number(cell.score));
}

/// Says how far a contribution moves the residual stream, if the head keeps a share of its output.
QString movesResidual(const std::vector<float>& contribution, double kept) {
    const QString size = QString::number(contribution.size()), length = number(kept * norm(contribution));
    if (kept == 1)
        return CellFigure::tr("After W_O, it moves the residual stream (%1 dimensions) by %2").arg(size, length);
    return CellFigure::tr("After W_O and the head's gate of %1, it moves the residual stream (%2 dimensions) by %3")
        .arg(number(kept), size, length);
}

void write(Flow& flow, const CellFigure& figure, const FigureTheme& theme) {
    const CellExplanation& cell = *figure.explanation;
    QString title = CellFigure::tr("%1%6: query %2 %3, key %4 %5");
    title = title.arg(headTitle({.site = cell.site, .head = cell.head}, figure.site), QString::number(cell.query),
                      quoted(figure.labels, cell.query), QString::number(cell.key),
                      quoted(figure.keyLabels.empty() ? figure.labels : figure.keyLabels, cell.key), figure.condition);
    if (const double weight = weightOf(cell); !std::isnan(weight)) // the result of the arithmetic
        title += CellFigure::tr(": weight %1").arg(formatNumber(weight, 3));
    flow.heading(0, title, theme.text);
    if (const QString alone = figure.aloneText(); !alone.isEmpty()) flow.sentence(alone);
    if (const CellExplanation* other = comparable(cell, figure.before.get())) writeChange(flow, cell, *other);
    if (!cell.remark.empty()) {
        flow.sentence(QString::fromStdString(cell.remark));
        return flow.remark(figure.deviceText());
    }
    if (cell.keyValueHead != cell.head)
        flow.remark(CellFigure::tr("This head reads the keys and values of key/value head %1.").arg(cell.keyValueHead));

    if (!cell.q.empty() && cell.q.size() == cell.k.size() && cell.q.size() == cell.products.size()) {
        flow.heading(1, CellFigure::tr("Query times key, dimension by dimension"), theme.text);
        flow.terms({{QStringLiteral("q"), &cell.q, theme.query},
                    {QStringLiteral("k"), &cell.k, theme.key},
                    {QStringLiteral("q × k"), &cell.products, theme.text}});
        flow.formula(
            CellFigure::tr("q . k = sum of the %1 products = %2").arg(cell.products.size()).arg(number(cell.dot)));
    }
    flow.heading(2, cell.terms.empty() ? CellFigure::tr("Scale") : CellFigure::tr("Scale and added terms"), theme.text);
    flow.formula(scoreText(cell));

    flow.heading(3, CellFigure::tr("Mask"), theme.text);
    if (cell.isMasked) {
        flow.sentence(CellFigure::tr("Masked: %1. The score becomes −∞ and the weight 0.")
                          .arg(QString::fromStdString(cell.maskReason)));
    } else {
        flow.sentence(CellFigure::tr("Visible: the score does not change."));
    }

    flow.heading(4, CellFigure::tr("Softmax over the row"), theme.text);
    if (!cell.rowProbabilities.empty()) flow.rowBars(cell.rowProbabilities, cell.key, theme.prediction);
    if (cell.isMasked) {
        flow.formula(CellFigure::tr("weight = 0"));
    } else {
        flow.formula(CellFigure::tr("weight = e^(score - row maximum) / (row sum) = e^(%1 - %2) / %3 = %4")
                         .arg(number(cell.score), inBrackets(cell.rowMaximum), number(cell.rowSum),
                              formatNumber(static_cast<double>(cell.probability), 6)));
    }
    flow.remark(figure.deviceText());

    if (!cell.v.empty() && cell.v.size() == cell.contribution.size()) {
        flow.heading(5, CellFigure::tr("Contribution to the head's output"), theme.text);
        flow.terms({{QStringLiteral("v"), &cell.v, theme.value},
                    {CellFigure::tr("weight × v"), &cell.contribution, theme.text}});
        flow.formula(CellFigure::tr("length of v: |v| = %1; length of weight × v: %2")
                         .arg(number(norm(cell.v)), number(norm(cell.contribution))));
        if (!cell.residualContribution.empty()) flow.formula(movesResidual(cell.residualContribution, figure.kept));
    }
}

} // namespace

QString CellFigure::aloneText() const {
    if (!explanation || aggregate == HeadAggregate::None) return {};
    return (aggregate == HeadAggregate::Mean
                ? tr("This is head %1 alone; the heatmap shows the mean of the heads of its layer.")
                : tr("This is head %1 alone; the heatmap shows the maximum of the heads of its layer."))
        .arg(headLabel(explanation->site, explanation->head));
}

QString CellFigure::deviceText() const {
    const auto displayed = static_cast<double>(explanation->displayed);
    const QString weight = formatNumber(displayed, 6);
    if (!explanation->remark.empty()) {
        if (std::isnan(displayed)) return tr("This attention forms no pattern, so the heatmap has no such cell.");
        return (isInHeatmap ? tr("The heatmap shows %1, computed by the device.")
                            : tr("The run gives %1, computed by the device."))
            .arg(weight);
    }
    return (isInHeatmap ? tr("The heatmap shows %1, computed by the device; the difference is %2.")
                        : tr("The run gives %1, computed by the device; the arithmetic above differs from it by %2."))
        .arg(weight)
        .arg(std::abs(static_cast<double>(explanation->probability) - displayed), 0, 'g', 2);
}

double CellFigure::heightForWidth(double width, const FigureTheme& theme) const {
    if (!explanation) return 6 * theme.lineHeight();
    Flow flow(nullptr, QRectF(0, 0, width, 0), theme);
    write(flow, *this, theme);
    return std::ceil(flow.height());
}

void CellFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (!explanation) return drawMessage(painter, area, tr("Click a cell of a heatmap to see its arithmetic."), theme);
    const FigurePage page(painter, area, theme);
    Flow flow(&painter, area, theme);
    write(flow, *this, theme);
}

QString CellFigure::csv() const {
    if (!explanation) return {};
    const CellExplanation& cell = *explanation;
    QString text = QStringLiteral("step,index,value\r\n");
    const auto vector = [&](const char* step, const std::vector<float>& values) {
        for (size_t i = 0; i < values.size(); ++i)
            text += QStringLiteral("%1,%2,%3\r\n").arg(QLatin1String(step), QString::number(i), csvNumber(values[i]));
    };
    const auto scalar = [&](const char* step, float value) {
        text += QStringLiteral("%1,,%2\r\n").arg(QLatin1String(step), csvNumber(value));
    };
    vector("q", cell.q);
    vector("k", cell.k);
    vector("product", cell.products);
    scalar("dot", cell.dot);
    scalar("scale", cell.scale);
    for (const ScoreTerm& term : cell.terms) scalar(term.name.c_str(), term.value);
    scalar("score", cell.score);
    scalar("row maximum", cell.rowMaximum);
    scalar("row sum", cell.rowSum);
    scalar("probability", cell.probability);
    vector("v", cell.v);
    vector("contribution", cell.contribution);
    vector("residual contribution", cell.residualContribution);
    vector("row score", cell.rowScores);
    vector("row probability", cell.rowProbabilities);
    return text;
}

std::vector<NumberArray> CellFigure::numbers() const {
    if (!explanation) return {};
    const CellExplanation& cell = *explanation;
    const auto vector = [](const char* name, const std::vector<float>& values) {
        return NumberArray{name, {static_cast<int64_t>(values.size())}, values};
    };
    const auto scalar = [](const char* name, float value) { return NumberArray{name, {}, {value}}; };
    return {vector("q", cell.q),
            vector("k", cell.k),
            vector("product", cell.products),
            scalar("dot", cell.dot),
            scalar("scale", cell.scale),
            scalar("score", cell.score),
            scalar("row_maximum", cell.rowMaximum),
            scalar("row_sum", cell.rowSum),
            scalar("probability", cell.probability),
            vector("v", cell.v),
            vector("contribution", cell.contribution),
            vector("residual_contribution", cell.residualContribution),
            vector("row_score", cell.rowScores),
            vector("row_probability", cell.rowProbabilities)};
}

} // namespace attn
