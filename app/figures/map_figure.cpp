#include "app/figures/map_figure.h"

#include "app/figures/drawing.h"
#include "engine/attention/part.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

using MapKind = MatrixFigure::Kind;

struct MapText {
    std::string_view name;
    const char *title, *note; ///< marked for translation
    MapKind kind = MapKind::Signed;
    const char *rows = QT_TRANSLATE_NOOP("attn::MapFigure", "query"),
               *columns = QT_TRANSLATE_NOOP("attn::MapFigure", "key");
};

/// The maps, in the translation context of their texts.
struct Text {
    Q_DECLARE_TR_FUNCTIONS(attn::MapFigure)

public:
    static constexpr const char* kQuery = QT_TR_NOOP("query");
    static constexpr const char* kKey = QT_TR_NOOP("key");
    static constexpr const char* kToken = QT_TR_NOOP("token");
    static constexpr const char* kFeature = QT_TR_NOOP("feature");
    static constexpr const char* kUnit = QT_TR_NOOP("unit");
    static constexpr const char* kHead = QT_TR_NOOP("head");
    static constexpr const char* kRound = QT_TR_NOOP("round");
    static constexpr const char* kPlace = QT_TR_NOOP("place");
    static constexpr const char* kTile = QT_TR_NOOP("tile of keys");
    static constexpr const char* kBlock = QT_TR_NOOP("block of queries");

    static constexpr std::array kMaps{
        MapText{"scores", QT_TR_NOOP("Scores"), QT_TR_NOOP("query–key match, before softmax")},
        MapText{"mask", QT_TR_NOOP("Mask"), QT_TR_NOOP("coloured cells: the query can see this key"), MapKind::Cells},
        MapText{"pattern", QT_TR_NOOP("Pattern"), QT_TR_NOOP("attention weights"), MapKind::Weights},
        MapText{"z", QT_TR_NOOP("Output"), QT_TR_NOOP("the result for each token"), MapKind::Signed, kToken, kFeature},
        MapText{"position.bias", QT_TR_NOOP("Position bias"), QT_TR_NOOP("what the position part adds to the scores")},
        MapText{"mask.factor", QT_TR_NOOP("Soft mask"), QT_TR_NOOP("how much of each weight is kept"),
                MapKind::Weights},
        MapText{"spans", QT_TR_NOOP("Spans"),
                QT_TR_NOOP("how many tokens back each head looks, before its soft mask begins to fall"),
                MapKind::Weights, kHead, kToken},
        MapText{"lsh.buckets", QT_TR_NOOP("Hash buckets"),
                QT_TR_NOOP("the sorted tokens of each round; one colour for a bucket, lines between chunks"),
                MapKind::Groups, kRound, kPlace},
        MapText{"lsh.order", QT_TR_NOOP("Order by bucket"), QT_TR_NOOP("the position of the token at each place"),
                MapKind::Weights, kRound, kPlace},
        MapText{"routing.members", QT_TR_NOOP("Clusters"),
                QT_TR_NOOP("positions of the tokens that each centroid picks, in the order of the text"),
                MapKind::Weights, QT_TR_NOOP("centroid"), kPlace},
        MapText{"compressed.weights", QT_TR_NOOP("Weights of the compressed keys"),
                QT_TR_NOOP("how much each query takes from each compressed key, then from the rest of its own block"),
                MapKind::Weights, kQuery, QT_TR_NOOP("compressed key")},
        MapText{"shaw.keys", QT_TR_NOOP("Query with relative key"),
                QT_TR_NOOP("the part of each score that depends on the distance")},
        MapText{"tree.keys", QT_TR_NOOP("Query with place in the tree"),
                QT_TR_NOOP("the part of each score that depends on where the two words lie in the tree")},
        MapText{"etc.labels", QT_TR_NOOP("Query with label"),
                QT_TR_NOOP("the part of each score that depends on the relative label of the two tokens")},
        MapText{"xl.content", QT_TR_NOOP("(a) content"), QT_TR_NOOP("how well the query matches the key")},
        MapText{"xl.content_position", QT_TR_NOOP("(b) content to position"),
                QT_TR_NOOP("how well the query matches the distance")},
        MapText{"xl.global_content", QT_TR_NOOP("(c) global content"),
                QT_TR_NOOP("how well the key matches a learned vector u, for every query")},
        MapText{"xl.global_position", QT_TR_NOOP("(d) global position"),
                QT_TR_NOOP("how well the distance matches a learned vector v, for every query")},
        MapText{"fnet.cosine", QT_TR_NOOP("Cosine matrix"),
                QT_TR_NOOP("the Fourier transform mixes the tokens; there are no attention weights"), MapKind::Signed,
                kToken, kToken},
        MapText{"fnet.sine", QT_TR_NOOP("Sine matrix"),
                QT_TR_NOOP("the sine half of the transform; there are no attention weights"), MapKind::Signed, kToken,
                kToken},
        MapText{"mlp_mixer.influence", QT_TR_NOOP("Influence"),
                QT_TR_NOOP("how much each output changes with each input; there are no attention weights"),
                MapKind::Signed, kToken, kToken},
        MapText{"tiles.walked", QT_TR_NOOP("Tiles walked over"),
                QT_TR_NOOP("8 queries by 32 keys: the share of cells that the mask shows; the kernel skips the others"),
                MapKind::Weights, kBlock, kTile},
        MapText{"tiles.largest", QT_TR_NOOP("Running maximum"),
                QT_TR_NOOP("the largest score up to each tile of 32 keys, as the fused kernel keeps it"),
                MapKind::Signed, kQuery, kTile},
        MapText{"tiles.sum", QT_TR_NOOP("Running sum"),
                QT_TR_NOOP("the sum of exponentials up to each tile, relative to the largest score so far"),
                MapKind::Signed, kQuery, kTile},
        MapText{"features.queries", QT_TR_NOOP("Features of queries"),
                QT_TR_NOOP("a row for each query; its dot product with a key's row is the weight"), MapKind::Signed,
                kToken, kFeature},
        MapText{"features.keys", QT_TR_NOOP("Features of keys"), QT_TR_NOOP("a row for each key"), MapKind::Signed,
                kToken, kFeature},
        MapText{"rfa.gate", QT_TR_NOOP("Gate"), QT_TR_NOOP("how much of the earlier state each token keeps"),
                MapKind::Weights, kHead, kToken},
        MapText{"delta.rates", QT_TR_NOOP("Rates"), QT_TR_NOOP("how much of each correction is stored"),
                MapKind::Weights, kHead, kToken},
        MapText{"units.state", QT_TR_NOOP("State"), QT_TR_NOOP("what each unit says after each token"), MapKind::Signed,
                kToken, kUnit},
        MapText{"units.cell", QT_TR_NOOP("Cell"), QT_TR_NOOP("what each unit remembers after each token"),
                MapKind::Signed, kToken, kUnit},
        MapText{"units.candidate", QT_TR_NOOP("Candidate"), QT_TR_NOOP("what each token offers to remember"),
                MapKind::Signed, kToken, kUnit},
        MapText{"units.input_gate", QT_TR_NOOP("Input gate"), QT_TR_NOOP("how much of the candidate the cell takes"),
                MapKind::Weights, kToken, kUnit},
        MapText{"units.forget_gate", QT_TR_NOOP("Forget gate"),
                QT_TR_NOOP("how much of the cell remains: at 0 it forgets, at 1 it keeps everything"), MapKind::Weights,
                kToken, kUnit},
        MapText{"units.output_gate", QT_TR_NOOP("Output gate"), QT_TR_NOOP("how much of the cell the state shows"),
                MapKind::Weights, kToken, kUnit},
        MapText{"units.reset_gate", QT_TR_NOOP("Reset gate"),
                QT_TR_NOOP("how much of the state before the candidate reads"), MapKind::Weights, kToken, kUnit},
        MapText{"units.update_gate", QT_TR_NOOP("Update gate"), QT_TR_NOOP("how much of the state before remains"),
                MapKind::Weights, kToken, kUnit},
        MapText{"features.states", QT_TR_NOOP("State"),
                QT_TR_NOOP("the sum of keys times values up to a token; choose the token above"), MapKind::Signed,
                kFeature, kFeature},
        MapText{"features.recurrent", QT_TR_NOOP("Output by recurrence"),
                QT_TR_NOOP("computed step by step; equals the output computed at once"), MapKind::Signed, kToken,
                kFeature},
        MapText{"output.gate", QT_TR_NOOP("Gate"), QT_TR_NOOP("how much of each output passes"), MapKind::Weights,
                kToken, kFeature},
        MapText{"efficient.queries", QT_TR_NOOP("Softmax of queries"),
                QT_TR_NOOP("each row sums to 1 over the features"), MapKind::Weights, kToken, kFeature},
        MapText{"efficient.keys", QT_TR_NOOP("Softmax of keys"), QT_TR_NOOP("each column sums to 1 over the tokens"),
                MapKind::Weights, kToken, kFeature},
        MapText{"xcit.channels", QT_TR_NOOP("Channel map"),
                QT_TR_NOOP("features attend to features; there are no weights between tokens"), MapKind::Weights,
                kFeature, kFeature},
        MapText{"aft.channels", QT_TR_NOOP("Pattern of a channel"),
                QT_TR_NOOP("the weights of one feature; choose the channel above"), MapKind::Weights},
        MapText{"linformer.weights", QT_TR_NOOP("Weights of the projected keys"),
                QT_TR_NOOP("how much each query takes from each of the few projected keys"), MapKind::Weights, kQuery,
                QT_TR_NOOP("projected key")},
        MapText{"linformer.keys", QT_TR_NOOP("Projected keys"), QT_TR_NOOP("a few keys that summarise all keys"),
                MapKind::Signed, QT_TR_NOOP("projected key"), kFeature},
        MapText{"linformer.values", QT_TR_NOOP("Projected values"),
                QT_TR_NOOP("a few values that summarise all values"), MapKind::Signed, QT_TR_NOOP("projected value"),
                kFeature},
        MapText{"norm.before", QT_TR_NOOP("Before the norm"),
                QT_TR_NOOP("tokens whose vectors grow longer from top to bottom"), MapKind::Signed, kToken, kFeature},
        MapText{"norm.after", QT_TR_NOOP("After the norm"), QT_TR_NOOP("the same tokens, with vectors of equal length"),
                MapKind::Signed, kToken, kFeature},
        MapText{"feed_forward.hidden", QT_TR_NOOP("Hidden layer"),
                QT_TR_NOOP("features of an untrained feed-forward layer"), MapKind::Signed, kToken,
                QT_TR_NOOP("hidden feature")},
        MapText{"residual.lengths", QT_TR_NOOP("Length of the residual stream"),
                QT_TR_NOOP("root mean square after each sublayer of six untrained layers"), MapKind::Weights,
                QT_TR_NOOP("sublayer"), kToken},
        MapText{"layers.updates", QT_TR_NOOP("Layer updates"),
                QT_TR_NOOP("cosines between the updates of six untrained layers"), MapKind::Signed, QT_TR_NOOP("layer"),
                QT_TR_NOOP("layer")},
        MapText{"memory.retrieved", QT_TR_NOOP("From the memory"), QT_TR_NOOP("what each token read from the memory"),
                MapKind::Signed, kToken, kFeature},
    };
};

/// @return whether the pattern is computed only for display, and the device never multiplies values with it
bool isEffective(const AttentionSpec& spec) {
    return spec.part(Slot::Mixer).mix.replacesAttention || !spec.part(Slot::Normaliser).mix.usesScores;
}
QString patternNote(const AttentionSpec& spec) {
    if (!isEffective(spec)) return Text::tr("attention weights");
    if (spec.part(Slot::Normaliser).mix.approximatesSoftmax)
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
    figure.rowsAreNamed = figure.columnsAreNamed = true;
    const int64_t queries = window.queryEnd - window.queryBegin, keys = window.keyEnd - window.keyBegin;
    figure.note = Text::tr("%1; queries %2 to %3, keys %4 to %5")
                      .arg(figure.note, QString::number(window.queryBegin), QString::number(window.queryEnd - 1),
                           QString::number(window.keyBegin), QString::number(window.keyEnd - 1));
    if (queries > window.rows || keys > window.columns)
        figure.note = Text::tr("%1; each pixel shows the largest of its cells").arg(figure.note);
}

} // namespace

MatrixFigure mapFigure(const PlaygroundMap& map, const AttentionSpec& spec, int head, int plane,
                       const std::vector<QString>& labels) {
    const auto known = std::ranges::find(Text::kMaps, map.name, &MapText::name);
    const bool isKnown = known != Text::kMaps.end();
    MatrixFigure figure;
    const auto values = map.at(head, plane);
    figure.setMatrix(static_cast<int>(map.rows), static_cast<int>(map.columns), {values.begin(), values.end()});
    figure.title = mapTitle(map.name);
    if (isKnown) figure.note = map.name == "pattern" ? patternNote(spec) : Text::tr(known->note);
    if (map.name == "pattern" && isEffective(spec)) figure.title = Text::tr("Effective pattern");
    if (map.heads > 1)
        figure.note = Text::tr("head %1: %2").arg(std::min<int64_t>(head, map.heads - 1)).arg(figure.note);
    if (isKnown) figure.kind = known->kind;
    if (map.name == "lsh.buckets") figure.borderEvery = spec.values(Slot::Normaliser).integer("chunk");
    // A kernel's weights may be negative.
    if (figure.kind == MapKind::Weights && std::ranges::any_of(values, [](float value) { return value < 0; }))
        figure.kind = MapKind::Signed;
    figure.rowTitle = Text::tr(isKnown ? known->rows : "row");
    figure.columnTitle = Text::tr(isKnown ? known->columns : "column");
    const auto countsTokens = [&](const char* title, int64_t count) {
        return isKnown && static_cast<size_t>(count) == labels.size() &&
               (title == std::string_view(Text::kQuery) || title == std::string_view(Text::kKey) ||
                title == std::string_view(Text::kToken));
    };
    if (countsTokens(isKnown ? known->rows : "", map.rows)) figure.rowLabels = labels;
    if (countsTokens(isKnown ? known->columns : "", map.columns)) figure.columnLabels = labels;
    figure.numbersAxes = true;
    if (map.window) addWindow(figure, *map.window);
    return figure;
}

QString mapTitle(const std::string& name) {
    const auto known = std::ranges::find(Text::kMaps, name, &MapText::name);
    return known == Text::kMaps.end() ? QString::fromStdString(name) : Text::tr(known->title);
}

QString valueText(const MatrixFigure& figure, const MatrixCell& cell) {
    const float value = figure.valueAt(cell);
    if (std::isnan(value)) return Text::tr("hidden by the mask");
    if (figure.kind == MatrixFigure::Kind::Cells) return value != 0 ? Text::tr("seen") : Text::tr("not seen");
    if (figure.areProbabilities) return formatPercent(static_cast<double>(value));
    return formatShort(static_cast<double>(value), 5);
}

QString placeOf(const MatrixFigure& figure, const MatrixCell& cell) {
    if (figure.numbersAxes || figure.rowLabels.empty())
        return Text::tr("%1 i = %2, %3 j = %4")
            .arg(figure.rowTitle, figure.rowName(cell.row), figure.columnTitle, figure.columnName(cell.column));
    return Text::tr("%1 %2, %3 %4")
        .arg(figure.rowTitle, figure.rowName(cell.row), figure.columnTitle, figure.columnName(cell.column));
}

QString readingOf(const MatrixFigure& figure, const MatrixCell& cell) {
    return Text::tr("%1: %2: %3").arg(figure.title, placeOf(figure, cell), valueText(figure, cell));
}

} // namespace attn
