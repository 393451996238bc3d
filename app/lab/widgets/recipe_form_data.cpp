// What the recipe form says of the files to learn from.
#include "app/lab/widgets/recipe_form.h"

#include "app/figures/token_label.h"
#include "app/lab/widgets/spec_line.h"
#include "engine/core/attempt.h"
#include "engine/training/recipe.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"

#include <QDirIterator>
#include <QFileInfo>
#include <QGuiApplication>
#include <QLabel>

#include <tuple>
#include <utility>

namespace attn {
namespace {

constexpr int kDataChangedMs = 500; ///< of files to learn from, before they are read again

QFileInfo fileOf(const std::filesystem::path& path) { return QFileInfo(QString::fromStdString(path.string())); }

/// Whether a path names a file or a folder that does not exist. "builtin:" names a text of the program.
bool isMissing(const std::filesystem::path& path) {
    return !path.empty() && !path.string().starts_with("builtin:") && !fileOf(path).exists();
}

/// What a warning says of the files to learn from, and the files and folders whose changes can change it.
struct DataReading {
    std::string warning;
    QStringList watched;
    quint64 stamp = 0; ///< stampOf() the folder of pictures
};

/// A number that changes with any file of a folder, also with one that is overwritten. A watcher would have to watch
/// each of them for that.
/// @param depth of the folders in it, as deep as pictures may lie
quint64 stampOf(const QString& folder, const std::atomic<bool>& isStopped, int depth = 2) {
    quint64 stamp = 0;
    for (QDirIterator each(folder, QDir::AllEntries | QDir::NoDotAndDotDot); each.hasNext() && !isStopped;) {
        const QFileInfo entry = each.nextFileInfo();
        if (!entry.isDir())
            stamp += qHashMulti(0, entry.filePath(), entry.size(), entry.lastModified().toMSecsSinceEpoch());
        else if (depth > 0)
            stamp += stampOf(entry.filePath(), isStopped, depth - 1);
    }
    return stamp;
}

DataReading dataReadingOf(const Recipe& recipe, const std::atomic<bool>& isStopped) {
    DataReading reading;
    const DataSettings& data = recipe.settings.data;
    if (!data.pictures.empty()) // before they are read, so that no change is missed
        reading.stamp = stampOf(QString::fromStdString(data.pictures.string()), isStopped);
    (void)attempt({}, [&] { reading.warning = dataWarning(recipe); }); // training refuses what cannot be read
    QStringList paths{QString::fromStdString(data.text.string())};
    if (!data.pictures.empty()) {
        const QDir pictures(QString::fromStdString(data.pictures.string()));
        paths << pictures.path();
        for (const char* table : {"metadata.csv", "metadata.jsonl", "metadata.tsv"}) paths << pictures.filePath(table);
        for (const QString& part : pictures.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            paths << pictures.filePath(part);
    }
    for (const QString& path : paths)
        if (QFileInfo::exists(path)) reading.watched << path;
    for (const std::filesystem::path& path : {data.text, data.pictures}) // what is missing may come
        if (isMissing(path) && QFileInfo::exists(fileOf(path).path())) reading.watched << fileOf(path).path();
    return reading;
}

} // namespace

void RecipeForm::watchData() {
    changed_.setSingleShot(true);
    changed_.setInterval(kDataChangedMs);
    connect(&changed_, &QTimer::timeout, this, [this] {
        warned_ = {};
        warnOfUnknown();
        lookForData();
    });
    for (const auto signal : {&QFileSystemWatcher::directoryChanged, &QFileSystemWatcher::fileChanged})
        connect(&watcher_, signal, this, [this] {
            if (!changed_.isActive()) changed_.start();
        });
    // Who comes back from another program may have edited pictures there.
    connect(qApp, &QGuiApplication::applicationStateChanged, this, [this](Qt::ApplicationState state) {
        const std::string pictures = warned_.settings.data.pictures.string();
        if (state != Qt::ApplicationActive || pictures.empty() || reading_.isRunning()) return;
        stamping_.start<quint64>(
            pictures,
            [folder = QString::fromStdString(pictures)](const std::atomic<bool>& isStopped) {
                return stampOf(folder, isStopped);
            },
            [this](const std::variant<quint64, Failure>& found) {
                const auto* stamp = std::get_if<quint64>(&found);
                if (stamp && *stamp != stamp_ && !changed_.isActive()) changed_.start();
            });
    });
}

QString RecipeForm::unreadableData() const {
    const DataSettings& from = draft_.settings.data;
    for (const auto& [id, path] :
         {std::pair{"text", from.text}, std::pair{"translation", from.translation}, std::pair{"data", from.pictures}}) {
        const RecipeField& field = *findRecipeField(id);
        if (field.appliesTo && !field.appliesTo(taskNamed(draft_.task))) continue;
        const QString name = shownText(path.filename().string());
        if (isMissing(path)) return tr("“%1” cannot be found. Choose it again, then press Train.").arg(name);
        if (fileOf(path).exists() && !fileOf(path).isReadable())
            return tr("“%1” cannot be read. Choose another one, then press Train.").arg(name);
    }
    return {};
}

void RecipeForm::lookForData() {
    if (std::exchange(unreadable_, unreadableData()) != unreadable_) emit changed();
}

void RecipeForm::warnOfUnknown() {
    const Recipe asked = recipe_.value_or(Recipe{});
    const auto subject = [](const Recipe& recipe) {
        return std::tuple(recipe.start.model, recipe.settings.data, recipe.task, recipe.architecture.attention);
    };
    if (subject(std::exchange(warned_, asked)) == subject(asked)) return;
    showSentence(warning_, {});
    warning_->hide();
    if (const std::string warning = emptyRowsWarning(asked.architecture); !warning.empty())
        return showSentence(warning_, QString::fromStdString(warning));
    reading_.start<DataReading>(
        (asked.settings.data.text.empty() ? asked.settings.data.pictures : asked.settings.data.text).string(),
        [asked](const std::atomic<bool>& isStopped) { return dataReadingOf(asked, isStopped); },
        [this](const std::variant<DataReading, Failure>& found) {
            const auto* reading = std::get_if<DataReading>(&found);
            if (!reading) return;
            stamp_ = reading->stamp;
            if (const QStringList before = watcher_.files() + watcher_.directories(); !before.isEmpty())
                watcher_.removePaths(before);
            if (!reading->watched.isEmpty()) watcher_.addPaths(reading->watched);
            lookForData(); // it may have come before it was watched
            if (!reading->warning.empty()) showSentence(warning_, QString::fromStdString(reading->warning));
        });
}

} // namespace attn
