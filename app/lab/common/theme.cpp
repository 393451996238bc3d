#include "app/lab/common/theme.h"

#include "app/figures/typeface.h"
#include "app/lab/common/focus_ring.h"
#include "app/lab/common/lab_style.h"

#include <QApplication>
#include <QFile>
#include <QFont>
#include <QFontInfo>

#include <utility>

namespace attn {
namespace {

struct Colours {
    QColor window, base, alternate, text, faint, button, accent, accentText, failure, offer, success;
    QColor border;  ///< a decorative separation
    QColor outline; ///< the visible edge of a button or a field
};

Colours coloursOf(ThemeId theme) {
    switch (theme) {
    case ThemeId::Dark:
        return {"#1d2027", "#15171c", "#1b1e25", "#e7e9ee", "#98a0af", "#2b303a", "#5b9dff",
                "#08101f", "#4a2026", "#2a3346", "#1e3b2b", "#3a404d", "#868e9e"};
    case ThemeId::Projector:
        return {"#ffffff", "#ffffff", "#f0f0f0", "#000000", "#404040", "#f0f0f0", "#0033bb",
                "#ffffff", "#ffd9d9", "#dce6ff", "#d5f5dd", "#000000", "#000000"};
    case ThemeId::Light:
        break;
    }
    return {"#f4f5f8", "#ffffff", "#f4f6fa", "#1c2029", "#626a78", "#ffffff", "#2563d9",
            "#ffffff", "#fde3e3", "#e3ecfd", "#e0f4e6", "#c9ced8", "#7f8796"};
}

/// The system's own size, before any theme has changed it.
qreal systemPointSize() {
    static const qreal size = QApplication::font().pointSizeF() > 0 ? QApplication::font().pointSizeF() : 10.0;
    return size;
}

QString styleSheetOf(ThemeId theme) {
    const Colours c = coloursOf(theme);
    QFile file(":/theme.qss");
    QString sheet = file.open(QFile::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    const std::pair<const char*, QColor> names[] = {
        {"@accentText", c.accentText}, {"@accent", c.accent},   {"@text", c.text},      {"@base", c.base},
        {"@border", c.border},         {"@outline", c.outline}, {"@faint", c.faint},    {"@button", c.button},
        {"@failure", c.failure},       {"@offer", c.offer},     {"@success", c.success}};
    for (const auto& [name, colour] : names) sheet.replace(QLatin1String(name), colour.name());
    return sheet;
}

} // namespace

QPalette themePalette(ThemeId theme) {
    const Colours c = coloursOf(theme);
    QPalette palette;
    const auto paint = [&](const QColor& colour, std::initializer_list<QPalette::ColorRole> roles) {
        for (const QPalette::ColorRole role : roles) palette.setColor(role, colour);
    };
    paint(c.window, {QPalette::Window});
    paint(c.base, {QPalette::Base, QPalette::ToolTipBase});
    paint(c.alternate, {QPalette::AlternateBase});
    paint(c.text, {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText});
    paint(c.faint, {QPalette::PlaceholderText});
    paint(c.button, {QPalette::Button});
    paint(c.accent, {QPalette::BrightText, QPalette::Highlight, QPalette::Link, QPalette::LinkVisited});
    paint(c.accentText, {QPalette::HighlightedText});
    paint(c.border, {QPalette::Midlight});
    paint(c.outline, {QPalette::Mid});
    if (theme == ThemeId::Dark) {
        // Fusion derives bevels and tab lines from these. By default, they would be white for a dark button.
        paint(c.border, {QPalette::Light});
        paint(c.base, {QPalette::Dark});
        paint("#0c0d10", {QPalette::Shadow});
    }
    for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, c.faint);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, c.border);
    return palette;
}

QColor predictionColour(ThemeId theme) {
    return theme == ThemeId::Dark        ? QColor("#f0883e")
           : theme == ThemeId::Projector ? QColor("#c04a00")
                                         : QColor("#b5541c");
}

FigureTheme figureTheme(ThemeId theme) {
    const double size = QFontInfo(QApplication::font()).pixelSize();
    switch (theme) {
    case ThemeId::Dark:
        return FigureTheme::dark(size);
    case ThemeId::Projector:
        return FigureTheme::projector(size);
    case ThemeId::Light:
        break;
    }
    return FigureTheme::light(size);
}

QFont textFont(TextSize size) {
    QFont font = QApplication::font();
    font.setPointSizeF(font.pointSizeF() * textRatio(size));
    font.setWeight(textWeight(size, font.weight()));
    return font;
}

void applyTheme(ThemeId theme, int textSize) {
    const qreal size = systemPointSize() * textSize / 100 * (theme == ThemeId::Projector ? 1.5 : 1.0);
    static bool isStyled = false;
    if (!std::exchange(isStyled, true)) {
        // Without this, widgets with a style sheet keep their initial font.
        QApplication::setAttribute(Qt::AA_UseStyleSheetPropagationInWidgetStyles);
        QApplication::setStyle(new LabStyle);
        new FocusRing(qApp);
    }
    QApplication::setPalette(themePalette(theme));
    QFont font = bundledFont();
    font.setPointSizeF(size);
    font.setWeight(theme == ThemeId::Projector ? QFont::Medium : QFont::Normal);
    QApplication::setFont(font);
    QApplication::setFont(textFont(TextSize::Title), "attn::Heading"); // headings then set their own size
    // With all panels this takes a second. The sheet does not depend on the size of the text.
    if (const QString sheet = styleSheetOf(theme); sheet != qApp->styleSheet()) qApp->setStyleSheet(sheet);
}

} // namespace attn
