#include "app/lab/lessons/average_exercise.h"

#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kStep = 0.05;
constexpr int kSteps = 20;
constexpr double kSumTolerance = 1e-6;
constexpr int kBesideLetters = 70; ///< if there is room for more letters, the plane is beside the weights

QString vectorText(QPointF point) {
    return QStringLiteral("(%1, %2)").arg(point.x(), 0, 'g', 3).arg(point.y(), 0, 'g', 3);
}

} // namespace

/// Shows the value vectors as points in a plane, with their weighted average.
class AverageExercise::Plane : public QWidget {
public:
    using QWidget::QWidget;

    void show(const LessonAverage& average, QPointF output) {
        average_ = average;
        output_ = output;
        update();
    }
    QSize sizeHint() const override { return {240, fontMetrics().height() * 9}; }
    QSize minimumSizeHint() const override { return {160, fontMetrics().height() * 8}; }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QPalette& colours = palette();
        painter.fillRect(rect(), colours.color(QPalette::Base));
        QRectF bounds(0, 0, 1, 1);
        for (const QPointF& value : average_.values) bounds |= QRectF(value, QSizeF(1e-3, 1e-3));
        const double margin = fontMetrics().height() * 1.6;
        const QRectF area = QRectF(rect()).adjusted(margin, margin, -margin, -margin);
        const double scale = std::min(area.width() / bounds.width(), area.height() / bounds.height());
        const auto at = [&](QPointF value) {
            return area.center() + scale * QPointF(value.x() - bounds.center().x(), bounds.center().y() - value.y());
        };
        painter.setPen(colours.color(QPalette::Midlight));
        painter.drawLine(at({bounds.left(), 0}), at({bounds.right(), 0}));
        painter.drawLine(at({0, bounds.top()}), at({0, bounds.bottom()}));
        painter.drawPolygon(QPolygonF{at(average_.values[0]), at(average_.values[1]), at(average_.values[2])});
        const double radius = fontMetrics().height() * 0.35;
        const auto name = [&](QPointF place, const QString& text) {
            const QRectF room(place.x() - 60, place.y() - radius - fontMetrics().height() * 1.1, 120,
                              fontMetrics().height());
            painter.fillRect(painter.boundingRect(room, Qt::AlignCenter, text), colours.color(QPalette::Base));
            painter.drawText(room, Qt::AlignCenter, text); // drawn over the lines of the triangle
        };
        for (size_t i = 0; i < average_.values.size(); ++i) {
            painter.setBrush(colours.color(QPalette::Text));
            painter.setPen(colours.color(QPalette::Text));
            painter.drawEllipse(at(average_.values[i]), radius * 0.7, radius * 0.7);
            name(at(average_.values[i]), average_.labels[i]);
        }
        if (average_.target) {
            painter.setPen(QPen(colours.color(QPalette::Text), 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(at(*average_.target), radius * 1.5, radius * 1.5);
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(colours.color(QPalette::Active, QPalette::Highlight)); // blue, even before the answer
        painter.drawEllipse(at(output_), radius, radius);
    }

private:
    LessonAverage average_;
    QPointF output_;
};

AverageExercise::AverageExercise(QWidget* parent)
    : QWidget(parent), arithmetic_(makeTextLabel("averageArithmetic")), plane_(new Plane(this)) {
    setObjectName("average");
    auto* grid = new QGridLayout;
    grid->setColumnStretch(1, 1);
    for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<size_t>(i);
        auto* label = labels_[at] = plainLabel({}, this);
        auto* slider = sliders_[at] = new QSlider(Qt::Horizontal, this);
        auto* box = weights_[at] = new RangedBox<QDoubleSpinBox>(this);
        named(slider, QStringLiteral("averageSlider%1").arg(i), tr("Weight %1, slider").arg(i + 1),
              tr("The weight of value %1").arg(i + 1));
        slider->setRange(0, kSteps);
        slider->setPageStep(2);
        slider->setMinimumWidth(40);
        named(box, QStringLiteral("averageWeight%1").arg(i), tr("Weight %1").arg(i + 1), slider->toolTip());
        box->setRange(0, 1);
        box->setSingleStep(kStep);
        label->setBuddy(box);
        grid->addWidget(label, i, 0);
        grid->addWidget(slider, i, 1);
        grid->addWidget(box, i, 2);
        connect(slider, &QSlider::valueChanged, this, [box](int position) { box->setValue(position * kStep); });
        connect(box, &QDoubleSpinBox::valueChanged, this, [this, slider](double value) {
            const QSignalBlocker quiet(slider);
            slider->setValue(static_cast<int>(std::lround(value / kStep)));
            refresh();
        });
    }
    plane_->setAccessibleName(tr("The three values and their weighted average"));
    parts_ = makeRow(this, 0, {{makeColumn({grid, arithmetic_, room()}), 1}, {plane_, 1}});
}

void AverageExercise::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool isBeside = width() > kBesideLetters * fontMetrics().averageCharWidth();
    parts_->setDirection(isBeside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    parts_->setStretch(0, isBeside ? 1 : 0); // in a column, the plane fills the remaining height
}

void AverageExercise::setAverage(const LessonAverage& average) {
    average_ = average;
    for (size_t i = 0; i < labels_.size(); ++i) {
        labels_[i]->setText(QStringLiteral("%1 %2").arg(withoutKeys(average.labels[i]), vectorText(average.values[i])));
        const QSignalBlocker quiet(weights_[i]), quietSlider(sliders_[i]);
        weights_[i]->setValue(i == 0 ? 1 : 0);
        sliders_[i]->setValue(i == 0 ? kSteps : 0);
    }
    refresh();
}

double AverageExercise::weight(size_t index) const { return weights_[index]->value(); }

double AverageExercise::sum() const { return weight(0) + weight(1) + weight(2); }

QPointF AverageExercise::output() const {
    return weight(0) * average_.values[0] + weight(1) * average_.values[1] + weight(2) * average_.values[2];
}

bool AverageExercise::isReached(double tolerance) const {
    if (std::abs(sum() - 1) > kSumTolerance) return false;
    const QPointF off = output() - average_.target.value_or(output());
    return std::hypot(off.x(), off.y()) <= tolerance;
}

void AverageExercise::refresh() {
    const bool isOne = std::abs(sum() - 1) <= kSumTolerance;
    QString text = tr("Sum of weights: %1 + %2 + %3 = %4 %5")
                       .arg(weight(0), 0, 'f', 2)
                       .arg(weight(1), 0, 'f', 2)
                       .arg(weight(2), 0, 'f', 2)
                       .arg(sum(), 0, 'f', 2)
                       .arg(isOne ? QStringLiteral("✓") : tr("– it must be 1"));
    text += tr("\nOutput (blue): %1").arg(vectorText(output()));
    if (average_.target) text += tr("\nTarget (ring): %1").arg(vectorText(*average_.target));
    arithmetic_->setText(text);
    plane_->setAccessibleDescription(text);
    plane_->show(average_, output());
}

} // namespace attn
