#pragma once

#include "app/lab/common/preferences.h"

#include <QObject>

class QWidget;

namespace attn {

class Workbench;

/// The user's preferences, applied to the program.
class PreferencesController : public QObject {
    Q_OBJECT

public:
    /// @param window parent of the dialog
    PreferencesController(Preferences preferences, Workbench& bench, QWidget& window);

    const Preferences& now() const { return now_; }
    void set(const Preferences& preferences);
    void setTheme(ThemeId theme);
    void setTextSize(int percent); ///< of the theme's own size; the nearest that there is
    void showDialog();

signals:
    void changed();

private:
    Workbench& bench_;
    QWidget& window_;
    Preferences now_;
};

} // namespace attn
