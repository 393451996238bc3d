#pragma once

#include "engine/core/param.h"

#include <QWidget>

#include <span>
#include <vector>

class QAbstractButton;
class QDoubleSpinBox;
class QLabel;
class QSlider;

namespace attn {

/// Controls generated from Params: a check box for a toggle, a slider and a number for others. If a slider would be too
/// coarse (as for seeds), there is only a number.
class ParamControls : public QWidget {
    Q_OBJECT

public:
    explicit ParamControls(std::span<const Param> params, QWidget* parent = nullptr);

    double value(std::string_view id) const;
    /// Shows a value without emitting valueChanged().
    void setValue(std::string_view id, double value);
    /// Sets the upper end of a number's range without emitting valueChanged().
    /// @pre the new maximum does not change hasSlider()
    void setMaximum(std::string_view id, double maximum);
    /// Whether a parameter has few enough values for a slider.
    static bool hasSlider(const Param& param);
    /// Shows or hides a control.
    void setShown(std::string_view id, bool on);
    /// Enables a control, or disables it because it has no effect now.
    void setUsable(std::string_view id, bool on);

signals:
    void valueChanged(const QString& id, double value);

private:
    struct Control {
        Param param;
        QLabel* label = nullptr;
        QAbstractButton* toggle = nullptr;
        QSlider* slider = nullptr;
        QDoubleSpinBox* number = nullptr;
    };

    Control& control(std::string_view id);
    int sliderPosition(const Param& param, double value) const;

    std::vector<Control> controls_;
};

} // namespace attn
