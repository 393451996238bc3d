#include "app/lab/panels/curves_panel.h"

#include "app/lab/common/theme.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/engine_text.h"
#include "engine/training/tasks/catalogue.h"

#include <QChart>
#include <QChartView>
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLegendMarker>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QVBoxLayout>
#include <QValueAxis>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr int kMostPoints = 400; ///< most points of a curve; more are averaged
constexpr int kRefreshMs = 250;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Averages neighbouring points, so that a long run draws as fast as a short one.
QList<QPointF> thinned(const QList<QPointF>& points) {
    if (points.size() <= kMostPoints) return points;
    QList<QPointF> result;
    for (qsizetype i = 0; i < kMostPoints; ++i) {
        const qsizetype begin = i * points.size() / kMostPoints, end = (i + 1) * points.size() / kMostPoints;
        QPointF sum;
        for (qsizetype j = begin; j < end; ++j) sum += points[j];
        result << sum / static_cast<double>(end - begin);
    }
    return result;
}

/// "Exact match", where all runs that are shown measure the same; otherwise empty.
QString sharedMetric(const std::vector<RunListModel::Run>& runs) {
    const auto& tasks = taskCatalogue();
    std::string_view shared;
    for (const RunListModel::Run& run : runs) {
        if (!run.isShown) continue;
        const auto task = std::ranges::find_if(tasks, [&](const Task* each) { return each->id == run.recipe.task; });
        if (task == tasks.end() || (!shared.empty() && shared != (*task)->metricName)) return {};
        shared = (*task)->metricName;
    }
    QString title = fromEngine(shared);
    if (!title.isEmpty()) title[0] = title[0].toUpper();
    return title;
}

/// What is exported of a run: its points without the update ratios.
struct ExportedRun {
    QString name;
    std::vector<MetricPoint> points;
};

QString csvOf(const std::vector<ExportedRun>& runs) {
    QString text = "run,step,loss,gradient_norm,learning_rate,validation_loss,metric\n";
    const auto optional = [](const std::optional<double>& value) {
        return value ? QString::number(*value, 'g', 9) : QString();
    };
    for (const ExportedRun& run : runs)
        for (const MetricPoint& point : run.points)
            text += QStringLiteral("%1,%2,%3,%4,%5,%6,%7\n")
                        .arg(run.name)
                        .arg(point.step)
                        .arg(point.loss, 0, 'g', 9)
                        .arg(point.gradientNorm, 0, 'g', 9)
                        .arg(point.learningRate, 0, 'g', 9)
                        .arg(optional(point.validationLoss), optional(point.metric));
    return text;
}

std::vector<NumberArray> arraysOf(const std::vector<ExportedRun>& runs) {
    std::vector<NumberArray> arrays;
    for (const ExportedRun& run : runs) {
        NumberArray array{.name = run.name.toStdString(), .shape = {std::ssize(run.points), 4}, .values = {}};
        for (const MetricPoint& p : run.points)
            for (const double value : {static_cast<double>(p.step), p.loss, p.gradientNorm, p.learningRate})
                array.values.push_back(static_cast<float>(value));
        arrays.push_back(std::move(array));
    }
    return arrays;
}

} // namespace

CurvesPanel::CurvesPanel(PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    empty_ = new QLabel(tr("Curves appear here. Press Train, or tick one in the Training runs panel."));
    empty_->setProperty("hint", true);
    empty_->setWordWrap(true);
    column->addWidget(empty_);
    auto* row = new QHBoxLayout;
    logarithmic_ = new QCheckBox(tr("Logarithmic loss axis"));
    logarithmic_->setObjectName("logarithmicLoss");
    logarithmic_->setAccessibleName(tr("Logarithmic loss axis"));
    logarithmic_->setToolTip(tr("Show the loss on a logarithmic scale"));
    quantity_ = new QComboBox;
    quantity_->setObjectName("quantity");
    quantity_->setAccessibleName(tr("Second chart"));
    quantity_->setToolTip(tr("Choose what the second chart shows"));
    quantity_->addItem(tr("Task metric"), "metric");
    quantity_->addItem(tr("Learning rate"), "learning_rate");
    quantity_->addItem(tr("Gradient norm"), "gradient_norm");
    quantity_->addItem(tr("Update-to-parameter ratio, by layer"), "update_ratios");
    row->addWidget(logarithmic_);
    row->addStretch(1);
    row->addWidget(quantity_);
    column->addLayout(row);
    loss_ = makeChart("lossChart", tr("Loss"));
    other_ = makeChart("secondChart", tr("Second chart"));
    auto* charts = new QHBoxLayout;
    charts->addWidget(loss_, 1);
    charts->addWidget(other_, 1);
    column->addLayout(charts, 1);
    refresh_.setSingleShot(true);
    refresh_.setInterval(kRefreshMs);
    connect(&refresh_, &QTimer::timeout, this, &CurvesPanel::refresh);
    const auto later = [this] {
        if (!refresh_.isActive()) refresh_.start();
    };
    connect(&context_.runs(), &RunListModel::curvesChanged, this, later);
    connect(logarithmic_, &QCheckBox::toggled, this, &CurvesPanel::refresh);
    connect(quantity_, &QComboBox::currentIndexChanged, this, &CurvesPanel::refresh);
    connect(&context_, &PanelContext::themeChanged, this, &CurvesPanel::showTheme);
    showTheme(context_.theme());
    refresh();
}

QChartView* CurvesPanel::makeChart(const char* name, const QString& title) {
    auto* chart = new QChart;
    chart->setMargins({2, 2, 2, 2});
    chart->setBackgroundRoundness(0);
    chart->setAnimationOptions(QChart::NoAnimation);
    chart->legend()->setAlignment(Qt::AlignRight);
    auto* view = new QChartView(chart, this);
    view->setObjectName(name);
    view->setAccessibleName(title);
    view->setFocusPolicy(Qt::NoFocus);
    view->setRenderHint(QPainter::Antialiasing);
    view->setMinimumSize(150, 110);
    view->setFrameShape(QFrame::NoFrame);
    return view;
}

std::vector<CurvesPanel::Curve> CurvesPanel::curvesOf(const QString& quantity) const {
    std::vector<Curve> curves;
    for (const RunListModel::Run& run : context_.runs().runs()) {
        if (!run.isShown) continue;
        const auto add = [&](const QString& name, bool isDashed, const QColor& colour, auto value) {
            Curve curve{name, colour, isDashed, {}};
            for (const MetricPoint& point : run.points)
                if (const double y = value(point); std::isfinite(y))
                    curve.points << QPointF(static_cast<double>(point.step), y);
            if (!curve.points.isEmpty()) curves.push_back(std::move(curve));
        };

        if (quantity == "loss") {
            add(tr("%1, training").arg(run.name), false, run.colour, [](const MetricPoint& p) { return p.loss; });
            add(tr("%1, validation").arg(run.name), true, run.colour.darker(140),
                [](const MetricPoint& p) { return p.validationLoss.value_or(kNone); });
        } else if (quantity == "metric") {
            add(run.name, false, run.colour, [](const MetricPoint& p) { return p.metric.value_or(kNone); });
        } else if (quantity == "learning_rate") {
            add(run.name, false, run.colour, [](const MetricPoint& p) { return p.learningRate; });
        } else if (quantity == "gradient_norm") {
            add(run.name, false, run.colour, [](const MetricPoint& p) { return p.gradientNorm; });
        } else {
            const size_t layers = static_cast<size_t>(run.recipe.architecture.layers) + 1;
            for (size_t part = 0; part < layers; ++part)
                add(part == 0 ? tr("%1, embeddings").arg(run.name)
                              : tr("%1, layer %2").arg(run.name).arg(static_cast<int>(part) - 1),
                    false, QColor::fromHsvF(std::fmod(0.58 + 0.13 * static_cast<double>(part), 1), 0.75, 0.8),
                    [part](const MetricPoint& p) {
                        return part < p.updateRatios.size() ? p.updateRatios[part] : kNone;
                    });
        }
    }
    return curves;
}

void CurvesPanel::draw(QChartView& view, const QString& quantity, bool isLogarithmic) {
    QChart& chart = *view.chart();
    const std::vector<Curve> curves = curvesOf(quantity);
    // During training only points and ranges change; rebuilding the whole chart takes ten times as long.
    const QList<QAbstractSeries*> shown = chart.series();
    const bool isSame =
        view.property("quantity") == quantity && view.property("isLogarithmic") == isLogarithmic &&
        std::ranges::equal(shown, curves, {}, &QAbstractSeries::name, &Curve::name) &&
        std::ranges::equal(
            shown, curves, {}, [](QAbstractSeries* series) { return static_cast<QLineSeries*>(series)->color(); },
            &Curve::colour);
    if (!isSame) {
        chart.removeAllSeries();
        for (QAbstractAxis* axis : chart.axes()) {
            chart.removeAxis(axis);
            delete axis;
        }
        auto* steps = new QValueAxis;
        steps->setLabelFormat("%d");
        steps->setTickCount(3);
        chart.addAxis(steps, Qt::AlignBottom);
        QAbstractAxis* values = nullptr;
        if (isLogarithmic)
            values = new QLogValueAxis;
        else
            values = new QValueAxis;
        chart.addAxis(values, Qt::AlignLeft);
        for (const Curve& curve : curves) {
            auto* series = new QLineSeries;
            series->setName(curve.name);
            QPen pen(curve.colour, curve.isDashed ? 2 : 1.5);
            if (curve.isDashed) pen.setStyle(Qt::DashLine);
            series->setPen(pen);
            chart.addSeries(series);
            series->attachAxis(steps);
            series->attachAxis(values);
        }
        chart.legend()->setVisible(curves.size() > 1);
        const QString metric = quantity == "metric" ? sharedMetric(context_.runs().runs()) : QString();
        chart.setTitle(quantity == "loss" ? tr("Loss (nats per token)")
                       : metric.isEmpty() ? quantity_->currentText()
                                          : metric);
        view.setProperty("quantity", quantity);
        view.setProperty("isLogarithmic", isLogarithmic);
        showTheme(context_.theme());
    }
    double lastStep = 2, least = std::numeric_limits<double>::max(), most = 0;
    for (size_t i = 0; i < curves.size(); ++i) {
        auto* series = static_cast<QLineSeries*>(chart.series()[static_cast<qsizetype>(i)]);
        QList<QPointF> points = thinned(curves[i].points);
        for (QPointF& point : points) {
            if (isLogarithmic) point.setY(std::max(point.y(), 1e-6));
            lastStep = std::max(lastStep, point.x());
            least = std::min(least, point.y());
            most = std::max(most, point.y());
        }
        series->setPointsVisible(points.size() == 1);
        series->replace(points);
    }
    chart.axes(Qt::Horizontal).front()->setRange(0, lastStep);
    QAbstractAxis* values = chart.axes(Qt::Vertical).front();
    const bool isShare = quantity == "metric" && most <= 1;
    if (auto* linear = qobject_cast<QValueAxis*>(values)) {
        linear->setRange(0, isShare ? 1 : most > 0 ? most * 1.05 : 1);
        linear->setTickCount(3);
        linear->setLabelFormat(most > 0 && most < 0.02 ? "%.1e" : "%.2f");
    } else {
        values->setRange(std::min(least, most * 0.5), std::max(most, least * 2));
        static_cast<QLogValueAxis*>(values)->setLabelFormat("%.3g");
    }
}

void CurvesPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    refresh();
}

void CurvesPanel::refresh() {
    if (!isVisible()) return; // showEvent refreshes later
    const bool hasCurves = !curvesOf("loss").empty();
    empty_->setVisible(!hasCurves);
    loss_->setVisible(hasCurves);
    other_->setVisible(hasCurves);
    logarithmic_->setEnabled(hasCurves);
    if (!hasCurves) return;
    draw(*loss_, "loss", logarithmic_->isChecked());
    draw(*other_, quantity_->currentData().toString(), false);
}

void CurvesPanel::showTheme(ThemeId theme) {
    const QPalette palette = themePalette(theme);
    const QColor text = palette.color(QPalette::Text), line = palette.color(QPalette::Mid);
    for (QChartView* view : {loss_, other_}) {
        QChart& chart = *view->chart();
        chart.setBackgroundBrush(palette.color(QPalette::Base));
        chart.setTitleBrush(text);
        chart.setTitleFont(font());
        chart.legend()->setLabelColor(text);
        chart.legend()->setFont(font());
        for (QAbstractAxis* axis : chart.axes()) {
            axis->setLabelsColor(text);
            axis->setLabelsFont(font());
            axis->setGridLineColor(line);
            axis->setLinePenColor(line);
        }
    }
}

QJsonObject CurvesPanel::saveView() const {
    return {{"quantity", quantity_->currentData().toString()}, {"logarithmic", logarithmic_->isChecked()}};
}

void CurvesPanel::restoreView(const QJsonObject& view) {
    if (const int index = quantity_->findData(view.value("quantity").toString()); index >= 0)
        quantity_->setCurrentIndex(index);
    logarithmic_->setChecked(view.value("logarithmic").toBool());
}

ExportNumbers CurvesPanel::numbers() const {
    std::vector<ExportedRun> shown; // copies: training adds points meanwhile
    for (const RunListModel::Run& run : context_.runs().runs()) {
        if (!run.isShown || run.points.empty()) continue;
        ExportedRun& copy = shown.emplace_back(ExportedRun{.name = run.name, .points = {}});
        copy.points.reserve(run.points.size());
        for (const MetricPoint& point : run.points)
            copy.points.push_back({.step = point.step,
                                   .loss = point.loss,
                                   .gradientNorm = point.gradientNorm,
                                   .learningRate = point.learningRate,
                                   .validationLoss = point.validationLoss,
                                   .metric = point.metric,
                                   .updateRatios = {}});
    }
    if (shown.empty()) return {};
    const auto runs = std::make_shared<const std::vector<ExportedRun>>(std::move(shown));
    return {.csv = [runs] { return csvOf(*runs); }, .arrays = [runs] { return arraysOf(*runs); }};
}

} // namespace attn
