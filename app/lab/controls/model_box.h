#pragma once

#include "engine/models/structure.h"

#include <QComboBox>

namespace attn {

class RunListModel;

/// Asks for a model: a path that is typed, or chosen from the models that come with the program and the training runs.
class ModelBox : public QComboBox {
    Q_OBJECT

public:
    /// @param id the name of its line; that of the list is `id` and "List"
    ModelBox(const QString& id, const QString& title, const RunListModel& runs, QWidget* parent = nullptr);

    QString path() const { return currentText(); }
    void setPath(const QString& path) { setEditText(path); }
    /// Lists the models of the program that read an input of this kind.
    void setInput(AxisKind axis);
    /// Opens a dialog for a folder or a file.
    void browse(bool forFolder);

signals:
    /// A path was chosen, or Return pressed.
    void pathChosen();

private:
    void completeName();
    void list();

    const RunListModel& runs_;
    AxisKind axis_ = AxisKind::Tokens;
};

} // namespace attn
