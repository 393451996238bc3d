#pragma once

#include "engine/core/param.h"

#include <QWidget>

#include <span>
#include <vector>

class QLabel;
class QLineEdit;

namespace attn {

/// A line of text for a list of numbers that a Param describes, such as "2 0 2".
class ListControl : public QWidget {
    Q_OBJECT

public:
    explicit ListControl(const Param& param, QWidget* parent = nullptr);

    /// Shows a list without emitting listChanged(). A typed line with the same meaning stays unchanged.
    void setList(std::span<const double> list);

signals:
    void listChanged(const std::vector<double>& list);

private:
    void read();

    Param param_;
    QLineEdit* line_;
    QLabel* error_;
};

} // namespace attn
