#include "app/lab/panels/attention_settings.h"

#include "engine/models/hook_names.h"

#include <QJsonArray>

#include <algorithm>
#include <iterator>

namespace attn {
namespace {

constexpr const char* kLevels[] = {"all", "head", "cell"};
constexpr const char* kAggregates[] = {"none", "mean", "maximum"};

template <class T, size_t N> T named(const QJsonValue& value, const char* const (&names)[N]) {
    const QString name = value.toString();
    const auto found = std::find_if(std::begin(names), std::end(names),
                                    [&](const char* known) { return name == QLatin1String(known); });
    return found == std::end(names) ? T{} : static_cast<T>(found - std::begin(names));
}

} // namespace

int savedLayer(const QJsonObject& view, int absent) {
    const QJsonValue site = view["site"];
    return site.isString() ? layerOfSite(site.toString().toStdString()).value_or(absent)
                           : std::max(0, view["layer"].toInt(absent));
}

QJsonObject attentionToJson(const AttentionSettings& settings) {
    QJsonObject object{{"level", QLatin1String(kLevels[static_cast<size_t>(settings.level)])},
                       {"site", QString::fromStdString(siteName(settings.choice.site))},
                       {"head", settings.choice.head},
                       {"aggregate", QLatin1String(kAggregates[static_cast<size_t>(settings.choice.aggregate)])},
                       {"scale", scaleKey(settings.scale.kind)},
                       {"hidesFirst", settings.scale.hidesFirst},
                       {"colours", colourMapKey(settings.colours)}};
    if (settings.cell) object["cell"] = QJsonArray{settings.cell->query, settings.cell->key};
    return object;
}

AttentionSettings attentionFromJson(const QJsonObject& object) {
    AttentionSettings settings;
    settings.level = named<AttentionLevel>(object["level"], kLevels);
    settings.choice = {savedLayer(object, 0), std::max(0, object["head"].toInt()),
                       named<HeadAggregate>(object["aggregate"], kAggregates)};
    settings.scale = {scaleFromKey(object["scale"].toString()), object["hidesFirst"].toBool()};
    settings.colours = colourMapFromKey(object["colours"].toString());
    if (const QJsonArray cell = object["cell"].toArray();
        cell.size() == 2 && cell[0].toInt(-1) >= 0 && cell[1].toInt(-1) >= 0)
        settings.cell = Cell{cell[0].toInt(), cell[1].toInt()};
    return settings;
}

AttentionChange::AttentionChange(Apply apply, AttentionSettings before, AttentionSettings after, const QString& text)
    : QUndoCommand(text), apply_(std::move(apply)), before_(std::move(before)), after_(std::move(after)) {}

} // namespace attn
