#include "app/figures/map_figure.h"

#include "engine/attention/part.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

using MapKind = MatrixFigure::Kind;

struct Text {
    Q_DECLARE_TR_FUNCTIONS(attn::MapFigure)
};

struct MapText {
    std::string_view name;
    const char *title, *note; ///< marked for translation
    MapKind kind = MapKind::Signed;
    const char *rows = QT_TRANSLATE_NOOP("attn::MapFigure", "query"),
               *columns = QT_TRANSLATE_NOOP("attn::MapFigure", "key");
};

constexpr const char* kQuery = QT_TRANSLATE_NOOP("attn::MapFigure", "query");
constexpr const char* kKey = QT_TRANSLATE_NOOP("attn::MapFigure", "key");
constexpr const char* kToken = QT_TRANSLATE_NOOP("attn::MapFigure", "token");
constexpr const char* kFeature = QT_TRANSLATE_NOOP("attn::MapFigure", "feature");
constexpr const char* kHead = QT_TRANSLATE_NOOP("attn::MapFigure", "head");

constexpr std::array kMaps{
    MapText{"scores", QT_TRANSLATE_NOOP("attn::MapFigure", "Scores"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "with every bias, before the normaliser")},
    MapText{"mask", QT_TRANSLATE_NOOP("attn::MapFigure", "Mask"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "coloured: the query sees this key"), MapKind::Cells},
    MapText{"pattern", QT_TRANSLATE_NOOP("attn::MapFigure", "Pattern"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "attention weights"), MapKind::Weights},
    MapText{"z", QT_TRANSLATE_NOOP("attn::MapFigure", "Output"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the result for each token"), MapKind::Signed, kToken, kFeature},
    MapText{"position.bias", QT_TRANSLATE_NOOP("attn::MapFigure", "Position bias"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "what the position part adds to the scores")},
    MapText{"mask.content", QT_TRANSLATE_NOOP("attn::MapFigure", "Mask by content"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "coloured: query and key share a bucket or cluster"), MapKind::Cells},
    MapText{"mask.factor", QT_TRANSLATE_NOOP("attn::MapFigure", "Soft mask"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "how much of each weight is kept"), MapKind::Weights},
    MapText{"lsh.buckets", QT_TRANSLATE_NOOP("attn::MapFigure", "Hash buckets"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the bucket of each token"), MapKind::Weights, kHead, kToken},
    MapText{"lsh.order", QT_TRANSLATE_NOOP("attn::MapFigure", "Order by bucket"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the token at each place"), MapKind::Weights, kHead, kToken},
    MapText{"routing.clusters", QT_TRANSLATE_NOOP("attn::MapFigure", "Clusters"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the cluster of each token"), MapKind::Weights, kHead, kToken},
    MapText{"shaw.keys", QT_TRANSLATE_NOOP("attn::MapFigure", "Query with relative key"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the part of the scores that depends on distance")},
    MapText{"xl.content", QT_TRANSLATE_NOOP("attn::MapFigure", "(a) content"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "query with key")},
    MapText{"xl.content_position", QT_TRANSLATE_NOOP("attn::MapFigure", "(b) content to position"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "query with distance")},
    MapText{"xl.global_content", QT_TRANSLATE_NOOP("attn::MapFigure", "(c) global content"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "u with key")},
    MapText{"xl.global_position", QT_TRANSLATE_NOOP("attn::MapFigure", "(d) global position"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "v with distance")},
    MapText{"fnet.cosine", QT_TRANSLATE_NOOP("attn::MapFigure", "Cosine matrix"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the Fourier transform along the tokens; no pattern is formed"),
            MapKind::Signed, kToken, kToken},
    MapText{"fnet.sine", QT_TRANSLATE_NOOP("attn::MapFigure", "Sine matrix"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the sine half of the transform; no pattern is formed"),
            MapKind::Signed, kToken, kToken},
    MapText{"mlp_mixer.influence", QT_TRANSLATE_NOOP("attn::MapFigure", "Influence"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "how much each output changes with each input; no pattern is formed"),
            MapKind::Signed, kToken, kToken},
    MapText{"features.states", QT_TRANSLATE_NOOP("attn::MapFigure", "State"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the sum of k v after a step; choose the step above"), MapKind::Signed,
            kFeature, kFeature},
    MapText{"features.recurrent", QT_TRANSLATE_NOOP("attn::MapFigure", "Output by recurrence"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "computed step by step; equals the output computed at once"),
            MapKind::Signed, kToken, kFeature},
    MapText{"output.gate", QT_TRANSLATE_NOOP("attn::MapFigure", "Gate"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "how much of each output passes"), MapKind::Weights, kToken, kFeature},
    MapText{"efficient.queries", QT_TRANSLATE_NOOP("attn::MapFigure", "Softmax of queries"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "over the features"), MapKind::Weights, kToken, kFeature},
    MapText{"efficient.keys", QT_TRANSLATE_NOOP("attn::MapFigure", "Softmax of keys"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "over the tokens"), MapKind::Weights, kToken, kFeature},
    MapText{"xcit.channels", QT_TRANSLATE_NOOP("attn::MapFigure", "Channel map"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "feature to feature; no pattern of tokens is formed"),
            MapKind::Weights, kFeature, kFeature},
    MapText{"aft.channels", QT_TRANSLATE_NOOP("attn::MapFigure", "Pattern of a channel"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "one for each feature; choose the channel above"), MapKind::Weights},
    MapText{"linformer.weights", QT_TRANSLATE_NOOP("attn::MapFigure", "Weights of the projected keys"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the low-rank factor that is formed"), MapKind::Weights, kQuery,
            QT_TRANSLATE_NOOP("attn::MapFigure", "projected key")},
    MapText{"linformer.keys", QT_TRANSLATE_NOOP("attn::MapFigure", "Projected keys"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "a few keys that summarise all keys"), MapKind::Signed,
            QT_TRANSLATE_NOOP("attn::MapFigure", "projected key"), kFeature},
    MapText{"linformer.values", QT_TRANSLATE_NOOP("attn::MapFigure", "Projected values"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "a few values that summarise all values"), MapKind::Signed,
            QT_TRANSLATE_NOOP("attn::MapFigure", "projected value"), kFeature},
    MapText{"norm.before", QT_TRANSLATE_NOOP("attn::MapFigure", "Before the norm"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "tokens whose vectors grow longer from top to bottom"),
            MapKind::Signed, kToken, kFeature},
    MapText{"norm.after", QT_TRANSLATE_NOOP("attn::MapFigure", "After the norm"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "the same tokens, with vectors of equal length"), MapKind::Signed,
            kToken, kFeature},
    MapText{"feed_forward.hidden", QT_TRANSLATE_NOOP("attn::MapFigure", "Hidden layer"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "features of an untrained feed-forward layer"), MapKind::Signed,
            kToken, QT_TRANSLATE_NOOP("attn::MapFigure", "hidden feature")},
    MapText{"residual.lengths", QT_TRANSLATE_NOOP("attn::MapFigure", "Length of the residual stream"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "root mean square after each sublayer of six untrained layers"),
            MapKind::Weights, QT_TRANSLATE_NOOP("attn::MapFigure", "sublayer"), kToken},
    MapText{"layers.updates", QT_TRANSLATE_NOOP("attn::MapFigure", "Layer updates"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "cosines between the updates of six untrained layers"),
            MapKind::Signed, QT_TRANSLATE_NOOP("attn::MapFigure", "layer"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "layer")},
    MapText{"memory.retrieved", QT_TRANSLATE_NOOP("attn::MapFigure", "From the memory"),
            QT_TRANSLATE_NOOP("attn::MapFigure", "what each token read from the memory"), MapKind::Signed, kToken,
            kFeature},
};

/// @return whether the pattern is computed only for display: the device never multiplies values with it
bool isEffective(const AttentionSpec& spec) {
    return spec.part(Slot::Mixer).replacesAttention || !spec.part(Slot::Normaliser).usesScores;
}
QString patternNote(const AttentionSpec& spec) {
    if (!isEffective(spec)) return Text::tr("attention weights");
    if (spec.part(Slot::Normaliser).approximatesSoftmax)
        return Text::tr("approximates softmax; computed only for display");
    return Text::tr("computed only for display");
}

/// Adds the tokens of the window to the axes and the note.
void addWindow(MatrixFigure& figure, const PatternWindow& window) {
    const auto names = [](int64_t begin, int64_t end, int64_t pixels) {
        std::vector<QString> result;
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            const int64_t first = firstOfPixel(pixel, pixels, begin, end),
                          last = firstOfPixel(pixel + 1, pixels, begin, end) - 1;
            result.push_back(first == last ? QString::number(first) : QStringLiteral("%1–%2").arg(first).arg(last));
        }
        return result;
    };
    figure.rowLabels = names(window.queryBegin, window.queryEnd, window.rows);
    figure.columnLabels = names(window.keyBegin, window.keyEnd, window.columns);
    figure.labelsAreNumbers = true;
    const int64_t queries = window.queryEnd - window.queryBegin, keys = window.keyEnd - window.keyBegin;
    figure.note = Text::tr("%1; queries %2 to %3, keys %4 to %5")
                      .arg(figure.note)
                      .arg(window.queryBegin)
                      .arg(window.queryEnd - 1)
                      .arg(window.keyBegin)
                      .arg(window.keyEnd - 1);
    if (queries > window.rows || keys > window.columns)
        figure.note = Text::tr("%1; each pixel shows the largest of its cells").arg(figure.note);
}

} // namespace

MatrixFigure mapFigure(const PlaygroundMap& map, const AttentionSpec& spec, int head, int plane,
                       const std::vector<QString>& labels) {
    const auto known = std::ranges::find(kMaps, map.name, &MapText::name);
    const bool isKnown = known != kMaps.end();
    MatrixFigure figure;
    const auto values = map.at(head, plane);
    figure.setMatrix(static_cast<int>(map.rows), static_cast<int>(map.columns), {values.begin(), values.end()});
    figure.title = mapTitle(map.name);
    if (isKnown) figure.note = map.name == "pattern" ? patternNote(spec) : Text::tr(known->note);
    if (map.name == "pattern" && isEffective(spec)) figure.title = Text::tr("Effective pattern");
    if (map.heads > 1)
        figure.note = Text::tr("head %1: %2").arg(std::min<int64_t>(head, map.heads - 1)).arg(figure.note);
    if (isKnown) figure.kind = known->kind;
    // A kernel's weights may be negative.
    if (figure.kind == MapKind::Weights && std::ranges::any_of(values, [](float value) { return value < 0; }))
        figure.kind = MapKind::Signed;
    figure.rowTitle = Text::tr(isKnown ? known->rows : "row");
    figure.columnTitle = Text::tr(isKnown ? known->columns : "column");
    const auto countsTokens = [&](const char* title, int64_t count) {
        return isKnown && static_cast<size_t>(count) == labels.size() &&
               (title == std::string_view(kQuery) || title == std::string_view(kKey) ||
                title == std::string_view(kToken));
    };
    if (countsTokens(isKnown ? known->rows : "", map.rows)) figure.rowLabels = labels;
    if (countsTokens(isKnown ? known->columns : "", map.columns)) figure.columnLabels = labels;
    if (map.window) addWindow(figure, *map.window);
    return figure;
}

QString mapTitle(const std::string& name) {
    const auto known = std::ranges::find(kMaps, name, &MapText::name);
    return known == kMaps.end() ? QString::fromStdString(name) : Text::tr(known->title);
}

QString valueText(const MatrixFigure& figure, const MatrixCell& cell) {
    const float value = figure.valueAt(cell);
    if (std::isnan(value)) return Text::tr("hidden by the mask");
    if (figure.kind == MatrixFigure::Kind::Cells) return value != 0 ? Text::tr("seen") : Text::tr("not seen");
    return QString::number(static_cast<double>(value), 'g', 5);
}

QString readingOf(const MatrixFigure& figure, const MatrixCell& cell) {
    return Text::tr("%1: %2 i = %3, %4 j = %5: %6")
        .arg(figure.title, figure.rowTitle, figure.rowName(cell.row), figure.columnTitle,
             figure.columnName(cell.column), valueText(figure, cell));
}

} // namespace attn
