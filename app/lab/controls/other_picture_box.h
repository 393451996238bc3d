#pragma once

#include "app/lab/workbench/workbench.h"

#include <QComboBox>

namespace attn {

/// Chooses the other picture: changes, activation patching and comparisons take values from its run.
class OtherPictureBox : public QComboBox {
    Q_OBJECT

public:
    OtherPictureBox(const char* id, Workbench& bench);

private:
    void list();
    void choose(const QString& name);

    Workbench& bench_;
};

} // namespace attn
