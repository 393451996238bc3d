#include "app/lab/widgets/cost_view.h"

#include "app/lab/widgets/plot_grid.h"
#include "app/lab/widgets/widget_makers.h"

#include <QProgressBar>
#include <QPushButton>

namespace attn {
namespace {

enum Plot : size_t { Pairs, Operations, Memory, Time };

QString qt(const std::string& text) { return QString::fromStdString(text); }

constexpr qsizetype kMaskLetters = 20; ///< letters in the name of a line

/// The mask of an attention, as the name of its line.
QString maskOf(const AttentionSpec& spec) {
    const QString mask = qt(spec.mask.text());
    return mask.size() > kMaskLetters ? mask.left(kMaskLetters - 1) + QStringLiteral("…") : mask;
}

/// @return the attention `text` with the heads of `spec`, if they combine, so that the comparison is fair
AttentionSpec withHeadsOf(const AttentionSpec& spec, const char* text) {
    AttentionSpec result = AttentionSpec::parse(text);
    result.parts[Slot::Heads] = spec.parts.at(Slot::Heads);
    return check(result).empty() ? result : AttentionSpec::parse(text);
}

} // namespace

CostView::CostView(QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, spacing::kTight, 0, 0);
    run_ = helped(new QPushButton(tr("Measure")), "measureCost",
                  tr("Run each attention on the device at every length that finishes within a few seconds"));
    progress_ = spoken(new QProgressBar, "costProgress", tr("Progress of the measurement"));
    progress_->setRange(0, 1000);
    progress_->setTextVisible(false);
    progress_->setMaximumWidth(160);
    progress_->hide();
    remark_ = makeHintLabel("costRemark");
    column->addLayout(makeRow({run_, progress_, {remark_, 1}}));
    legend_ = readsMarkup(makeTextLabel("costLegend"));
    legend_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(legend_);
    const std::array titles{tr("Pairs of query and key"), tr("Operations"), tr("Memory"), tr("Time")};
    const std::array units{tr("visible pairs, all heads"), tr("floating-point, by formula"), tr("MiB, by formula"),
                           tr("ms, measured")};
    for (size_t plot = 0; plot < plots_.size(); ++plot) {
        plots_[plot] = identified(new FigureView<PlotFigure>, QStringLiteral("costPlot%1").arg(plot));
        PlotFigure figure;
        figure.title = titles[plot];
        figure.valueTitle = units[plot];
        figure.placeTitle = tr("tokens");
        figure.isLogarithmic = true;
        plots_[plot]->setFigure(std::move(figure));
    }
    auto* grid = new PlotGrid("costPlots");
    grid->setPlots({plots_.begin(), plots_.end()});
    column->addWidget(grid, 1);
    connect(run_, &QPushButton::clicked, this, [this] {
        if (measured_ && measured_->isRunning) return emit cancelled();
        query_.measures = true;
        emit queryChanged();
    });
}

void CostView::setSpecs(const std::vector<AttentionSpec>& specs, int64_t width) {
    CostQuery next{.specs = specs, .width = width};
    next.specs.push_back(withHeadsOf(specs.front(), "mask=causal"));
    next.specs.push_back(withHeadsOf(specs.front(), "normaliser=linear, mask=causal"));
    if (next.specs == query_.specs && next.width == query_.width) return;
    if (measured_ && measured_->isRunning) emit cancelled();
    query_ = std::move(next);
    formulas_ = measured_ = nullptr;
    refresh();
    emit queryChanged(); // asks for the formulas
}

void CostView::showCosts(const std::shared_ptr<const CostSnapshot>& snapshot) {
    if (snapshot->query.specs != query_.specs || snapshot->query.width != query_.width) return;
    (snapshot->query.measures ? measured_ : formulas_) = snapshot;
    refresh();
}

void CostView::refresh() {
    QStringList names{tr("A: %1").arg(maskOf(query_.specs.front()))};
    if (query_.specs.size() == 4) names << tr("B: %1").arg(maskOf(query_.specs[1]));
    names << tr("causal") << tr("linear, causal");
    QStringList lines;
    for (qsizetype spec = 0; spec < names.size() && spec < static_cast<qsizetype>(query_.specs.size()); ++spec)
        lines << QStringLiteral("<b>%1</b> %2")
                     .arg(names[spec].toHtmlEscaped(),
                          qt(query_.specs[static_cast<size_t>(spec)].text()).toHtmlEscaped());
    legend_->setText(lines.join(QStringLiteral("<br>")));

    const bool isRunning = measured_ && measured_->isRunning;
    run_->setText(isRunning ? tr("Stop") : measured_ ? tr("Measure again") : tr("Measure"));
    progress_->setVisible(isRunning);
    if (isRunning) progress_->setValue(static_cast<int>(measured_->progress * 1000));
    QStringList remarks;
    for (const auto& snapshot : {formulas_, measured_}) {
        if (!snapshot) continue;
        if (snapshot->failure) remarks << qt(snapshot->failure->sentence());
        for (size_t spec = 0; spec < snapshot->costs.size() && snapshot == formulas_; ++spec)
            if (!snapshot->costs[spec].empty() && snapshot->costs[spec].front().pairs == 0)
                remarks << tr("%1 has no pairs: no query meets a single key")
                               .arg(names.value(static_cast<qsizetype>(spec)));
        for (size_t spec = 0; spec < snapshot->remarks.size(); ++spec)
            if (!snapshot->remarks[spec].empty())
                remarks << QStringLiteral("%1: %2").arg(names.value(static_cast<qsizetype>(spec)),
                                                        qt(snapshot->remarks[spec]));
    }
    if (measured_ && !measured_->device.empty()) remarks << tr("measured on %1").arg(qt(measured_->device));
    remark_->setText(
        remarks.isEmpty()
            ? tr("Lengths from %1 to %2 tokens, heads of width %3.").arg(query_.from).arg(query_.to).arg(query_.width)
            : remarks.join(QStringLiteral("; ")));

    for (size_t plot = 0; plot < plots_.size(); ++plot) {
        const auto& source = plot == Time ? measured_ : formulas_;
        PlotFigure figure = plots_[plot]->figure();
        figure.lines.clear();
        figure.lengths.clear();
        for (int64_t tokens = query_.from; tokens <= query_.to; tokens *= 2)
            figure.lengths.push_back(static_cast<int>(tokens));
        figure.note = plot == Time && !measured_ ? tr("Press Measure to run them on this machine.") : QString();
        for (size_t spec = 0; source && spec < source->costs.size(); ++spec) {
            PlotFigure::Line line{.label = names.value(static_cast<qsizetype>(spec))};
            for (const AttentionCost& cost : source->costs[spec]) {
                const double value = plot == Pairs        ? cost.pairs
                                     : plot == Operations ? cost.operations
                                     : plot == Memory     ? cost.bytes / 1048576
                                                          : cost.milliseconds.value_or(0);
                if (value > 0) line.points.emplace_back(cost.tokens, value); // a logarithmic axis has no zero
            }
            if (!line.points.empty()) figure.lines.push_back(std::move(line));
        }
        figure.fitRange();
        plots_[plot]->setFigure(std::move(figure));
    }
}

void CostView::setTheme(const FigureTheme& theme) {
    for (auto* plot : plots_) plot->setTheme(theme);
}

const Figure& CostView::current() const { return plots_[measured_ ? Time : Operations]->figure(); }

} // namespace attn
