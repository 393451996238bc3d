#include "app/lab/common/icons.h"
#include "app/lab/common/theme.h"
#include "app/lab/shell/workspaces.h"
#include "app/lab/widgets/elided_label.h"
#include "tests/lab/lab_window.h"

#include <fmt/format.h>

using namespace attn;

TEST_CASE("lab: the window uses the bundled typeface at every text size", "[lab]") {
    LabWindow lab;
    for (const int size : {60, 100, 250}) {
        applyTheme(ThemeId::Light, size);
        for (const QWidget* widget : {static_cast<QWidget*>(&lab.window()), lab.window().findChild<QWidget*>("run")}) {
            CHECK(QFontInfo(widget->font()).family() == "Attention Lab Sans");
            const QFontMetrics metrics(widget->font());
            for (const char digit : std::string("123456789"))
                CHECK(metrics.horizontalAdvance(QLatin1Char(digit)) == metrics.horizontalAdvance('0'));
        }
    }
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("lab: all text of the window has one of four sizes", "[lab]") {
    LabWindow lab;
    for (const int textSize : {0, 100, 140}) {
        if (textSize > 0) applyTheme(ThemeId::Light, textSize); // 0: as the window was made
        std::set<int> allowed;                                  // in hundredths of a point
        for (const TextSize size : {TextSize::Caption, TextSize::Body, TextSize::Title, TextSize::Headline})
            allowed.insert(qRound(100 * textFont(size).pointSizeF()));
        CHECK(allowed.size() == 4);
        int count = 0;
        std::set<int> used;
        for (const Workspace& workspace : workspaces()) {
            lab.act((std::string("workspace.") + workspace.id).c_str());
            for (const QString& id : workspace.main + workspace.above + workspace.below) {
                lab.showPanel(id.toLatin1().constData());
                for (const QWidget* widget : lab.window().findChildren<QWidget*>()) {
                    if (!widget->isVisible()) continue;
                    ++count;
                    used.insert(qRound(100 * widget->font().pointSizeF()));
                    INFO("workspace " << workspace.id << ", panel " << id.toStdString() << ", "
                                      << widget->metaObject()->className() << " "
                                      << widget->objectName().toStdString());
                    const int size = qRound(100 * widget->font().pointSizeF());
                    INFO("size " << size << ", text size " << textSize);
                    CHECK(allowed.contains(size));
                }
            }
        }
        CHECK(count > 500);
        CHECK(used.size() == 3); // captions are drawn
    }
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("lab: no label of one line is cut off when the text grows in a small window", "[lab]") {
    LabWindow lab;
    lab.window().resize(1024, 672);
    applyTheme(ThemeId::Projector, 100);
    int count = 0;
    for (const Workspace& workspace : workspaces()) {
        lab.act((std::string("workspace.") + workspace.id).c_str());
        for (const QString& id : workspace.main + workspace.above + workspace.below) {
            lab.showPanel(id.toLatin1().constData());
            REQUIRE(lab.settle());
            for (const auto* label : lab.window().findChildren<QLabel*>()) {
                const bool isElided = dynamic_cast<const ElidedLabel*>(label);
                if (!label->isVisible() || label->wordWrap() || isElided || label->text().isEmpty()) continue;
                ++count;
                INFO("panel " << id.toStdString() << ": " << label->text().toStdString());
                CHECK(label->width() >= label->QLabel::sizeHint().width());
            }
        }
    }
    CHECK(count > 100);
    applyTheme(ThemeId::Light, 100);
}

// The promise is 100 ms, which "[.measure]" prints: no test depends on how fast or how busy the machine is. Time went
// where controls took the new size again and again, so the test counts that.
TEST_CASE("measure: a step of text size", "[.measure]") {
    LabWindow lab;
    for (const char* step : {"textLarger", "textSmaller", "textLarger", "textSmaller", "textLarger", "textSmaller"}) {
        QElapsedTimer time;
        time.start();
        lab.action(step).trigger();
        lab.layOut();
        lab.window().repaint();
        fmt::print("{} {} ms\n", step, time.elapsed());
    }
}

TEST_CASE("lab: a step of text size reaches every control, each of them once or twice", "[lab]") {
    /// Counts how often controls take a font.
    class FontChanges : public QObject {
    public:
        std::map<const QObject*, int> counts;
        bool eventFilter(QObject* watched, QEvent* event) override {
            if (event->type() == QEvent::FontChange) ++counts[watched];
            return false;
        }
    } changes;
    LabWindow lab;
    const qreal before = QApplication::font().pointSizeF();
    const QList<QWidget*> widgets = lab.window().findChildren<QWidget*>();
    std::map<const QWidget*, qreal> sizes;
    for (const QWidget* widget : widgets) sizes[widget] = widget->font().pointSizeF();
    qApp->installEventFilter(&changes);
    lab.action("textLarger").trigger();
    lab.layOut();
    lab.window().repaint();
    qApp->removeEventFilter(&changes);
    CHECK(changes.counts.size() > 100);
    int most = 0;
    for (const auto& [control, count] : changes.counts) most = std::max(most, count);
    CHECK(most <= 2);
    const qreal factor = QApplication::font().pointSizeF() / before;
    CHECK(factor > 1.05);
    for (const QWidget* widget : lab.window().findChildren<QWidget*>()) {
        if (!sizes.contains(widget) || !widget->isVisible()) continue;
        INFO(widget->metaObject()->className() << " " << widget->objectName().toStdString());
        CHECK(widget->font().pointSizeF() == Approx(sizes[widget] * factor));
    }
    // The title of a dock is drawn by the style.
    auto& dock = lab.find<QDockWidget>("dock.generate");
    const auto inkOfTitle = [&] {
        const QImage image = dock.grab(QRect(0, 0, dock.width(), dock.fontMetrics().height() + 8)).toImage();
        int right = 0;
        for (int x = 0; x < image.width() - 60; ++x)
            for (int y = 1; y < image.height() - 2; ++y)
                if (qGray(image.pixel(x, y)) < 100) right = x;
        return right;
    };
    const int small = inkOfTitle();
    for (int i = 0; i < 3; ++i) lab.act("textLarger");
    CHECK(inkOfTitle() > 1.15 * small);
    lab.act("textNormal");
}

TEST_CASE("lab: icons take the colours of the theme, also beside a chosen and a disabled entry", "[lab]") {
    LabWindow lab;
    const auto inkOf = [](const QIcon& icon, QIcon::Mode mode) {
        const QImage image = icon.pixmap(QSize(48, 48), 1, mode).toImage().convertToFormat(QImage::Format_ARGB32);
        QColor ink;
        int most = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (qAlpha(image.pixel(x, y)) > most) {
                    most = qAlpha(image.pixel(x, y));
                    ink = QColor(image.pixel(x, y));
                }
        return ink;
    };
    for (const char* theme : {"themeDark", "themeLight", "themeProjector"}) {
        lab.action(theme).trigger();
        const QPalette palette = QApplication::palette();
        for (const char* name : {"new", "saveSession", "undo", "copyLink", "step", "trainPlay", "find"}) {
            INFO(theme << ", " << name);
            const QIcon icon = lab.action(name).icon();
            REQUIRE_FALSE(icon.isNull());
            CHECK(inkOf(icon, QIcon::Normal) == palette.color(QPalette::WindowText));
            CHECK(inkOf(icon, QIcon::Selected) == palette.color(QPalette::HighlightedText));
            CHECK(inkOf(icon, QIcon::Disabled) == palette.color(QPalette::Disabled, QPalette::WindowText));
        }
        CHECK(inkOf(lab.find<QPushButton>("run").icon(), QIcon::Normal) == palette.color(QPalette::HighlightedText));
    }
    lab.action("themeLight").trigger();
}

TEST_CASE("lab: every icon of the program is drawn, and used", "[lab]") {
    makeApplication(QDir::tempPath());
    QString sources;
    for (QDirIterator each(ATTN_SOURCE_DIR "/app/lab", {"*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
         each.hasNext();) {
        QFile file(each.next());
        REQUIRE(file.open(QFile::ReadOnly));
        sources += QString::fromUtf8(file.readAll());
    }
    const QStringList names = QDir(":/icons").entryList({"*.svg"});
    CHECK(names.size() > 20);
    for (const QString& file : names) {
        const QString name = file.chopped(4);
        INFO(name.toStdString());
        CHECK(sources.contains('"' + name + '"'));
        QImage image(24, 24, QImage::Format_ARGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        themedIcon(name).paint(&painter, image.rect());
        painter.end();
        int ink = 0;
        for (int y = 0; y < 24; ++y)
            for (int x = 0; x < 24; ++x) ink += qGray(image.pixel(x, y)) < 128;
        CHECK(ink > 8);
    }
}

TEST_CASE("look: an accented button that is disabled has no ground of its own", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        applyTheme(theme, 100);
        QWidget window;
        auto* next = new QPushButton("Next", &window);
        next->setProperty("primary", true);
        window.resize(next->sizeHint() + QSize(20, 20));
        next->setGeometry(QRect(QPoint(10, 10), next->sizeHint()));
        next->setEnabled(false);
        const QImage image = window.grab().toImage();
        CAPTURE(themeKey(theme).toStdString());
        CHECK(image.pixelColor(15, 15).rgb() == image.pixelColor(2, 2).rgb());
        next->setEnabled(true);
        CHECK(window.grab().toImage().pixelColor(15, 15).rgb() == qApp->palette().color(QPalette::Highlight).rgb());
    }
    applyTheme(ThemeId::Light, 100);
}

TEST_CASE("look: the icon of an accented button can be seen while the button is disabled", "[lab]") {
    makeApplication(QDir::tempPath());
    for (const ThemeId theme : {ThemeId::Light, ThemeId::Dark, ThemeId::Projector}) {
        applyTheme(theme, 100);
        const QImage image =
            themedIcon("play", QPalette::HighlightedText).pixmap(QSize(24, 24), QIcon::Disabled).toImage();
        CAPTURE(themeKey(theme).toStdString(), image.pixelColor(12, 12).name().toStdString());
        CHECK(image.pixelColor(12, 12).rgb() == qApp->palette().color(QPalette::Disabled, QPalette::ButtonText).rgb());
    }
    applyTheme(ThemeId::Light, 100);
}
