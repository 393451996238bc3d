#pragma once

#include "app/lab/common/preferences.h"

#include <QSize>
#include <QString>
#include <QStringList>

#include <optional>
#include <variant>

namespace attn {

/// The command line of attention-lab.
struct LaunchOptions {
    QStringList files; ///< to open, as FileController::openFirst() does; empty: the built-in example
    QString prompt;
    QString device;
    QString screenshot; ///< write the first complete picture of the window to this file and quit
    std::optional<QSize> size;
    std::optional<ThemeId> theme;
    QString session;
    QString lesson; ///< a file, or the name or number of a bundled lesson
    bool operator==(const LaunchOptions&) const = default;
};

/// The text and exit code when the program should not start: help, version, or an error in the arguments.
struct LaunchMessage {
    QString text;
    int exitCode = 0;
};

std::variant<LaunchOptions, LaunchMessage> parseLaunchOptions(const QStringList& arguments);

} // namespace attn
