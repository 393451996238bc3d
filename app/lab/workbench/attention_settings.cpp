#include "app/lab/workbench/attention_settings.h"

#include "engine/inference/named_changes.h"

#include <QJsonArray>

#include <algorithm>
#include <iterator>

namespace attn {
namespace {

constexpr const char* kLevels[] = {"all", "head", "cell"};
constexpr const char* kPictures[] = {"heatmap", "text", "arcs", "pixels"};
constexpr const char* kAggregates[] = {"none", "mean", "maximum"};

template <class T, size_t N> T named(const QJsonValue& value, const char* const (&names)[N]) {
    const QString name = value.toString();
    const auto found = std::find_if(std::begin(names), std::end(names),
                                    [&](const char* known) { return name == QLatin1String(known); });
    return found == std::end(names) ? T{} : static_cast<T>(found - std::begin(names));
}

ModelStructure structureOf(const Workbench& bench) {
    return bench.hasModel() ? bench.snapshot()->model->structure : ModelStructure{};
}

} // namespace

QString savedSiteName(const Workbench& bench) {
    return QString::fromStdString(siteName(structureOf(bench), bench.selection().site));
}

int savedSite(const QJsonObject& view, int absent, const Workbench& bench) {
    const QJsonValue site = view["site"];
    return site.isString() ? siteNamed(structureOf(bench), site.toString().toStdString()).value_or(absent)
                           : std::max(0, view["layer"].toInt(absent));
}

QJsonObject attentionToJson(const AttentionLook& look, const Workbench& bench) {
    const Selection& selection = bench.selection();
    QJsonObject object{{"level", QLatin1String(kLevels[static_cast<size_t>(look.level)])},
                       {"drawnAs", QLatin1String(kPictures[static_cast<size_t>(look.picture)])},
                       {"arcsOfLayer", look.arcsOfLayer},
                       {"wholeWords", look.wholeWords},
                       {"site", savedSiteName(bench)},
                       {"head", selection.head},
                       {"aggregate", QLatin1String(kAggregates[static_cast<size_t>(look.aggregate)])},
                       {"scale", scaleKey(look.scale.kind)},
                       {"hidesFirst", look.scale.hidesFirst},
                       {"colours", colourMapKey(look.colours)}};
    if (selection.row) object["row"] = *selection.row;
    if (selection.cell) object["cell"] = QJsonArray{selection.cell->query, selection.cell->key};
    return object;
}

std::pair<AttentionLook, Selection> attentionFromJson(const QJsonObject& object, const Workbench& bench) {
    const AttentionLook look{.level = named<AttentionLevel>(object["level"], kLevels),
                             .picture = named<AttentionPicture>(object["drawnAs"], kPictures),
                             .arcsOfLayer = object["arcsOfLayer"].toBool(),
                             .wholeWords = object["wholeWords"].toBool(),
                             .aggregate = named<HeadAggregate>(object["aggregate"], kAggregates),
                             .scale = {scaleFromKey(object["scale"].toString()), object["hidesFirst"].toBool()},
                             .colours = colourMapFromKey(object["colours"].toString())};
    Selection selection{.site = savedSite(object, 0, bench), .head = std::max(0, object["head"].toInt())};
    if (const int row = object["row"].toInt(-1); row >= 0) selection.row = row;
    if (const QJsonArray cell = object["cell"].toArray();
        cell.size() == 2 && cell[0].toInt(-1) >= 0 && cell[1].toInt(-1) >= 0)
        selection.cell = Cell{cell[0].toInt(), cell[1].toInt()};
    return {look, selection};
}

} // namespace attn
