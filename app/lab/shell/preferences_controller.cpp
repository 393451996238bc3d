#include "app/lab/shell/preferences_controller.h"

#include "app/lab/common/motion.h"
#include "app/lab/common/theme.h"
#include "app/lab/dialogs/preferences_dialog.h"
#include "app/lab/workbench/workbench.h"

#include <algorithm>
#include <utility>

namespace attn {

PreferencesController::PreferencesController(Preferences preferences, Workbench& bench, QWidget& window)
    : bench_(bench), window_(window), now_(std::move(preferences)) {
    setMotion(now_.moves);
    setTheme(now_.theme);
}

void PreferencesController::set(const Preferences& preferences) {
    now_ = preferences;
    now_.save();
    setMotion(now_.moves);
    setTheme(now_.theme);
}

void PreferencesController::setTheme(ThemeId theme) {
    now_.theme = theme;
    applyTheme(theme, now_.textSize);
    bench_.setTheme(theme);
    emit changed();
}

void PreferencesController::setTextSize(int percent) {
    constexpr int kSmallest = 60, kLargest = 250;
    now_.textSize = std::clamp(percent, kSmallest, kLargest);
    setTheme(now_.theme);
}

void PreferencesController::showDialog() {
    auto* dialog = new PreferencesDialog(now_, &window_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { set(dialog->preferences()); });
    dialog->open();
}

} // namespace attn
