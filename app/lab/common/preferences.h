#pragma once

#include "engine/core/storage.h"

#include <QString>
#include <QStringList>

namespace attn {

enum class ThemeId { Light, Dark, Projector };
QString themeKey(ThemeId theme);
/// @return Light for an unknown key
ThemeId themeFromKey(const QString& key);

/// The user's preferences, kept in QSettings.
struct Preferences {
    ThemeId theme = ThemeId::Light;
    int textSize = 100;       ///< per cent of the theme's own size
    QString device;           ///< index or part of a name, empty: the best one
    int softwareThreads = -1; ///< -1: chosen to suit the open model
    QString kernels = "auto"; ///< "auto", or "shader": no kernels of the processor
    bool autosaves = true;
    bool moves = true; ///< short animations of changes on screen

    bool operator==(const Preferences&) const = default;
    static Preferences load();
    void save() const;
};

/// Recent models and sessions, newest first.
QStringList recentPaths();
void addRecentPath(const QString& path);
void removeRecentPath(const QString& path);
void clearRecentPaths();

/// The storage in which a recent model was opened last; f32 for all others.
Storage rememberedStorage(const QString& path);
void rememberStorage(const QString& path, Storage storage);

} // namespace attn
