#include "app/figures/export_figure.h"

#include "app/figures/heatmap_figure.h"
#include "tests/figures/painting.h"
#include "tests/support/file_size_limit.h"

#include <QDir>
#include <QFile>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QXmlStreamReader>

using namespace attn;

namespace {

constexpr QSize kExportSize(500, 420);

HeatmapFigure sample() {
    HeatmapFigure figure;
    figure.tile = samples::sharedTile(8);
    figure.setLabels({"<s>", "世界", "😀", "שלום", "␣a", "↵", "naïve", "x"});
    figure.title = "Layer 0, head 0";
    return figure;
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

TEST_CASE("export: a figure with any label is well-formed XML", "[figures]") {
    HeatmapFigure figure = sample();
    QString controls;
    for (char16_t c = 1; c < 0x20; ++c) controls += QChar(c);
    const QString half(QChar(0xd800)), forbidden = QString(QChar(0xfffe)) + QChar(0xffff) + QChar(0);
    figure.setLabels({"<b>&amp;", "a]]>b", controls, half, half + "x", forbidden, "\"'<!--", "<![CDATA["});
    figure.title = "</text><script>" + controls + half + forbidden + "]]>";
    QXmlStreamReader reader(svgOf(figure, FigureTheme::light(), {900, 900}));
    QString text;
    while (!reader.atEnd()) {
        const auto token = reader.readNext();
        CHECK_FALSE((token == QXmlStreamReader::StartElement && reader.name() == QLatin1String("script")));
        if (token == QXmlStreamReader::Characters) text += reader.text();
    }
    INFO(reader.errorString().toStdString());
    CHECK_FALSE(reader.hasError());
    CHECK(text.contains("a]]>b"));
    CHECK(text.contains("</text><script>"));
}

TEST_CASE("export: PNG has twice the pixels of the screen", "[figures]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("figure.PNG");
    REQUIRE_FALSE(exportFigure(sample(), FigureTheme::light(), kExportSize, path));
    const QImage image(path);
    CHECK(image.size() == kExportSize * 2);
}

TEST_CASE("export: SVG draws what the screen shows", "[figures]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("figure.svg");
    const FigureTheme theme = FigureTheme::light();
    const HeatmapFigure figure = sample();
    REQUIRE_FALSE(exportFigure(figure, theme, kExportSize, path));
    QSvgRenderer renderer(path);
    REQUIRE(renderer.isValid());
    QImage image(kExportSize, QImage::Format_ARGB32);
    image.fill(Qt::red);
    QPainter painter(&image);
    renderer.render(&painter, QRectF(QPointF(0, 0), kExportSize));
    painter.end();
    const auto layout = figure.layout(QRectF(QPointF(0, 0), kExportSize), theme);
    for (int query = 0; query < 8; ++query)
        for (int key = 0; key <= query; ++key) {
            const QPoint point = (layout.cellRect({query, key}).topLeft() + QPointF(4, 4)).toPoint();
            CHECK((image.pixel(point) | 0xff000000) ==
                  ColourMap::of(ColourMapId::Viridis).at(samples::weightOf(query, key, 1)));
        }
}

TEST_CASE("export: a heatmap's page has every label, no blanks, and no gaps between cells", "[figures]") {
    constexpr int kTokens = 40;
    HeatmapFigure figure;
    figure.tile = samples::sharedTile(kTokens);
    figure.queryCount = figure.keyCount = kTokens;
    std::vector<QString> labels;
    for (int token = 0; token < kTokens; ++token) labels.push_back(QString("w%1w").arg(token));
    figure.setLabels(labels);
    figure.title = "Layer 0, head 0";
    const FigureTheme theme = FigureTheme::light();
    const QSize page = figure.pageSize(QSizeF(700, 280), theme).toSize();
    const auto at = figure.layout(QRectF(QPointF(), QSizeF(page)), theme);
    CHECK(page.width() - at.bar.right() < 4 * theme.size); // the ticks of the bar
    CHECK(page.height() - at.plot.bottom() < theme.size);

    const QTemporaryDir folder;
    REQUIRE_FALSE(exportFigure(figure, theme, page, folder.filePath("figure.svg")));
    const QByteArray svg = contents(folder.filePath("figure.svg"));
    for (const QString& label : labels) CHECK(svg.count('>' + label.toUtf8() + '<') == 2); // as query and as key

    // Drawn at an odd scale, the paper does not show between two cells of one colour.
    auto even = std::make_shared<PatternTile>(*figure.tile);
    std::ranges::fill(even->values, 1.0f);
    figure.tile = even;
    REQUIRE_FALSE(exportFigure(figure, theme, page, folder.filePath("even.svg")));
    QSvgRenderer renderer(folder.filePath("even.svg"));
    const double scale = 1.37;
    QImage image((QSizeF(page) * scale).toSize(), QImage::Format_ARGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    renderer.render(&painter, QRectF(QPointF(), QSizeF(page) * scale));
    painter.end();
    const QRgb cell = ColourMap::of(ColourMapId::Viridis).at(1);
    const int y = static_cast<int>(at.cellRect({20, 0}).center().y() * scale);
    int others = 0;
    for (int x = static_cast<int>(at.plot.left() * scale) + 3; x < static_cast<int>(at.plot.right() * scale) - 3; ++x)
        others += (image.pixel(x, y) | 0xff000000) != cell;
    CHECK(others == 0);
}

TEST_CASE("export: PDF is one page of the figure's own size", "[figures]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("figure.pdf");
    REQUIRE_FALSE(exportFigure(sample(), FigureTheme::light(), kExportSize, path));
    const QByteArray bytes = contents(path);
    CHECK(bytes.startsWith("%PDF-"));
    CHECK(bytes.contains("/MediaBox [0 0 375")); // 500 px at 96 dpi in points
    CHECK(bytes.count("/Type /Page\n") == 1);
}

TEST_CASE("export: numbers are written as they are shown", "[figures]") {
    const QTemporaryDir folder;
    const HeatmapFigure figure = sample();
    REQUIRE_FALSE(exportCsv(figure, folder.filePath("figure.csv")));
    CHECK(QString::fromUtf8(contents(folder.filePath("figure.csv"))) == figure.csv());
    const auto failure = exportCsv(HeatmapFigure(), folder.filePath("nothing.csv"));
    REQUIRE(failure);
    CHECK_FALSE(failure->hint.empty());
    CHECK_FALSE(QFile::exists(folder.filePath("nothing.csv")));
}

TEST_CASE("export: a path that cannot be written names itself and the remedy", "[figures]") {
    const QTemporaryDir folder;
    const QString missing = folder.filePath("absent/figure.png"), unknown = folder.filePath("figure.bmp");
    for (const QString& path : {missing, unknown}) {
        const auto failure = exportFigure(sample(), FigureTheme::light(), kExportSize, path);
        REQUIRE(failure);
        CHECK(failure->where == path.toStdString());
        CHECK_FALSE(failure->hint.empty());
    }
}

TEST_CASE("export: a full disk is named, and the older file stays", "[figures]") {
    const QTemporaryDir folder;
    for (const char* name : {"figure.png", "figure.svg", "figure.pdf"}) {
        const QString path = folder.filePath(QString::fromLatin1(name));
        REQUIRE_FALSE(exportFigure(sample(), FigureTheme::light(), kExportSize, path));
        const QByteArray before = contents(path);
        {
            const test::FileSizeLimit limit(500);
            const auto failure = exportFigure(sample(), FigureTheme::light(), kExportSize, path);
            REQUIRE(failure);
            CHECK(failure->what == "cannot be written: File too large");
        }
        CHECK(contents(path) == before);
    }
    CHECK(QDir(folder.path()).entryList(QDir::Files).size() == 3);
}
