#pragma once

#include "app/lab/lessons/lesson.h"

#include <QWidget>

class QBoxLayout;
class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QSlider;

namespace attn {

/// An exercise: the student sets three weights, and sees their sum and the weighted average of three value vectors.
class AverageExercise : public QWidget {
    Q_OBJECT

public:
    explicit AverageExercise(QWidget* parent = nullptr);

    /// Restarts the exercise with weight 1 on the first value.
    void setAverage(const LessonAverage& average);
    double weight(size_t index) const;
    double sum() const;
    QPointF output() const; ///< the weighted sum of the values, even if the weights do not sum to 1
    /// Whether the weights sum to 1 and the output is within the tolerance of the target.
    bool isReached(double tolerance) const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();

    LessonAverage average_;
    std::array<QLabel*, 3> labels_{};
    std::array<QSlider*, 3> sliders_{};
    std::array<QDoubleSpinBox*, 3> weights_{};
    QLabel* arithmetic_;
    QBoxLayout* parts_;
    class Plane;
    Plane* plane_;
};

} // namespace attn
