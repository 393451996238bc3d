#pragma once

#include <QProxyStyle>

namespace attn {

/// Fusion with outlines that contrast with their background. Fusion's own outline is a shade of the window's colour,
/// faint in a light theme and invisible in a dark one. FocusRing shows the keyboard focus.
class LabStyle : public QProxyStyle {
public:
    LabStyle();

    /// Makes labels, tool tips and boxes show their texts unchanged, unless readsMarkup() was called. By default, Qt
    /// guesses whether a text is markup.
    void polish(QWidget* widget) override;
    using QProxyStyle::polish;

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                            const QWidget* widget) const override;
    QIcon standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* more) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
};

} // namespace attn
