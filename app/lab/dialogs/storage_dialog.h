#pragma once

#include "engine/inference/storage_choice.h"

#include <QDialog>

#include <functional>

class QLabel;
class QTreeWidget;

namespace attn {

/// Chooses how the weights of a model are kept: shows the memory of each storage and, once it is known, the speed of
/// writing, before anything is loaded.
class StorageDialog : public QDialog {
    Q_OBJECT

public:
    /// @param storage the one that is chosen at first  @param accept text of the button that accepts
    StorageDialog(StorageChoice model, Storage storage, const QString& accept, QWidget* parent);

    Storage storage() const;
    /// Shows the speed that this device allows.
    void setSpeed(const WeightSpeed& speed);
    /// Says that the speed could not be measured.
    void setSpeedUnknown();

private:
    void showSpeeds(const std::function<QString(size_t row)>& textOf);

    StorageChoice model_;
    QTreeWidget* table_;
    QLabel* note_;
};

} // namespace attn
