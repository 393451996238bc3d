#include "app/lab/dialogs/lock_dialog.h"

#include "app/lab/widgets/widget_makers.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>

namespace attn {

LockDialog::LockDialog(const ControlLocks& locks, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Lock for class"));
    auto* column = new QVBoxLayout(this);
    auto* lead =
        makeTextLabel({}, tr("Choose which controls your class may use, then save the session and hand out the file. "
                             "A locked control is visible but disabled. A hidden control does not appear. "
                             "Open this dialog again to unlock the controls."));
    column->addWidget(lead);
    auto* form = new QFormLayout;
    for (const ControlGroup& group : controlGroups()) {
        const QString title = QCoreApplication::translate("attn::ControlGroup", group.title);
        auto* choice = new QComboBox(this);
        choice->addItems({tr("Free"), tr("Locked"), tr("Hidden")});
        choice->setCurrentIndex(static_cast<int>(locks.value(group.id, ControlState::Free)));
        choice->setAccessibleName(title);
        choice->setToolTip(tr("Lock or hide: %1").arg(title));
        auto* label = plainLabel(title, this);
        label->setBuddy(choice);
        form->addRow(label, choice);
        choices_[group.id] = choice;
    }
    column->addLayout(form);
    auto* buttons =
        new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel | QDialogButtonBox::Reset, this);
    buttons->button(QDialogButtonBox::Reset)->setText(tr("Unlock everything"));
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons->button(QDialogButtonBox::Reset), &QPushButton::clicked, this, [this] {
        for (QComboBox* choice : std::as_const(choices_)) choice->setCurrentIndex(0);
    });
    column->addWidget(buttons);
}

ControlLocks LockDialog::locks() const {
    ControlLocks locks;
    for (auto it = choices_.begin(); it != choices_.end(); ++it)
        if (it.value()->currentIndex() > 0) locks[it.key()] = static_cast<ControlState>(it.value()->currentIndex());
    return locks;
}

} // namespace attn
