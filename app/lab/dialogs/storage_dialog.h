#pragma once

#include "engine/inference/storage_choice.h"

#include <QDialog>

#include <functional>

class QLabel;
class QTreeWidget;

namespace attn {

/// Chooses the storage of a model's weights. Shows the memory for each storage and, when it is known, the speed of
/// writing, before anything is loaded.
class StorageDialog : public QDialog {
    Q_OBJECT

public:
    /// @param storage the initial choice  @param accept text of the button that accepts
    StorageDialog(StorageChoice model, Storage storage, const QString& accept, QWidget* parent);

    Storage storage() const;
    /// Shows the expected speed on this device.
    void setSpeed(const WeightSpeed& speed);
    /// Shows that the speed could not be measured.
    void setSpeedUnknown();

private:
    void showSpeeds(const std::function<QString(size_t row)>& textOf);

    StorageChoice model_;
    QTreeWidget* table_;
    QLabel* note_;
};

} // namespace attn
