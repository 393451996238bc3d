#pragma once

#include "app/lab/common/preferences.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QSpinBox;

namespace attn {

class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    explicit PreferencesDialog(const Preferences& preferences, QWidget* parent = nullptr);
    Preferences preferences() const;

private:
    QComboBox* theme_;
    QSpinBox* textSize_;
    QComboBox* device_;
    QSpinBox* threads_;
    QComboBox* kernels_;
    QCheckBox *autosaves_, *moves_;
};

} // namespace attn
