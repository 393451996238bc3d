#pragma once

#include "app/figures/lines_figure.h"
#include "app/figures/matrix_figure.h"

#include <QStringList>
#include <QWidget>

#include <vector>

class QLabel;
class QTreeWidget;
class QVBoxLayout;

namespace attn {

class LinesView;
class MatrixView;

/// How what a lens found is drawn: as a matrix, as bars, or as a table, each of which may be empty.
struct LensAnswer {
    QString summary;
    MatrixFigure matrix;
    LinesFigure bars;
    QStringList columns;
    std::vector<QStringList> rows;
    /// Of a matrix: what is said of a cell beyond its number; one for each, row-major. Empty: nothing.
    std::vector<QString> remarks;
};

/// An answer, with what is to be said of the cell or the place that is pointed at.
class LensAnswerView : public QWidget {
    Q_OBJECT

public:
    /// @param name of the lens: its parts are called "nameMatrix", "nameBars", "nameTable", "nameSummary",
    /// "nameReading"
    explicit LensAnswerView(const QString& name, QWidget* parent = nullptr);

    /// @param isChange whether a cell that is activated changes the model
    void setAnswer(LensAnswer answer, bool isChange);
    const LensAnswer& answer() const { return answer_; }
    void setSummary(const QString& summary); ///< without changing the rest
    void setWaiting(const QString& text);    ///< what is said while there is no answer
    void setTheme(const FigureTheme& theme);
    /// Puts a widget of a panel between the summary and the figures.
    void insert(QWidget* widget, int stretch);

    QString csv() const;
    std::vector<NumberArray> numbers() const;

signals:
    /// @param cell of the matrix; none when the pointer has left
    void pointedAt(const std::optional<attn::Cell>& cell);
    /// A double click or Return on a cell of the matrix.
    void activated(const attn::Cell& cell);

private:
    void showReading();

    LensAnswer answer_;
    bool isChange_ = false;
    QString waiting_;
    QLabel *summary_, *reading_;
    MatrixView* matrix_;
    LinesView* bars_;
    QTreeWidget* table_;
    QVBoxLayout* column_;
};

} // namespace attn
