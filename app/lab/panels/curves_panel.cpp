#include "app/lab/panels/curves_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/plot_view.h"
#include "app/lab/widgets/side_by_side.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "engine/core/attempt.h"
#include "engine/system/assets.h"
#include "engine/system/folder.h"
#include "engine/training/checkpoint.h"
#include "engine/training/metrics.h"
#include "engine/training/tasks/catalogue.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileInfo>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace attn {
namespace {

constexpr int kRefreshMs = 250;
constexpr int kLeastPlot = 34; ///< characters; narrower plots stand above each other

/// Null if its task is unknown.
const Task* taskOf(const RunListModel::Run& run) {
    const auto& tasks = taskCatalogue();
    const auto task = std::ranges::find_if(tasks, [&](const Task* each) { return each->id == run.recipe.task; });
    return task == tasks.end() ? nullptr : *task;
}

/// What a run measures: "exact match"; empty if its task is unknown.
std::string_view metricOf(const RunListModel::Run& run) {
    const Task* task = taskOf(run);
    return task ? task->metricName : std::string_view();
}

/// The run whose metric is drawn: the open run if it is shown, else the first run that is; null without runs. Others
/// have an axis of their own. @param active folder of the open run
const RunListModel::Run* drawnRun(const std::vector<const RunListModel::Run*>& shown, const QString& active) {
    const RunListModel::Run* chosen = nullptr;
    for (const RunListModel::Run* run : shown)
        if (!chosen || run->folder == active) chosen = run;
    return chosen;
}

std::string_view drawnMetric(const std::vector<const RunListModel::Run*>& shown, const QString& active) {
    const RunListModel::Run* drawn = drawnRun(shown, active);
    return drawn ? metricOf(*drawn) : std::string_view();
}

/// The runs that come with a built-in model: its own, and those of its recipe with one change each.
/// @param problems receives a sentence for each that cannot be read whole
std::vector<RunListModel::Run> recordedRuns(const QString& path, QStringList& problems) {
    const QString prefix = QStringLiteral("builtin:");
    if (!path.startsWith(prefix)) return {};
    namespace fs = std::filesystem;
    const fs::path folder = assetsFolder("models") / path.mid(prefix.size()).toStdString();
    std::vector<fs::path> folders{folder};
    std::error_code ignored; // a model without variants
    std::ranges::copy(entriesOf(folder / "variants", ignored), std::back_inserter(folders));
    std::sort(folders.begin() + 1, folders.end());
    std::vector<RunListModel::Run> runs;
    for (const fs::path& each : folders) {
        if (!fs::exists(each / kMetricsFile, ignored)) continue;
        const auto failure = attempt(each.string(), [&] { // the model itself may be whole
            RecordedMetrics metrics = readMetrics(each);
            runs.push_back({.folder = QString::fromStdString(each.string()),
                            .name = shownText(each.filename().string()),
                            .recipe = readRecipe(each / "recipe.json"),
                            .points = std::move(metrics.points),
                            .isShown = true,
                            .series = runs.size()});
            if (metrics.damage) problems << shownText(metrics.damage->sentence());
        });
        if (failure) problems << shownText(failure->sentence());
    }
    return runs;
}

/// What is exported of a run: its points without the update ratios.
struct ExportedRun {
    QString name;
    std::vector<MetricPoint> points;
};

QString csvOf(const std::vector<ExportedRun>& runs) {
    using namespace metric_names;
    constexpr std::array columns{kLoss, kGradientNorm, kLearningRate, kValidationLoss, kMetric, kHiddenTokens};
    QString text = "run,step";
    for (const char* name : columns) text += ',' + QString(name);
    text += '\n';
    for (const ExportedRun& run : runs)
        for (const MetricPoint& point : run.points) {
            text += QStringLiteral("%1,%2").arg(csvText(run.name), QString::number(point.step));
            for (const char* name : columns) {
                const auto value = point.find(name);
                text += ',' + (value ? QString::number(*value, 'g', 9) : QString());
            }
            text += '\n';
        }
    return text;
}

std::vector<NumberArray> arraysOf(const std::vector<ExportedRun>& runs) {
    std::vector<NumberArray> arrays;
    for (const ExportedRun& run : runs) {
        NumberArray array{.name = run.name.toStdString(), .shape = {std::ssize(run.points), 4}, .values = {}};
        for (const MetricPoint& p : run.points)
            for (const double value : {static_cast<double>(p.step), p[metric_names::kLoss],
                                       p[metric_names::kGradientNorm], p[metric_names::kLearningRate]})
                array.values.push_back(static_cast<float>(value));
        arrays.push_back(std::move(array));
    }
    return arrays;
}

} // namespace

CurvesPanel::CurvesPanel(Workbench& bench, QWidget* parent) : Panel(bench, parent) {
    empty_ = new EmptyState(
        "curvesEmpty", tr("The loss and the metric of training runs appear here. Train a model, or tick a run in the "
                          "Training runs panel."));
    empty_->offerAction("trainPlay", tr("Train a model"));
    logarithmic_ = named(new QCheckBox(tr("Logarithmic loss axis")), "logarithmicLoss", tr("Logarithmic loss axis"),
                         tr("Show the loss on a logarithmic scale"));
    quantity_ = named(new QComboBox, "quantity", tr("Second chart"), tr("Choose what the second chart shows"));
    quantity_->addItem(tr("Task metric"), "metric");
    quantity_->addItem(tr("Learning rate"), "learning_rate");
    quantity_->addItem(tr("Gradient norm"), "gradient_norm");
    quantity_->addItem(tr("Update-to-parameter ratio, by layer"), "update_ratios");
    bundled_ = named(new QCheckBox(tr("Curves that come with the model")), "bundledCurves",
                     tr("Curves that come with the model"),
                     tr("Also show the training curves of the open model and, for some models, of variants of it. "
                        "They appear beside runs of the same task."));
    bundled_->setChecked(true);
    bundled_->hide();
    shownStep_ = makeHintLabel("curvesMoment");
    shownStep_->hide();
    loss_ = identified(new PlotView, "lossChart");
    other_ = identified(new PlotView, "secondChart");
    for (QWidget* plot : std::initializer_list<QWidget*>{loss_, other_}) {
        keepCharacters(plot, kLeastPlot);
        plot->setFocusPolicy(Qt::ClickFocus); // who clicks a chart and exports means the curves
    }
    auto* controls = new FlowLayout;
    controls->addWidget(logarithmic_);
    controls->addWidget(quantity_);
    controls->addWidget(bundled_);
    makeColumn(this, spacing::kGap, {empty_, controls, {new SideBySide(loss_, other_), 1}, shownStep_});
    refresh_.setSingleShot(true);
    refresh_.setInterval(kRefreshMs);
    connect(&refresh_, &QTimer::timeout, this, &CurvesPanel::refresh);
    connect(&bench_.runs(), &RunListModel::curvesChanged, this, [this] {
        if (!refresh_.isActive()) refresh_.start();
    });
    connect(&bench_.training(), &TrainingBridge::shownStepChanged, this, [this] {
        if (!bench_.training().isFollowing())
            refresh();
        else if (!refresh_.isActive())
            refresh_.start();
    });
    connect(logarithmic_, &QCheckBox::toggled, this, &CurvesPanel::refresh);
    connect(quantity_, &QComboBox::currentIndexChanged, this, &CurvesPanel::refresh);
    connect(bundled_, &QCheckBox::toggled, this, &CurvesPanel::refresh);
    followTheme(bench_, loss_, other_);
    refresh();
}

void CurvesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const QString path = QString::fromStdString(snapshot->path());
    if (std::exchange(modelPath_, path) == path) return;
    const bool hadRecorded = !recorded_.empty();
    problems_.clear();
    recorded_ = recordedRuns(path, problems_);
    if (!hadRecorded && recorded_.empty()) return;
    bundled_->setVisible(!recorded_.empty());
    refresh();
}

std::vector<const RunListModel::Run*> CurvesPanel::shownRuns() const {
    std::vector<const RunListModel::Run*> shown;
    for (const RunListModel::Run& run : bench_.runs().runs())
        if (run.isShown) shown.push_back(&run);
    if (!bundled_->isChecked()) return shown;
    const size_t own = shown.size();
    for (const RunListModel::Run& run : recorded_)
        if (own == 0 || std::ranges::any_of(std::span(shown).first(own), [&](const RunListModel::Run* each) {
                return each->recipe.task == run.recipe.task;
            }))
            shown.push_back(&run);
    return shown;
}

std::vector<PlotFigure::Line> CurvesPanel::curvesOf(const QString& quantity) const {
    std::vector<PlotFigure::Line> curves;
    const auto runs = shownRuns();
    const bool isOnly = runs.size() == 1;
    const std::string_view metric = drawnMetric(runs, bench_.runs().active());
    const auto isRecorded = [&](const RunListModel::Run& run) {
        return !recorded_.empty() && &run >= &recorded_.front() && &run <= &recorded_.back();
    };
    const size_t firstFree = bench_.runs().runs().size(); // series of runs that are not in the list
    for (const RunListModel::Run* each : runs) {
        const RunListModel::Run& run = *each;
        const size_t series = run.series + (isRecorded(run) ? firstFree : 0);
        const QString name = isOnly ? QString() : run.name;
        const auto nameOf = [&](const QString& part) {
            return isOnly ? part : QStringLiteral("%1, %2").arg(run.name, part);
        };
        const auto add = [&](const QString& label, bool isDashed, size_t colour, const std::string& measured) {
            PlotFigure::Line curve{.label = label, .colour = seriesColour(colour), .isDashed = isDashed};
            for (const MetricPoint& point : run.points)
                if (const double y = point[measured]; std::isfinite(y))
                    curve.points.emplace_back(static_cast<double>(point.step), y);
            if (!curve.points.empty()) curves.push_back(std::move(curve));
        };

        if (quantity == "loss") {
            add(nameOf(tr("training")), false, series, metric_names::kLoss);
            add(nameOf(tr("validation")), true, series + kSeriesColours / 2, metric_names::kValidationLoss);
        } else if (quantity == "metric") {
            if (metricOf(run) != metric) continue;
            const bool hides = std::ranges::any_of(
                run.points, [](const MetricPoint& p) { return p.find(metric_names::kHiddenTokens).has_value(); });
            add(hides ? nameOf(fromEngine(metric)) : name, false, series, metric_names::kMetric);
            add(nameOf(fromEngine(metricTitle(metric_names::kHiddenTokens))), true, series + kSeriesColours / 2,
                metric_names::kHiddenTokens);
        } else if (quantity == "subtasks") {
            std::set<std::string> names;
            for (const MetricPoint& point : run.points)
                for (const auto& [task, share] : point.under(metric_names::kSubtasks)) names.insert(task);
            for (size_t place = 0; const std::string& task : names)
                add(nameOf(QString::fromStdString(task)), false, place++, metric_names::kSubtasks + task);
        } else if (quantity == "learning_rate") {
            add(name, false, series, metric_names::kLearningRate);
        } else if (quantity == "gradient_norm") {
            add(name, false, series, metric_names::kGradientNorm);
        } else {
            const size_t layers = static_cast<size_t>(run.recipe.architecture.layers) + 1;
            for (size_t part = 0; part < layers; ++part)
                add(nameOf(part == 0 ? tr("embeddings") : tr("layer %1").arg(static_cast<int>(part) - 1)), false, part,
                    metric_names::kUpdateRatios + std::to_string(part));
        }
    }
    return curves;
}

std::optional<CurvesPanel::ShownStep> CurvesPanel::markedStep() const {
    const auto& shownStep = bench_.training().shownStep();
    const int row = shownStep ? bench_.runs().rowOf(shownStep->run) : -1;
    return row >= 0 && bench_.runs().runs()[static_cast<size_t>(row)].isShown ? shownStep : std::nullopt;
}

PlotFigure CurvesPanel::figureOf(const QString& quantity, bool isLogarithmic) const {
    const RunListModel::Run* drawn = quantity == "metric" ? drawnRun(shownRuns(), bench_.runs().active()) : nullptr;
    const Task* task = drawn ? taskOf(*drawn) : nullptr;
    const bool isShare = quantity == "subtasks" || (task && task->measuresShare());
    QString metric = task ? fromEngine(task->metricName) : QString();
    if (!metric.isEmpty()) metric[0] = metric[0].toUpper();
    PlotFigure figure;
    figure.title = quantity == "loss" ? tr("Loss (lower is better)")
                   : metric.isEmpty() ? quantity_->currentText()
                   : isShare          ? metric
                                      : tr("%1 (lower is better)").arg(metric);
    figure.lines = curvesOf(quantity);
    figure.isLogarithmic = isLogarithmic;
    if (const std::optional<ShownStep> shownStep = markedStep()) figure.marked = static_cast<int>(shownStep->step);
    figure.fitRange();
    if (isShare) figure.maximum = 1;
    return figure;
}

QString CurvesPanel::leftOut() const {
    QStringList names;
    const auto shown = shownRuns();
    for (const RunListModel::Run* run : shown)
        if (metricOf(*run) != drawnMetric(shown, bench_.runs().active()))
            names << tr("%1 (%2)").arg(run->name, fromEngine(metricOf(*run)));
    return names.isEmpty()
               ? QString()
               : tr("The second chart leaves out runs that measure something else: %1.").arg(names.join(", "));
}

void CurvesPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    refresh();
}

/// Lists the chart of a text's tasks while a run measures them.
void CurvesPanel::offerSubtasks() {
    const auto measures = [](const RunListModel::Run* run) {
        return std::ranges::any_of(
            run->points, [](const MetricPoint& point) { return !point.under(metric_names::kSubtasks).empty(); });
    };
    const bool isOffered = std::ranges::any_of(shownRuns(), measures);
    const int at = quantity_->findData("subtasks");
    const QSignalBlocker quiet(quantity_);
    if (isOffered && at < 0) quantity_->insertItem(1, tr("Exact match of each task"), "subtasks");
    if (!isOffered && at >= 0) quantity_->removeItem(at);
}

void CurvesPanel::refresh() {
    if (!isVisible()) return; // showEvent refreshes later
    const bool hasCurves = !curvesOf("loss").empty();
    empty_->setVisible(!hasCurves);
    loss_->setVisible(hasCurves);
    other_->setVisible(hasCurves);
    logarithmic_->setEnabled(hasCurves);
    offerSubtasks();
    if (!hasCurves) return;
    const std::optional<ShownStep> shownStep = markedStep();
    QStringList sentences;
    if (shownStep)
        sentences << tr("The views show step %1 of %2.").arg(shownStep->step).arg(QFileInfo(shownStep->run).fileName());
    if (quantity_->currentData() == "metric") sentences << leftOut();
    if (bundled_->isChecked()) sentences << problems_;
    shownStep_->setText(sentences.join(' ').trimmed());
    shownStep_->setVisible(!shownStep_->text().isEmpty());
    loss_->setFigure(figureOf("loss", logarithmic_->isChecked()));
    other_->setFigure(figureOf(quantity_->currentData().toString(), false));
}

QJsonObject CurvesPanel::saveView() const {
    return {{"quantity", quantity_->currentData().toString()},
            {"logarithmic", logarithmic_->isChecked()},
            {"bundled", bundled_->isChecked()}};
}

void CurvesPanel::restoreView(const QJsonObject& view) {
    if (const int index = quantity_->findData(view.value("quantity").toString()); index >= 0)
        quantity_->setCurrentIndex(index);
    logarithmic_->setChecked(view.value("logarithmic").toBool());
    bundled_->setChecked(view.value("bundled").toBool(true));
}

ExportNumbers CurvesPanel::numbers() const {
    std::vector<ExportedRun> shown; // copies: training adds points meanwhile
    for (const RunListModel::Run* each : shownRuns()) {
        const RunListModel::Run& run = *each;
        if (run.points.empty()) continue;
        ExportedRun& copy = shown.emplace_back(ExportedRun{.name = run.name, .points = {}});
        copy.points.reserve(run.points.size());
        for (const MetricPoint& point : run.points) {
            copy.points.push_back(point);
            std::erase_if(copy.points.back().values,
                          [](const auto& value) { return value.first.starts_with(metric_names::kUpdateRatios); });
        }
    }
    if (shown.empty()) return {};
    const auto runs = std::make_shared<const std::vector<ExportedRun>>(std::move(shown));
    return {.csv = [runs] { return csvOf(*runs); }, .arrays = [runs] { return arraysOf(*runs); }};
}

} // namespace attn
