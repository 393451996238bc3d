#include "app/lab/common/lab_style.h"

#include "app/figures/spacing.h"
#include "app/lab/common/icons.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QLabel>
#include <QPainter>
#include <QStyleOption>

#include <algorithm>

namespace attn {
namespace {

/// Draws an edge inside a rectangle, in the palette's colour for outlines, or fainter for a disabled control.
void drawOutline(QPainter& painter, const QRect& rect, const QStyleOption& option, double radius) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, radius > 0);
    painter.setPen(option.palette.color(option.state & QStyle::State_Enabled ? QPalette::Mid : QPalette::Midlight));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    painter.restore();
}

constexpr double kRadius = 2; ///< of Fusion's corners

} // namespace

LabStyle::LabStyle() : QProxyStyle("Fusion") {}

void LabStyle::polish(QWidget* widget) {
    QProxyStyle::polish(widget);
    if (auto* label = qobject_cast<QLabel*>(widget); label && label->textFormat() == Qt::AutoText)
        label->setTextFormat(Qt::PlainText);
}

void LabStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                             const QWidget* widget) const {
    if (element == PE_FrameFocusRect) {
        if (!qobject_cast<const QAbstractItemView*>(widget)) return; // an item has no widget, so it gets no ring
        painter->save();
        painter->setPen(
            QPen(option->palette.color(QPalette::Highlight), 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(option->rect.adjusted(1, 1, -1, -1));
        painter->restore();
        return;
    }
    if (element == PE_FrameTabWidget) { // Fusion uses the colour of buttons, not the background of figures
        painter->fillRect(option->rect, option->palette.base());
        return drawOutline(*painter, option->rect, *option, 0);
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    switch (element) {
    case PE_PanelButtonCommand:
    case PE_FrameLineEdit:
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck:
        drawOutline(*painter, option->rect, *option, kRadius);
        break;
    case PE_IndicatorRadioButton:
        drawOutline(*painter, option->rect, *option, option->rect.width() / 2.0);
        break;
    case PE_Frame:
        if (option->state & State_Sunken || (widget && widget->inherits("QComboBoxPrivateContainer")))
            drawOutline(*painter, option->rect, *option, 0);
        break;
    case PE_FrameMenu: { // whose frame is drawn as if it were disabled
        QStyleOption frame = *option;
        frame.state |= State_Enabled;
        drawOutline(*painter, option->rect, frame, 0);
        break;
    }
    default:
        break;
    }
}

void LabStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                           const QWidget* widget) const {
    if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option);
        item && element == CE_MenuItem && item->state & State_Selected && item->state & State_Enabled &&
        !item->icon.isNull()) {
        QStyleOptionMenuItem chosen = *item; // otherwise Fusion draws the icon as on the menu's own background
        const int size = proxy()->pixelMetric(PM_SmallIconSize, option, widget);
        chosen.icon = item->icon.pixmap({size, size}, painter->device()->devicePixelRatioF(), QIcon::Selected);
        return QProxyStyle::drawControl(element, &chosen, painter, widget);
    }
    if (element == CE_TabBarTabShape && option->state & State_Selected) {
        QProxyStyle::drawControl(element, option, painter, widget);
        return painter->fillRect(QRect(option->rect.left(), option->rect.top(), option->rect.width(), 2),
                                 option->palette.highlight());
    }
    const auto* dock = qstyleoption_cast<const QStyleOptionDockWidget*>(option);
    if (element != CE_DockWidgetTitle || !dock) return QProxyStyle::drawControl(element, option, painter, widget);
    painter->fillRect(option->rect, option->palette.button());
    painter->fillRect(QRect(option->rect.bottomLeft(), QSize(option->rect.width(), 1)), option->palette.midlight());
    if (widget) painter->setFont(widget->font());
    QRect room = subElementRect(SE_DockWidgetTitleBarText, option, widget);
    room.setLeft(option->rect.left() + spacing::kGap); // as far as the contents of panels
    drawItemText(painter, room, Qt::AlignLeft | Qt::AlignVCenter, option->palette, true,
                 painter->fontMetrics().elidedText(dock->title, Qt::ElideRight, room.width()), QPalette::WindowText);
}

void LabStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                  const QWidget* widget) const {
    QProxyStyle::drawComplexControl(control, option, painter, widget);
    if (control == CC_SpinBox || control == CC_ComboBox) drawOutline(*painter, option->rect, *option, kRadius);
    if (control != CC_Slider) return;
    const QRect handle = subControlRect(CC_Slider, option, SC_SliderHandle, widget);
    drawOutline(*painter, handle, *option, kRadius);
    painter->save();
    painter->setClipRegion(QRegion(option->rect) - handle); // the groove lies below the handle
    drawOutline(*painter, subControlRect(CC_Slider, option, SC_SliderGroove, widget), *option, kRadius);
    painter->restore();
}

QIcon LabStyle::standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const {
    switch (icon) {
    case SP_TitleBarNormalButton:
        return themedIcon("float");
    case SP_TitleBarCloseButton:
    case SP_DockWidgetCloseButton:
    case SP_LineEditClearButton:
        return themedIcon("close");
    default:
        return QProxyStyle::standardIcon(icon, option, widget);
    }
}

int LabStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                        QStyleHintReturn* more) const {
    return hint == SH_DialogButtonBox_ButtonsHaveIcons ? 0 : QProxyStyle::styleHint(hint, option, widget, more);
}

int LabStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    switch (metric) {
    case PM_LayoutLeftMargin:
    case PM_LayoutTopMargin:
    case PM_LayoutRightMargin:
    case PM_LayoutBottomMargin:
    case PM_LayoutHorizontalSpacing:
    case PM_LayoutVerticalSpacing:
    case PM_DockWidgetTitleMargin:
        return spacing::kGap;
    case PM_MenuPanelWidth: // Fusion gives menus no frame, and dark menus would blend into the page
        return 1;
    case PM_TabBarTabHSpace: // with Fusion's, four names do not fit in the column of a small window
        return spacing::kGap * 3 / 2;
    case PM_ButtonIconSize:
    case PM_SmallIconSize:
        return std::max(16, QFontMetrics(QApplication::font()).height());
    default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

} // namespace attn
