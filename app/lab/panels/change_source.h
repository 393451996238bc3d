#pragma once

#include "app/lab/workbench/workbench.h"

#include <QObject>

class QComboBox;
class QFormLayout;
class QLayout;
class QLineEdit;
class QSpinBox;

namespace attn {

class OtherPictureBox;

/// The rows of the form of changes that choose the run whose values replace or steer: that of a text, or of a picture.
class ChangeSource : public QObject {
    Q_OBJECT

public:
    ChangeSource(QFormLayout& form, Workbench& bench, QWidget* parent);

    /// Shows the rows that a kind of change needs for the open model.
    void show(Intervention::Kind kind);
    /// Sets the source of a change, whose kind is set.
    void describe(Intervention& change) const;
    /// Why a change of this kind cannot be added yet; empty: it can.
    QString problem(Intervention::Kind kind) const;
    /// The text whose run gives the value; empty: the prompt, or a picture.
    QString text() const;

signals:
    void changed();
    void entered(); ///< Return was pressed

private:
    bool isOther(Intervention::Kind kind) const; ///< the value comes from the other picture

    Workbench& bench_;
    QFormLayout& form_;
    QLayout *textRow_, *pictureRow_;
    QLineEdit *text_, *contrast_;
    QSpinBox* token_;
    OtherPictureBox* other_;
    QComboBox* source_;
};

} // namespace attn
