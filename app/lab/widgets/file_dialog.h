#pragma once

#include <QFileDialog>

namespace attn {

/// @return a file dialog that deletes itself when it is closed; connect its signals and call open()
inline QFileDialog* makeFileDialog(QWidget* parent, const QString& title, QFileDialog::FileMode mode) {
    auto* dialog = new QFileDialog(parent, title);
    dialog->setObjectName("fileDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    dialog->setOption(QFileDialog::ShowDirsOnly, mode == QFileDialog::Directory);
    return dialog;
}

} // namespace attn
