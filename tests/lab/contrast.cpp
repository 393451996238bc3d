#include "app/figures/drawing.h"
#include "app/lab/common/theme.h"
#include "app/lab/shell/workspaces.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// @source WCAG 2.1, relative luminance and contrast ratio
double luminance(const QColor& colour) {
    const auto linear = [](double channel) {
        return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const auto [low, high] = std::minmax(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

constexpr double kText = 4.5, kGraphics = 3; // WCAG 2.1, AA: 1.4.3 and 1.4.11

} // namespace

TEST_CASE("lab: text of every theme stands out from its ground by 4.5 to 1, and graphics by 3 to 1", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        const QPalette palette = themePalette(theme);
        const auto check = [&](QPalette::ColorRole ink, QPalette::ColorRole ground, double least) {
            INFO("theme " << themeKey(theme).toStdString() << ", roles " << ink << " on " << ground);
            CHECK(contrast(palette.color(ink), palette.color(ground)) >= least);
        };
        for (const QPalette::ColorRole ground :
             {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button}) {
            check(QPalette::Text, ground, kText);
            check(QPalette::PlaceholderText, ground, kText); // hints, and text of controls that are off
            check(QPalette::Highlight, ground, kGraphics);
        }
        check(QPalette::HighlightedText, QPalette::Highlight, kText);
        check(QPalette::ToolTipText, QPalette::ToolTipBase, kText);
        check(QPalette::Link, QPalette::Window, kText);
        check(QPalette::Link, QPalette::Base, kText);

        const FigureTheme figures = figureTheme(theme);
        for (const QColor& ink : {figures.text, figures.faint, figures.accent, figures.query, figures.key,
                                  figures.value, figures.prediction, predictionColour(theme)}) {
            INFO("theme " << themeKey(theme).toStdString() << ", figures, " << ink.name().toStdString());
            CHECK(contrast(ink, figures.background) >= kText);
            CHECK(contrast(ink, figures.plot) >= kGraphics); // marks and bars over masked cells
        }
    }
}

TEST_CASE("lab: text in cards, banners and buttons of every theme stands out by 4.5 to 1", "[lab]") {
    LabWindow lab;
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        applyTheme(theme, 100);
        const QColor text = themePalette(theme).color(QPalette::Text);
        const QRegularExpression rule("([^{}]+)\\{([^}]*)\\}"), ground("background(?:-color)?: *(#[0-9a-f]{6})"),
            ink("(?:^|[ ;])color: *(#[0-9a-f]{6})");
        int grounds = 0;
        for (auto each = rule.globalMatch(qApp->styleSheet()); each.hasNext();) {
            const auto match = each.next();
            const auto found = ground.match(match.captured(2)), colour = ink.match(match.captured(2));
            if (!found.hasMatch()) continue;
            ++grounds;
            INFO("theme " << themeKey(theme).toStdString() << ", " << match.captured(1).simplified().toStdString());
            CHECK(contrast(colour.hasMatch() ? QColor(colour.captured(1)) : text, QColor(found.captured(1))) >= kText);
        }
        CHECK(grounds > 5);
    }
    applyTheme(ThemeId::Light, 100);
}

namespace {

QRect rectIn(const QWidget& window, const QWidget& widget) {
    return QRect(widget.mapTo(&window, QPoint()), widget.size());
}

/// Calls a function with each theme and every workspace of the window.
template <class See> void inEveryWorkspace(LabWindow& lab, const See& see) {
    for (const char* theme : {"themeLight", "themeDark", "themeProjector"}) {
        lab.action(theme).trigger();
        for (const Workspace& workspace : workspaces()) {
            lab.action((std::string("workspace.") + workspace.id).c_str()).trigger();
            lab.layOut();
            INFO(theme << ", workspace " << workspace.id);
            see();
        }
    }
    lab.action("themeLight").trigger();
}

bool isSeen(const QWidget& widget) {
    return widget.isVisible() && widget.visibleRegion().boundingRect() == widget.rect();
}

/// Whether a control is known by its edge. Others are known by their text, such as an entry of a path, or lie inside
/// one that has an edge, such as the line of a spin box.
bool hasEdge(const QWidget& widget) {
    if (const auto* button = qobject_cast<const QToolButton*>(&widget)) return !button->autoRaise();
    if (qobject_cast<const QAbstractSpinBox*>(widget.parentWidget()) ||
        qobject_cast<const QComboBox*>(widget.parentWidget()))
        return false;
    return qobject_cast<const QPushButton*>(&widget) || qobject_cast<const QLineEdit*>(&widget) ||
           qobject_cast<const QAbstractSpinBox*>(&widget) || qobject_cast<const QComboBox*>(&widget) ||
           qobject_cast<const QTextEdit*>(&widget) || qobject_cast<const QPlainTextEdit*>(&widget) ||
           qobject_cast<const QCheckBox*>(&widget);
}

} // namespace

TEST_CASE("lab: the edges of buttons and fields stand out from their surroundings by 3 to 1", "[lab]") {
    LabWindow lab;
    int count = 0;
    inEveryWorkspace(lab, [&] {
        lab.window().setFocus(); // no ring
        const QImage image = lab.window().grab().toImage();
        for (const QWidget* widget : lab.window().findChildren<QWidget*>()) {
            if (!isSeen(*widget) || !widget->isEnabled() || !hasEdge(*widget)) continue;
            const QRect rect = rectIn(lab.window(), *widget);
            const int middle = rect.center().y();
            const auto edge = [&](int outside, int step) {
                double best = 0;
                for (int x = outside + step, i = 0; i < 3; x += step, ++i)
                    best = std::max(best, contrast(image.pixelColor(outside, middle), image.pixelColor(x, middle)));
                return best;
            };
            INFO(widget->metaObject()->className() << " " << widget->objectName().toStdString());
            CHECK(edge(rect.left() - 1, 1) >= kGraphics);
            if (!qobject_cast<const QCheckBox*>(widget)) CHECK(edge(rect.right() + 1, -1) >= kGraphics);
            ++count;
        }
    });
    CHECK(count > 200);
}

TEST_CASE("lab: the grooves and handles of sliders stand out from their surroundings by 3 to 1", "[lab]") {
    LabWindow lab;
    int count = 0;
    inEveryWorkspace(lab, [&] {
        lab.window().setFocus(); // no ring
        const QImage image = lab.window().grab().toImage();
        for (const QSlider* slider : lab.window().findChildren<QSlider*>()) {
            if (!isSeen(*slider) || !slider->isEnabled()) continue;
            QStyleOptionSlider option;
            option.initFrom(slider);
            option.orientation = slider->orientation();
            option.minimum = slider->minimum();
            option.maximum = slider->maximum();
            option.sliderPosition = option.sliderValue = slider->sliderPosition();
            const auto part = [&](QStyle::SubControl which) {
                const QRect rect = slider->style()->subControlRect(QStyle::CC_Slider, &option, which, slider);
                return rect.translated(slider->mapTo(&lab.window(), QPoint()));
            };
            const QRect handle = part(QStyle::SC_SliderHandle), groove = part(QStyle::SC_SliderGroove);
            const bool isLeft = handle.center().x() < groove.center().x();
            const auto edge = [&](int x, int outside) {
                double best = 0;
                for (int y = outside + 1; y <= outside + 3; ++y)
                    best = std::max(best, contrast(image.pixelColor(x, outside), image.pixelColor(x, y)));
                return best;
            };
            INFO(slider->objectName().toStdString() << ", " << slider->accessibleName().toStdString());
            CHECK(edge(handle.center().x(), handle.top() - 1) >= kGraphics);
            CHECK(edge(isLeft ? groove.right() - 5 : groove.left() + 5, groove.top() - 1) >= kGraphics);
            ++count;
        }
    });
    CHECK(count > 15);
}

TEST_CASE("lab: the chosen one of several buttons has the accent in every theme", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    for (const char* theme : {"themeLight", "themeDark", "themeProjector"}) {
        lab.action(theme).trigger();
        lab.act("workspace.inspect");
        const QPalette palette = QApplication::palette();
        CHECK(contrast(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)) >= kText);
        for (auto* button : lab.window().findChildren<QToolButton*>()) {
            if (!isSeen(*button) || !button->property("segment").toBool()) continue;
            INFO(theme << ", " << button->objectName().toStdString());
            const QColor ground = button->grab().toImage().pixelColor(4, button->height() / 2);
            CHECK((ground == palette.color(QPalette::Highlight)) == button->isChecked());
        }
    }
    lab.action("themeLight").trigger();
}

TEST_CASE("lab: every control that takes the focus then has a ring of 2 pixels and 3 to 1", "[lab]") {
    LabWindow lab;
    int count = 0;
    inEveryWorkspace(lab, [&] {
        QList<QPointer<QWidget>> controls; // some go while others are looked at
        for (QWidget* widget : lab.window().findChildren<QWidget*>()) controls << widget;
        const QColor highlight = QApplication::palette().color(QPalette::Highlight);
        for (const QPointer<QWidget>& widget : controls) {
            if (!widget || !isSeen(*widget) || !widget->isEnabled() || !(widget->focusPolicy() & Qt::TabFocus) ||
                widget->focusProxy())
                continue;
            INFO(widget->metaObject()->className() << " " << widget->objectName().toStdString());
            lab.window().setFocus();
            const QImage before = lab.window().grab().toImage();
            widget->setFocus(Qt::TabFocusReason);
            QCoreApplication::processEvents();
            if (!widget || !isSeen(*widget)) continue; // the button that stops a task, whose task has just ended
            REQUIRE(widget->hasFocus());
            QRect ring;
            for (const QWidget* each : lab.window().findChildren<QWidget*>("focusRing"))
                if (each->isVisible()) ring = rectIn(lab.window(), *each);
            REQUIRE(!ring.isEmpty());
            CHECK(rectIn(lab.window(), *widget).adjusted(-2, -2, 2, 2).contains(ring));
            const QImage after = lab.window().grab().toImage();
            int standsOut = 0;
            for (const int x : {ring.left(), ring.left() + 1, ring.right() - 1, ring.right()}) {
                CHECK(after.pixelColor(x, ring.center().y()) == highlight);
                standsOut += contrast(before.pixelColor(x, ring.center().y()), highlight) >= kGraphics;
            }
            CHECK(standsOut >= 3); // where there is no room around a control, the ring may cover its outline
            ++count;
        }
    });
    CHECK(count > 200);
}

TEST_CASE("lab: the colours of series stand out from the ground of every theme", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector})
        for (size_t series = 0; series < kSeriesColours; ++series) {
            INFO("theme " << themeKey(theme).toStdString() << ", series " << series);
            CHECK(contrast(seriesColour(series), figureTheme(theme).background) >= kGraphics);
        }
}
