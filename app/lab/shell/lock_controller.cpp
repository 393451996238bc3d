#include "app/lab/shell/lock_controller.h"

#include "app/lab/dialogs/lock_dialog.h"

namespace attn {

void LockController::setOwn(const ControlLocks& locks) {
    own_ = locks;
    apply();
}

void LockController::setLesson(const std::optional<ControlLocks>& locks) {
    lesson_ = locks;
    apply();
}

void LockController::apply() {
    applyLocks(&window_, inForce());
    emit applied();
}

void LockController::showDialog() {
    auto* dialog = new LockDialog(own_, &window_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { setOwn(dialog->locks()); });
    dialog->open();
}

} // namespace attn
