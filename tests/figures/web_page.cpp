#include "app/figures/web_page.h"

#include "app/figures/heatmap_figure.h"
#include "app/figures/plot_figure.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "tests/figures/painting.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace attn;

namespace {

constexpr QSize kWebPage(500, 420);

HeatmapFigure heatmapOfOddTokens() {
    HeatmapFigure figure;
    figure.tile = samples::sharedTile(5);
    figure.queryCount = figure.keyCount = 5;
    figure.setLabels({"<s>", "</script>", "&amp;", "שלום 🙂", "\"quoted\\\u2028"});
    figure.title = "Layer 0, head 0";
    return figure;
}

/// The JSON in the element "data".
QJsonObject dataIn(const QByteArray& html) {
    const QByteArray begin = "<script type=\"application/json\" id=\"data\">";
    const qsizetype from = html.indexOf(begin) + begin.size();
    return QJsonDocument::fromJson(html.mid(from, html.indexOf("</script>", from) - from)).object();
}

} // namespace

TEST_CASE("web page: a heatmap's page holds every weight, token and colour", "[figures]") {
    const HeatmapFigure figure = heatmapOfOddTokens();
    const QByteArray html = webPage(figure, "Attention", {{"Model", "tiny"}}, kWebPage);
    const QJsonObject data = dataIn(html);
    const std::vector<float> values = figure.numbers().front().values;
    REQUIRE(data["values"].toArray().size() == std::ssize(values));
    for (int at = 0; at < 25; ++at) {
        const bool isHidden = qAlpha(figure.cellColours()[static_cast<size_t>(at)]) == 0;
        CHECK(data["values"].toArray()[at].isNull() == isHidden);
        if (!isHidden)
            CHECK(static_cast<float>(data["values"].toArray()[at].toDouble()) == values[static_cast<size_t>(at)]);
        CHECK(data["colours"].toArray()[at].isNull() == isHidden);
    }
    CHECK(data["masked"] == "masked");
    for (int token = 0; token < 5; ++token) {
        const QString name = QString::number(token) + ' ' + figure.queryLabelOf(token);
        CHECK(data["rows"].toArray()[token].toString() == name);
        CHECK(data["columns"].toArray()[token].toString() == name);
    }
}

TEST_CASE("web page: a heatmap has a scale with the numbers of its colour bar", "[figures]") {
    HeatmapFigure figure = heatmapOfOddTokens();
    const auto scaleIn = [&] { return dataIn(webPage(figure, "Attention", {}, kWebPage))["scale"].toObject(); };
    const auto labels = [&] {
        QStringList all;
        for (const QJsonValue& tick : scaleIn()["ticks"].toArray()) all << tick["label"].toString();
        return all.join(' ').toStdString();
    };
    CHECK(labels() == "0 0.5 1");
    CHECK(scaleIn()["title"] == "weight");
    const QJsonArray colours = scaleIn()["colours"].toArray();
    CHECK(colours.first().toString() == QColor(ColourMap::of(figure.colours).at(0.5f / 64)).name());
    CHECK(colours.last().toString() == QColor(ColourMap::of(figure.colours).at(63.5f / 64)).name());
    figure.scale.kind = ScaleKind::Log;
    CHECK(labels() == "≤.0001 .001 .01 .1 1");
    figure.before = figure.tile;
    CHECK(labels() == "−0.01 0 +0.01");
    CHECK(scaleIn()["title"] == "change of weight");
}

TEST_CASE("web page: tokens and names cannot end a script or an element", "[figures]") {
    const QByteArray html =
        webPage(heatmapOfOddTokens(), "<b>\"Mine\"</b>", {{"Model", "</dd><script>alert(1)</script>"}}, kWebPage);
    CHECK(html.count("<script") == 2); // the data, and what draws it
    CHECK(html.count("</script>") == 2);
    CHECK(html.contains("<title>&lt;b&gt;&quot;Mine&quot;&lt;/b&gt;</title>"));
    CHECK_FALSE(html.contains("alert(1)</script>"));
    CHECK_FALSE(html.contains("&amp;\"")); // of the token: not written as it is
    for (const char* outside : {"http://", "https://", "src=", "@import"}) CHECK_FALSE(html.contains(outside));
    CHECK(html.contains("prefers-color-scheme: dark"));
}

TEST_CASE("web page: the page of all heads holds each of them with its words", "[figures]") {
    auto patterns = std::make_shared<PatternGrid>(*samples::grid(2, 3, 4));
    patterns->tiles[2] = {.site = 0, .head = 2}; // the first layer has two heads
    ThumbnailGridFigure figure;
    figure.setGrid(patterns);
    figure.words = {{{"the", "cat", "sat", "down"}, {}}, {{"<b>", "cat", "sat", "down"}, {}}};
    const QByteArray html = webPage(figure, "All heads", {}, kWebPage);
    CHECK(html.count("<script") == 2);
    CHECK(html.contains("id=\"heads\""));
    const QJsonObject data = dataIn(html);
    const QJsonArray heads = data["heads"].toArray(), palette = data["palette"].toArray();
    REQUIRE(heads.size() == 5);
    CHECK(heads[1]["name"] == "L0 H1");
    CHECK(heads[2]["row"] == 1);
    CHECK(heads[4]["column"] == 2);
    CHECK(heads[0]["rows"][1] == "1 cat");
    CHECK(heads[4]["rows"][0] == "0 <b>");
    const HeatmapFigure last = figure.heatmap({.site = 1, .head = 2});
    const std::vector<QRgb> colours = last.cellColours();
    const std::vector<float> values = last.numbers().front().values;
    for (int at = 0; at < 16; ++at) {
        const QJsonValue value = heads[4]["values"][at], colour = heads[4]["colours"][at];
        const auto cell = static_cast<size_t>(at);
        CHECK(value.isNull() == (qAlpha(colours[cell]) == 0));
        if (value.isNull()) continue;
        CHECK(value.toDouble() == Approx(values[cell]).epsilon(1e-5));
        CHECK(palette[colour.toInt()] == QColor(colours[cell]).name());
    }
}

TEST_CASE("web page: another figure is a picture for light and dark, with its numbers", "[figures]") {
    PlotFigure figure;
    figure.title = "Loss";
    figure.lines = {{.label = "run", .points = {{0, 2}, {10, 1.5}}}};
    figure.fitRange();
    const QByteArray html = webPage(figure, "Curves", {}, kWebPage);
    CHECK(html.count("<svg") == 2);
    const QJsonObject data = dataIn(html);
    REQUIRE(data.size() == 1);
    const QJsonObject line = data.begin().value().toObject();
    CHECK(line["values"].toArray() == QJsonArray{0, 2, 10, 1.5});
    CHECK(line["shape"].toArray() == QJsonArray{2, 2});
}
