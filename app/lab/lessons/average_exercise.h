#pragma once

#include "app/lab/lessons/lesson.h"

#include <QWidget>

class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QSlider;

namespace attn {

/// Three weights to set by hand, the sum that they make, and the weighted average of three value vectors drawn among
/// them.
class AverageExercise : public QWidget {
    Q_OBJECT

public:
    explicit AverageExercise(QWidget* parent = nullptr);

    /// Begins anew with all the weight on the first.
    void setAverage(const LessonAverage& average);
    double weight(size_t index) const;
    double sum() const;
    QPointF output() const; ///< the values by their weights, whatever these sum to
    /// The weights sum to 1 and the output is no farther from the target than this.
    bool isReached(double tolerance) const;

private:
    void refresh();

    LessonAverage average_;
    std::array<QLabel*, 3> labels_{};
    std::array<QSlider*, 3> sliders_{};
    std::array<QDoubleSpinBox*, 3> weights_{};
    QLabel* arithmetic_;
    class Plane;
    Plane* plane_;
};

} // namespace attn
