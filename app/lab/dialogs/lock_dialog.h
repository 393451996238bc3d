#pragma once

#include "app/lab/common/control_groups.h"

#include <QDialog>

class QComboBox;

namespace attn {

/// Chooses which controls a class may use. Each control group is free, locked or hidden.
class LockDialog : public QDialog {
    Q_OBJECT

public:
    explicit LockDialog(const ControlLocks& locks, QWidget* parent = nullptr);
    ControlLocks locks() const;

private:
    void use(int preset);

    QMap<QString, QComboBox*> choices_;
};

} // namespace attn
