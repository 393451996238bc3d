#include "app/lab/models/run_list_model.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "engine/io/run_folder.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/training_summary.h"

#include <QDir>
#include <QFileInfo>
#include <QFont>
#include <QUuid>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

namespace attn {
namespace {

constexpr const char* kAside = ".deleted";
constexpr int kChangedMs = 500; ///< of what other programs write, before it is read

/// The oldest first.
QStringList foldersIn(const QString& folder) {
    const QDir directory(folder);
    QStringList folders;
    for (const QString& name : directory.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Time | QDir::Reversed))
        folders << directory.filePath(name);
    return folders;
}

} // namespace

RunListModel::RunListModel(QString folder, QObject* parent) : QAbstractTableModel(parent), folder_(std::move(folder)) {
    removeDeleted();
    changed_.setSingleShot(true);
    changed_.setInterval(kChangedMs);
    connect(&changed_, &QTimer::timeout, this, &RunListModel::readChanged);
    connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, &RunListModel::notice);
    connect(&watcher_, &QFileSystemWatcher::fileChanged, this,
            [this](const QString& file) { notice(QFileInfo(file).path()); });
    listing_.start<Listing>(
        folder_.toStdString(),
        [folder = folder_](const std::atomic<bool>& isStopped) { return read(foldersIn(folder), isStopped); },
        [this](std::variant<Listing, Failure> result) {
            if (auto* failure = std::get_if<Failure>(&result))
                problems_ << shownText(failure->sentence());
            else
                addListed(std::get<Listing>(std::move(result)));
            for (const Run& run : runs_) watch(run.folder);
            emit listed();
            notice(folder_); // it is watched only from then on
        });
}

/// Removes runs that earlier sessions deleted. Runs that this session deletes go to another place.
void RunListModel::removeDeleted() {
    const QString old = QStringLiteral("%1/%2.%3").arg(folder_, kAside, QUuid::createUuid().toString(QUuid::Id128));
    QDir().rename(folder_ + "/" + kAside, old);
    clearing_.start<bool>(
        folder_.toStdString(),
        [folder = folder_](const std::atomic<bool>& isStopped) {
            const QDir directory(folder);
            const QString pattern = QString::fromLatin1(kAside) + ".*"; // those of ended programs too
            for (const QString& each : directory.entryList({pattern}, QDir::Dirs | QDir::Hidden))
                if (!isStopped) QDir(directory.filePath(each)).removeRecursively();
            return true;
        },
        [](const std::variant<bool, Failure>&) {});
}

RunListModel::Listing RunListModel::read(const QStringList& folders, const std::atomic<bool>& isStopped) {
    Listing listing;
    for (const QString& each : folders) {
        if (isStopped) break;
        const std::filesystem::path path = each.toStdString();
        std::error_code error;
        if (!std::filesystem::exists(path / "recipe.json", error) && !error) continue; // not a training run
        try {
            Recipe recipe = readRecipe(path / "recipe.json");
            RecordedMetrics metrics = readMetrics(path);
            if (metrics.damage) listing.problems << shownText(metrics.damage->sentence());
            listing.runs.push_back({.folder = each,
                                    .name = QFileInfo(each).fileName(),
                                    .recipe = std::move(recipe),
                                    .points = std::move(metrics.points),
                                    .isShown = false});
        } catch (const std::exception& problem) { // damaged, forbidden or from a newer program: leave it as it is
            listing.problems << shownText(problem.what());
        }
    }
    return listing;
}

/// Adds the listed runs below those that have started meanwhile.
void RunListModel::addListed(Listing listing) {
    problems_ = std::move(listing.problems);
    std::erase_if(listing.runs, [this](const Run& run) { return rowOf(run.folder) >= 0; });
    if (listing.runs.empty()) return;
    const int at = rowCount();
    beginInsertRows({}, at, at + static_cast<int>(listing.runs.size()) - 1);
    for (Run& run : listing.runs) {
        run.series = freeSeries();
        runs_.insert(runs_.begin() + at, std::move(run)); // the newest first
    }
    endInsertRows();
}

void RunListModel::watch(const QString& run) {
    const QString metrics = run + "/" + kMetricsFile;
    for (const QString& path : {run, metrics})
        if (QFileInfo::exists(path)) watcher_.addPath(path); // a file that was replaced is watched no longer
}

void RunListModel::notice(const QString& folder) {
    if (folder == written_) return;
    touched_.insert(folder);
    if (!changed_.isActive()) changed_.start();
}

void RunListModel::readChanged() {
    if (listing_.isRunning() || reading_.isRunning()) return changed_.start();
    QString parent = folder_; // or the nearest one, until it is made
    while (!QFileInfo::exists(parent) && QFileInfo(parent).path() != parent) parent = QFileInfo(parent).path();
    watcher_.addPath(parent);
    QStringList folders;
    for (const QString& each : foldersIn(folder_))
        if (rowOf(each) < 0 || touched_.contains(each)) folders << each;
    touched_.clear();
    for (const QString& each : folders) watch(each); // also one that is no run yet
    if (folders.isEmpty()) return;
    reading_.start<Listing>(
        folder_.toStdString(), [folders](const std::atomic<bool>& isStopped) { return read(folders, isStopped); },
        [this](std::variant<Listing, Failure> result) {
            if (auto* listing = std::get_if<Listing>(&result)) takeChanged(std::move(*listing));
        });
}

/// Takes what another program has written into runs.
void RunListModel::takeChanged(Listing listing) {
    bool isSeen = false; // in lists or curves
    for (Run& run : listing.runs) {
        if (run.folder == written_ || !QFileInfo::exists(run.folder)) continue; // this program writes or moved it
        const int row = rowOf(run.folder);
        if (row < 0) {
            insert(std::move(run));
            isSeen = true;
            continue;
        }
        Run& known = runs_[static_cast<size_t>(row)];
        known.recipe = std::move(run.recipe);
        known.points = std::move(run.points);
        emit dataChanged(index(row, 0), index(row, ColumnCount - 1));
        isSeen |= known.isShown;
    }
    if (isSeen) emit curvesChanged();
    const auto count = problems_.size();
    for (const QString& problem : listing.problems)
        if (!problems_.contains(problem)) problems_ << problem;
    if (problems_.size() != count) emit problemsChanged();
}

int RunListModel::insert(Run run) {
    run.series = freeSeries();
    beginInsertRows({}, 0, 0); // the newest first
    runs_.insert(runs_.begin(), std::move(run));
    endInsertRows();
    return 0;
}

size_t RunListModel::freeSeries() const {
    for (size_t series = 0; series < kSeriesColours; ++series)
        if (std::ranges::find(runs_, series, &Run::series) == runs_.end()) return series;
    return runs_.size();
}

int RunListModel::rowOf(const QString& folder) const {
    const auto found = std::ranges::find(runs_, folder, &Run::folder);
    return found == runs_.end() ? -1 : static_cast<int>(found - runs_.begin());
}

QString RunListModel::newFolder(const QString& task) const {
    QString folder = folder_ + "/" + task;
    for (int i = 2; QFileInfo::exists(folder) || rowOf(folder) >= 0; ++i)
        folder = QStringLiteral("%1/%2-%3").arg(folder_, task, QString::number(i));
    return folder;
}

int RunListModel::add(const QString& folder, const Recipe& recipe) {
    int row = rowOf(folder);
    if (row < 0) row = insert({folder, QFileInfo(folder).fileName(), recipe, {}, false, {}});
    runs_[static_cast<size_t>(row)].recipe = recipe;
    runs_[static_cast<size_t>(row)].isShown = true;
    emit dataChanged(index(row, 0), index(row, ColumnCount - 1));
    emit curvesChanged();
    return row;
}

void RunListModel::append(const QString& folder, const std::vector<MetricPoint>& points) {
    const int row = rowOf(folder);
    if (row < 0 || points.empty()) return;
    Run& run = runs_[static_cast<size_t>(row)];
    std::erase_if(run.points, [&](const MetricPoint& point) { return point.step >= points.front().step; });
    run.points.insert(run.points.end(), points.begin(), points.end());
    emit dataChanged(index(row, StepColumn), index(row, MetricColumn));
    if (run.isShown) emit curvesChanged();
}

void RunListModel::addRecorded(const std::filesystem::path& folder) {
    const Recipe recipe = readRecipe(folder / "recipe.json");
    const RecordedMetrics metrics = readMetrics(folder);
    const QString run = QString::fromStdString(folder.string());
    add(run, recipe);
    append(run, metrics.points);
    if (!metrics.damage) return;
    problems_ << shownText(metrics.damage->sentence());
    emit problemsChanged();
}

QString RunListModel::putAside(int row) {
    const Run& run = runs_[static_cast<size_t>(row)];
    const QString place = QStringLiteral("%1/%2/%3").arg(folder_, kAside, QString::number(aside_.size())),
                  aside = place + "/" + run.name;
    QDir().mkpath(place);
    if (QFileInfo::exists(run.folder) && !QDir().rename(run.folder, aside)) return {};
    aside_[aside] = take(row);
    emit curvesChanged();
    return aside;
}

RunListModel::Run RunListModel::take(int row) {
    beginRemoveRows({}, row, row);
    Run run = std::move(runs_[static_cast<size_t>(row)]);
    runs_.erase(runs_.begin() + row);
    endRemoveRows();
    return run;
}

void RunListModel::withdraw(const QString& folder) {
    const int row = rowOf(folder);
    if (row < 0 || QFileInfo::exists(folder)) return;
    take(row);
    emit curvesChanged();
}

bool RunListModel::restore(const QString& aside) {
    const auto found = aside_.find(aside);
    if (found == aside_.end()) return false;
    Run run = found->second;
    run.folder = newFolder(run.name);
    run.name = QFileInfo(run.folder).fileName();
    if (!QDir().rename(aside, run.folder)) return false;
    setShown(insert(std::move(run)), true);
    return true;
}

bool RunListModel::rename(int row, const QString& name) {
    Run& run = runs_[static_cast<size_t>(row)];
    if (name == run.name) return true;
    const QString folder = QFileInfo(run.folder).path() + "/" + name;
    if (name.isEmpty() || name.startsWith('.') || name.contains('/') || name.contains('\\') ||
        QFileInfo::exists(folder) || !QDir().rename(run.folder, folder))
        return false;
    run.folder = folder;
    run.name = name;
    emit dataChanged(index(row, NameColumn), index(row, NameColumn));
    emit curvesChanged();
    return true;
}

void RunListModel::setShown(int row, bool shown) {
    runs_[static_cast<size_t>(row)].isShown = shown;
    emit dataChanged(index(row, NameColumn), index(row, NameColumn));
    emit curvesChanged();
}

void RunListModel::setActive(const QString& folder) {
    if (std::exchange(active_, folder) == folder) return;
    if (!runs_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    emit activeChanged(folder);
    emit curvesChanged();
}

void RunListModel::setWritten(const QString& folder) {
    const QString before = std::exchange(written_, folder);
    if (before == folder) return;
    if (!before.isEmpty()) watch(before); // another program may continue it
    emit writtenChanged(folder);
}

int RunListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(runs_.size());
}

int RunListModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant RunListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const Run& run = runs_[static_cast<size_t>(index.row())];
    if (role == Qt::FontRole && run.folder == active_) {
        QFont font;
        font.setBold(true);
        return font;
    }
    if (role == Qt::ToolTipRole) return run.folder;
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>(
            (index.column() < StepColumn || index.column() == StartColumn ? Qt::AlignLeft : Qt::AlignRight) |
            Qt::AlignVCenter);
    if (index.column() == NameColumn) {
        if (role == Qt::CheckStateRole) return run.isShown ? Qt::Checked : Qt::Unchecked;
        if (role == Qt::DecorationRole) return seriesColour(run.series);
        if (role == Qt::EditRole) return run.name;
    }
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case NameColumn:
        return run.name;
    case TaskColumn:
        return QString::fromStdString(run.recipe.task);
    case StartColumn: {
        const std::string& start = run.recipe.start.model;
        return start.empty() ? tr("new parameters") : shownText(titleOfModel(start));
    }
    case StepColumn:
        return run.points.empty() ? QVariant(0) : QVariant(qlonglong(run.points.back().step));
    case LossColumn:
        return run.points.empty() ? QString() : formatMeasured(run.points.back()[metric_names::kLoss], 4);
    default:
        break;
    }
    std::optional<double> metric;
    for (auto point = run.points.rbegin(); point != run.points.rend() && !metric; ++point)
        metric = point->find(metric_names::kMetric);
    if (!metric) return QString();
    const auto& tasks = taskCatalogue();
    const auto task = std::ranges::find_if(tasks, [&](const Task* t) { return t->id == run.recipe.task; });
    const bool isShare = task != tasks.end() && (*task)->measuresShare();
    return isShare ? formatPercent(*metric) : formatMeasured(*metric, 4);
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (index.column() != NameColumn) return false;
    if (role == Qt::CheckStateRole) {
        setShown(index.row(), value.toInt() == Qt::Checked);
        return true;
    }
    return role == Qt::EditRole && !isInUse(runs_[static_cast<size_t>(index.row())].folder) &&
           rename(index.row(), value.toString().trimmed());
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.column() != NameColumn) return flags;
    const bool isFixed = index.row() < rowCount() && isInUse(runs_[static_cast<size_t>(index.row())].folder);
    return flags | Qt::ItemIsUserCheckable | (isFixed ? Qt::NoItemFlags : Qt::ItemIsEditable);
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const bool isHelp = role == Qt::ToolTipRole;
    const std::pair<QString, QString> titles[] = {
        {tr("Run"), tr("Name of the run and the colour of its curves. Tick it to show them")},
        {tr("Task"), tr("The task that the model learns")},
        {tr("Step"), tr("Updates of the parameters so far")},
        {tr("Loss"), tr("How surprised the model is by the right answers, at the last step: minus the logarithm of "
                        "their probability, on average. 0 is perfect")},
        {tr("Metric"), tr("The task's own measure, such as the share of answers that are all right")},
        {tr("Start"), tr("What training started from: new parameters, or a model that is trained further")}};
    if (section >= ColumnCount) return {};
    return isHelp ? titles[section].second : titles[section].first;
}

} // namespace attn
