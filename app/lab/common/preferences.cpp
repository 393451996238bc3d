#include "app/lab/common/preferences.h"

#include <QSettings>
#include <QVariantMap>

namespace attn {
namespace {
constexpr int kMaximumRecent = 9; // as many as there are digit keys
constexpr auto kStorageKey = "storages";
} // namespace

QString themeKey(ThemeId theme) {
    return theme == ThemeId::Dark ? "dark" : theme == ThemeId::Projector ? "projector" : "light";
}

ThemeId themeFromKey(const QString& key) {
    return key == "dark" ? ThemeId::Dark : key == "projector" ? ThemeId::Projector : ThemeId::Light;
}

Preferences Preferences::load() {
    const QSettings settings;
    const Preferences initial;
    return {.theme = themeFromKey(settings.value("theme").toString()),
            .textSize = settings.value("textSize", initial.textSize).toInt(),
            .device = settings.value("device").toString(),
            .softwareThreads = settings.value("softwareThreads", initial.softwareThreads).toInt(),
            .kernels = settings.value("kernels", initial.kernels).toString(),
            .autosaves = settings.value("autosaves", initial.autosaves).toBool(),
            .moves = settings.value("moves", initial.moves).toBool()};
}

void Preferences::save() const {
    QSettings settings;
    settings.setValue("theme", themeKey(theme));
    settings.setValue("textSize", textSize);
    settings.setValue("device", device);
    settings.setValue("softwareThreads", softwareThreads);
    settings.setValue("kernels", kernels);
    settings.setValue("autosaves", autosaves);
    settings.setValue("moves", moves);
}

QStringList recentPaths() { return QSettings().value("recent").toStringList(); }

void addRecentPath(const QString& path) {
    QStringList paths = recentPaths();
    paths.removeAll(path);
    paths.prepend(path);
    QSettings().setValue("recent", QVariant(paths.mid(0, kMaximumRecent)));
}

void removeRecentPath(const QString& path) {
    QStringList paths = recentPaths();
    paths.removeAll(path);
    QSettings().setValue("recent", QVariant(paths));
}

void clearRecentPaths() {
    QSettings().remove("recent");
    QSettings().remove(kStorageKey);
}

Storage rememberedStorage(const QString& path) {
    const QString name = QSettings().value(kStorageKey).toMap().value(path).toString();
    return storageNamed(name.toStdString()).value_or(Storage::F32);
}

void rememberStorage(const QString& path, Storage storage) {
    QVariantMap kept;
    const QVariantMap all = QSettings().value(kStorageKey).toMap();
    for (const QString& recent : recentPaths())
        if (all.contains(recent)) kept[recent] = all[recent];
    kept[path] = QString::fromStdString(std::string(storageName(storage)));
    QSettings().setValue(kStorageKey, kept);
}

} // namespace attn
