#include "app/figures/web_page.h"

#include "app/figures/export_figure.h"
#include "app/figures/figure_theme.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/thumbnail_grid_figure.h"

#include <QCoreApplication>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <cmath>

namespace attn {
namespace {

struct WebPageText {
    Q_DECLARE_TR_FUNCTIONS(attn::WebPage)
};

constexpr auto kStyle = R"(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1c1e; --faint: #6b6b70; --plot: #d9d9de; }
@media (prefers-color-scheme: dark) { :root { --paper: #1e1f22; --ink: #ececef; --faint: #a0a0a8; --plot: #3a3b40; } }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 .5rem; }
#reading { min-height: 1.5em; font-variant-numeric: tabular-nums; }
canvas { display: block; max-width: 100%; cursor: crosshair; }
#heads { display: grid; gap: 4px; width: max-content; max-width: 100%; overflow: auto; }
#heads button { padding: 2px; border: 2px solid transparent; background: none; color: inherit; font-size: .7rem; }
#heads button[aria-pressed=true] { border-color: var(--ink); }
#heads canvas { width: 56px; height: 56px; cursor: pointer; image-rendering: pixelated; background: var(--plot); }
svg { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--faint); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .light { display: none; } }
@media (prefers-color-scheme: light) { .dark { display: none; } }
)";

/// Draws the heatmap from the element "data", or small ones of all heads of which a click draws one large. The pointer
/// or the arrow keys choose a cell, whose numbers it shows.
constexpr auto kHeatmapScript = R"js(
const page = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("heatmap"), reading = document.getElementById("reading");
const pen = canvas.getContext("2d");
let data, rows, columns, cell, text, chosen = null, left = 0, top_ = 0;
function show(head) {
    data = head;
    rows = data.rows.length;
    columns = data.columns.length;
    cell = Math.max(2, Math.min(40, Math.floor(900 / Math.max(rows, columns))));
    text = Math.max(9, Math.min(13, cell));
    choose(-1, -1);
}
function thumbnail(head, number) {
    const button = document.createElement("button"), small = document.createElement("canvas");
    small.width = head.columns.length;
    small.height = head.rows.length;
    const ink = small.getContext("2d");
    head.colours.forEach((colour, at) => {
        if (colour === null) return;
        ink.fillStyle = paint(colour);
        ink.fillRect(at % small.width, Math.floor(at / small.width), 1, 1);
    });
    button.append(small, head.name);
    button.style.gridRow = head.row + 1;
    button.style.gridColumn = head.column + 1;
    button.setAttribute("aria-pressed", number === 0);
    button.addEventListener("click", () => {
        for (const each of button.parentNode.children) each.setAttribute("aria-pressed", each === button);
        document.getElementById("head").textContent = head.title;
        show(head);
    });
    return button;
}
const paint = colour => page.palette ? page.palette[colour] : colour;
const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function draw() {
    pen.font = text + "px system-ui, sans-serif";
    const widest = names => Math.ceil(Math.min(160, Math.max(...names.map(name => pen.measureText(name).width)) + 8));
    left = widest(data.rows);
    top_ = widest(data.columns);
    const bar = {x: left + columns * cell + 2 * text, width: text, height: Math.max(rows * cell, 8 * text)};
    const ticks = Math.max(...data.scale.ticks.map(tick => pen.measureText(tick.label).width));
    const width = Math.ceil(bar.x + Math.max(bar.width + 8 + ticks, pen.measureText(data.scale.title).width)) + 1;
    const height = top_ + bar.height + Math.ceil(text / 2) + 1, ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = ink("--plot");
    pen.fillRect(left, top_, columns * cell, rows * cell);
    for (let row = 0; row < rows; ++row)
        for (let column = 0; column < columns; ++column) {
            const colour = data.colours[row * columns + column];
            if (colour === null) continue;
            pen.fillStyle = paint(colour);
            pen.fillRect(left + column * cell, top_ + row * cell, cell, cell);
        }
    pen.font = text + "px system-ui, sans-serif";
    pen.textBaseline = "middle";
    data.scale.colours.forEach((colour, at, all) => {
        const end = Math.round(bar.height * at / all.length);
        pen.fillStyle = colour;
        pen.fillRect(bar.x, top_ + bar.height - Math.round(bar.height * (at + 1) / all.length), bar.width,
                     Math.round(bar.height * (at + 1) / all.length) - end);
    });
    pen.fillStyle = ink("--ink");
    pen.textAlign = "left";
    for (const tick of data.scale.ticks) {
        const y = top_ + bar.height * (1 - tick.place);
        pen.fillRect(bar.x + bar.width, y - .5, 4, 1);
        pen.fillText(tick.label, bar.x + bar.width + 7, y);
    }
    pen.fillText(data.scale.title, bar.x, top_ - 1.3 * text);
    const step = Math.ceil(text / cell);
    for (let row = 0; row < rows; ++row) {
        const isChosen = chosen && chosen[0] === row;
        if (!isChosen && row % step) continue;
        pen.fillStyle = ink(isChosen || !chosen ? "--ink" : "--faint");
        pen.textAlign = "right";
        pen.fillText(data.rows[row], left - 4, top_ + (row + .5) * cell, left - 6);
    }
    const isFlat = data.columns.every(name => pen.measureText(name).width <= cell - 4);
    for (let column = 0; column < columns; ++column) {
        const isChosen = chosen && chosen[1] === column;
        if (!isChosen && column % step) continue;
        pen.save();
        pen.translate(left + (column + .5) * cell, top_ - (isFlat ? text : 4));
        if (!isFlat) pen.rotate(-Math.PI / 2);
        pen.fillStyle = ink(isChosen || !chosen ? "--ink" : "--faint");
        pen.textAlign = isFlat ? "center" : "left";
        pen.fillText(data.columns[column], 0, 0, top_ - 6);
        pen.restore();
    }
    if (!chosen) return;
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 2;
    pen.strokeRect(left + chosen[1] * cell, top_ + chosen[0] * cell, cell, cell);
}
function choose(row, column) {
    const isCell = row >= 0 && column >= 0 && row < rows && column < columns;
    chosen = isCell ? [row, column] : null;
    const value = isCell ? data.values[row * columns + column] : null;
    reading.textContent = !isCell ? data.help
        : data.query + " " + data.rows[row] + " → " + data.key + " " + data.columns[column] + ": "
          + (value === null ? data.masked : value.toFixed(4));
    draw();
}
canvas.addEventListener("pointermove", event => {
    const scale = canvas.width / (window.devicePixelRatio || 1) / canvas.clientWidth;
    choose(Math.floor((event.offsetY * scale - top_) / cell), Math.floor((event.offsetX * scale - left) / cell));
});
canvas.addEventListener("pointerleave", () => choose(-1, -1));
canvas.addEventListener("keydown", event => {
    const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!move) return;
    event.preventDefault();
    const from = chosen || [0, 0], within = (at, end) => Math.min(end - 1, Math.max(0, at));
    choose(within(from[0] + move[0], rows), within(from[1] + move[1], columns));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
if (page.heads) document.getElementById("heads").append(...page.heads.map(thumbnail));
show(page.heads ? page.heads[0] : page);
)js";

/// JSON for a script element. It contains no "<" that could end the element.
QByteArray inScript(const QJsonObject& object) {
    QByteArray json = QJsonDocument(object).toJson(QJsonDocument::Compact);
    return json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
}

QJsonArray namesOf(const std::vector<QString>& names) {
    QJsonArray array;
    for (const QString& name : names) array.append(name);
    return array;
}

QJsonValue numberOf(float value) {
    return std::isfinite(value) ? QJsonValue(static_cast<double>(value)) : QJsonValue();
}

/// The colour bar, from the bottom up.
QJsonObject scaleOf(const HeatmapFigure& figure) {
    constexpr int kSteps = 64;
    QJsonArray colours, ticks;
    for (int step = 0; step < kSteps; ++step)
        colours.append(QColor(figure.barColours().at((static_cast<float>(step) + 0.5f) / kSteps)).name());
    for (const Tick& tick : figure.barTicks()) ticks.append(QJsonObject{{"place", tick.place}, {"label", tick.label}});
    return {{"title", figure.before ? WebPageText::tr("change of weight") : WebPageText::tr("weight")},
            {"colours", colours},
            {"ticks", ticks}};
}

QJsonObject dataOf(const HeatmapFigure& figure) {
    QJsonArray values, colours;
    const std::vector<NumberArray> arrays = figure.numbers();
    for (const float value : arrays.front().values) values.append(numberOf(value));
    for (const QRgb colour : figure.cellColours())
        colours.append(qAlpha(colour) == 0 ? QJsonValue() : QJsonValue(QColor(colour).name()));
    return {{"title", figure.title},
            {"rows", namesOf(figure.rowNames())},
            {"columns", namesOf(figure.columnNames())},
            {"values", values},
            {"colours", colours},
            {"scale", scaleOf(figure)},
            {"query", WebPageText::tr("query")},
            {"key", WebPageText::tr("key")},
            {"masked", figure.scale.hidesFirst ? WebPageText::tr("masked or hidden") : WebPageText::tr("masked")},
            {"help", WebPageText::tr("Point at a cell, or use the arrow keys, to read its weight.")}};
}

/// The data of every head. Many heads share a list of colours, and their weights have six digits, or the page of a
/// large model would be too large for a browser.
QJsonObject dataOf(const ThumbnailGridFigure& grid) {
    QHash<QString, int> numbers;
    QJsonArray palette, heads;
    for (int site = 0; site < grid.grid()->sites; ++site)
        for (int head = 0; head < grid.grid()->heads; ++head) {
            if (!grid.hasTile(site, head)) continue;
            const HeatmapFigure figure = grid.heatmap({.site = site, .head = head});
            QJsonObject data = dataOf(figure);
            QJsonArray colours, values;
            for (const QJsonValue& colour : data["colours"].toArray()) {
                if (colour.isNull()) {
                    colours.append(colour);
                    continue;
                }
                const auto known = numbers.constFind(colour.toString());
                if (known == numbers.cend()) palette.append(colour);
                colours.append(known != numbers.cend()
                                   ? *known
                                   : *numbers.insert(colour.toString(), static_cast<int>(numbers.size())));
            }
            for (const QJsonValue& value : data["values"].toArray())
                values.append(value.isNull() ? value : QString::number(value.toDouble(), 'g', 6).toDouble());
            data["colours"] = colours;
            data["values"] = values;
            data["name"] = headTitle({.site = site, .head = head}, grid.siteLabel(site));
            data["row"] = site;
            data["column"] = head;
            heads.append(data);
        }
    return {{"heads", heads}, {"palette", palette}};
}

/// The arrays of any other figure, by name.
QJsonObject dataOf(const Figure& figure) {
    QJsonObject data;
    for (const NumberArray& array : figure.numbers()) {
        QJsonArray shape, values;
        for (const int64_t size : array.shape) shape.append(static_cast<qint64>(size));
        for (const float value : array.values) values.append(numberOf(value));
        data[QString::fromStdString(array.name)] = QJsonObject{{"shape", shape}, {"values", values}};
    }
    return data;
}

/// An SVG without the lines that only a separate file may have.
QByteArray inlineSvg(const Figure& figure, const FigureTheme& theme, const QSize& page) {
    QByteArray svg = svgOf(figure, theme, page);
    return svg.mid(std::max<qsizetype>(0, svg.indexOf("<svg")));
}

} // namespace

QByteArray webPage(const Figure& figure, const QString& title, const std::vector<std::pair<QString, QString>>& about,
                   const QSize& page) {
    const auto* heatmap = dynamic_cast<const HeatmapFigure*>(&figure);
    const auto* grid = dynamic_cast<const ThumbnailGridFigure*>(&figure);
    const bool isGrid = grid && grid->hasNumbers(), isHeatmap = isGrid || (heatmap && heatmap->hasNumbers());
    QByteArray html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
                      title.toHtmlEscaped().toUtf8() + "</title>\n<style>" + kStyle +
                      "</style>\n</head>\n<body>\n<h1>" + title.toHtmlEscaped().toUtf8() + "</h1>\n";
    if (isGrid) {
        html +=
            "<div id=\"heads\"></div>\n<h2 id=\"head\">" + grid->heatmap({}).title.toHtmlEscaped().toUtf8() + "</h2>\n";
    }
    if (isHeatmap) {
        html += "<p id=\"reading\" aria-live=\"polite\"></p>\n<canvas id=\"heatmap\" tabindex=\"0\" role=\"img\" "
                "aria-label=\"" +
                title.toHtmlEscaped().toUtf8() + "\"></canvas>\n";
    } else {
        html += "<div class=\"light\">" + inlineSvg(figure, FigureTheme::light(), page) +
                "</div>\n<div class=\"dark\">" + inlineSvg(figure, FigureTheme::dark(), page) + "</div>\n";
    }
    html += "<dl>\n";
    for (const auto& [name, value] : about)
        html += "<dt>" + name.toHtmlEscaped().toUtf8() + "</dt><dd>" + value.toHtmlEscaped().toUtf8() + "</dd>\n";
    html += "</dl>\n<script type=\"application/json\" id=\"data\">" +
            inScript(isGrid      ? dataOf(*grid)
                     : isHeatmap ? dataOf(*heatmap)
                                 : dataOf(figure)) +
            "</script>\n";
    if (isHeatmap) html += QByteArray("<script>") + kHeatmapScript + "</script>\n";
    return wellFormed(html + "</body>\n</html>\n");
}

} // namespace attn
