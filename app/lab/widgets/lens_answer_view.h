#pragma once

#include "app/figures/lens_answer.h"

#include <QWidget>

class QLabel;
class QTreeWidget;
class QVBoxLayout;

namespace attn {

class LinesView;
class MatrixView;

/// Shows the result of a lens, and a reading of the cell or place under the pointer.
class LensAnswerView : public QWidget {
    Q_OBJECT

public:
    /// @param name prefix of the object names, its own and those of its parts: "nameAnswer", "nameMatrix", "nameBars",
    /// "nameTable", "nameSummary", "nameReading"
    explicit LensAnswerView(const QString& name, QWidget* parent = nullptr);

    /// @param isChange whether activating a cell adds a change to the model
    void setAnswer(LensAnswer answer, bool isChange);
    const LensAnswer& answer() const { return answer_; }
    void setNotice(const QString& notice); ///< shown before the summary of every answer; empty: none
    void setWaiting(const QString& text);  ///< shown while there is no result
    void setTheme(const FigureTheme& theme);
    /// Inserts a widget of a panel between the summary and the figures.
    void insert(QWidget* widget, int stretch);

    ExportNumbers numbers() const;

signals:
    /// @param cell of the matrix; none: the pointer has left
    void pointedAt(const std::optional<attn::MatrixCell>& cell);
    /// A cell of the matrix was activated by a double click or Return.
    void activated(const attn::MatrixCell& cell);

private:
    void showSummary();
    void showReading();

    LensAnswer answer_;
    bool isChange_ = false;
    QString notice_, waiting_;
    QLabel *summary_, *reading_;
    MatrixView* matrix_;
    LinesView* bars_;
    QTreeWidget* table_;
    QVBoxLayout* column_;
};

} // namespace attn
