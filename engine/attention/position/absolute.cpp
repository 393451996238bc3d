#include "engine/attention/mask/grid.h"
#include "engine/attention/parts.h"
#include "engine/attention/position/sinusoid.h"
#include "engine/attention/terms.h"

#include <cmath>

// Positions that are added to the residual stream before queries, keys and values are projected.

namespace attn {
namespace {

using namespace terms;

constexpr Param kBase{"base", "Base", "Wavelengths grow from 2 pi to this number times 2 pi", Param::Kind::Real, 2, 1e6,
                      1,      10000};
constexpr std::array<Param, 1> kBaseParams{kBase};

int64_t rowsOf(const AttentionFlow& flow) { return flow.stream.shape()[-2]; }
int64_t widthOf(const AttentionFlow& flow) { return flow.stream.shape()[-1]; }

/// Adds rows [rows, width] that nothing learns.
void addConstant(AttentionFlow& flow, const std::string& name, const std::function<double(int64_t, int64_t)>& value) {
    flow.stream = plus(flow.stream, flow.byPosition(name, rowsOf(flow), widthOf(flow), value));
}

void addReference(ReferenceFlow& flow, const std::function<double(int64_t, int64_t)>& value) {
    for (int64_t i = 0; i < flow.stream.extents[0]; ++i)
        for (int64_t d = 0; d < flow.stream.extents[1]; ++d) flow.stream.at(i, d) += value(i, d);
}

// Sinusoidal ---------------------------------------------------------------------------------------------------------

void buildSinusoidal(AttentionFlow& flow, PartValues values) {
    if (flow.layer > 0) return;
    const double base = values.real("base");
    addConstant(flow, "position.sinusoid",
                [base, width = widthOf(flow)](int64_t i, int64_t d) { return sinusoid(i, d, width, base); });
}
void referenceSinusoidal(ReferenceFlow& flow, PartValues values) {
    if (flow.layer > 0) return;
    const double base = values.real("base");
    addReference(flow, [&](int64_t i, int64_t d) { return sinusoid(i, d, flow.stream.extents[1], base); });
}

// Universal Transformer: position and time
// -----------------------------------------------------------------------------

void buildUniversal(AttentionFlow& flow, PartValues values) {
    const double base = values.real("base");
    addConstant(flow, "position.time", [base, layer = flow.layer, width = widthOf(flow)](int64_t i, int64_t d) {
        return sinusoid(i + 1, d, width, base) + sinusoid(layer + 1, d, width, base);
    });
}
void referenceUniversal(ReferenceFlow& flow, PartValues values) {
    const double base = values.real("base");
    const int64_t width = flow.stream.extents[1];
    addReference(flow, [&](int64_t i, int64_t d) {
        return sinusoid(i + 1, d, width, base) + sinusoid(flow.layer + 1, d, width, base);
    });
}

// Learned ------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 2> kLearnedParams{
    {{"length", "Length", "Rows of the table; later positions share the last one", Param::Kind::Integer, 1, 65536, 1,
      1024},
     {"every_layer", "In every layer", "Adds a table of its own to the input of every layer, not only of the first",
      Param::Kind::Toggle, 0, 1, 1, 0}}};

/// The rows of a learned table that `index` names; zeros where it is -1. @return [rows of the stream, width]
Tensor rowsOfTable(AttentionFlow& flow, const std::string& name, int64_t rows, int64_t width,
                   const std::function<int64_t(int64_t)>& index) {
    const Tensor table = flow.parameter(name, {rows, width}, {InitialValue::Kind::Normal});
    const auto row = [=](int64_t i, int64_t) { return static_cast<double>(std::min(index(i), rows - 1)); };
    return take(table, indices(flow.byPosition(name + ".rows", rowsOf(flow), 1, row)));
}

void buildLearned(AttentionFlow& flow, PartValues values) {
    if (flow.layer > 0 && !values.flag("every_layer")) return;
    const int64_t length = values.integer("length");
    flow.stream =
        plus(flow.stream, rowsOfTable(flow, "position.table", length, widthOf(flow), [](int64_t i) { return i; }));
}
void referenceLearned(ReferenceFlow& flow, PartValues values) {
    if (flow.layer > 0 && !values.flag("every_layer")) return;
    const Dense& table = flow.parameters.at("position.table");
    const int64_t last = values.integer("length") - 1;
    addReference(flow, [&](int64_t i, int64_t d) { return table.at(std::min(i, last), d); });
}

// Two-dimensional ----------------------------------------------------------------------------------------------------

constexpr std::array<Param, 5> kSinusoidal2dParams{
    {{"columns", "Columns", "Tokens in a row of the grid", Param::Kind::Integer, 1, 1024, 1, 8},
     kBase,
     kLeadingParam,
     kBlockHeightParam,
     kBlockWidthParam}};

/// Where the tokens of a picture lie that is written row by row or block by block.
BlockOrder orderOf(PartValues values) {
    return {.columns = values.integer("columns"),
            .blockRows = values.integer(kBlockHeight),
            .blockColumns = values.integer(kBlockWidth)};
}

/// The first half of the features encodes the row, the second half the column. Leading tokens have no position.
std::function<double(int64_t, int64_t)> sinusoid2d(PartValues values, int64_t width) {
    return [width, order = orderOf(values), leading = values.integer(kLeading),
            base = values.real("base")](int64_t token, int64_t d) {
        const int64_t half = (width + 1) / 2;
        if (token < leading) return 0.0;
        const auto [row, column] = order.placeOf(token - leading);
        return d < half ? sinusoid(row, d, half, base) : sinusoid(column, d - half, width - half, base);
    };
}
void buildSinusoidal2d(AttentionFlow& flow, PartValues values) {
    if (flow.layer == 0) addConstant(flow, "position.sinusoid", sinusoid2d(values, widthOf(flow)));
}
void referenceSinusoidal2d(ReferenceFlow& flow, PartValues values) {
    if (flow.layer == 0) addReference(flow, sinusoid2d(values, flow.stream.extents[1]));
}

constexpr std::array<Param, 5> kLearned2dParams{
    {{"rows", "Rows", "Rows of the grid", Param::Kind::Integer, 1, 1024, 1, 8},
     {"columns", "Columns", "Tokens in a row of the grid", Param::Kind::Integer, 1, 1024, 1, 8},
     kLeadingParam,
     kBlockHeightParam,
     kBlockWidthParam}};

void buildLearned2d(AttentionFlow& flow, PartValues values) {
    if (flow.layer > 0) return;
    const int64_t rows = values.integer("rows"), columns = values.integer("columns");
    const int64_t half = (widthOf(flow) + 1) / 2, leading = values.integer(kLeading);
    const BlockOrder order = orderOf(values);
    const Tensor row = rowsOfTable(flow, "position.rows", rows, half,
                                   [=](int64_t i) { return i < leading ? -1 : order.placeOf(i - leading).row; });
    const Tensor column = rowsOfTable(flow, "position.columns", columns, widthOf(flow) - half,
                                      [=](int64_t i) { return i < leading ? -1 : order.placeOf(i - leading).column; });
    flow.stream = plus(flow.stream, beside(row, column));
}
void referenceLearned2d(ReferenceFlow& flow, PartValues values) {
    if (flow.layer > 0) return;
    const Dense &row = flow.parameters.at("position.rows"), &column = flow.parameters.at("position.columns");
    const int64_t last = values.integer("rows") - 1;
    addReference(flow, [&, order = orderOf(values)](int64_t token, int64_t d) {
        const int64_t half = row.extents[1], i = token - values.integer(kLeading);
        if (i < 0) return 0.0;
        const BlockOrder::Place place = order.placeOf(i);
        return d < half ? row.at(std::min(place.row, last), d) : column.at(place.column, d - half);
    });
}

} // namespace

double sinusoid(int64_t position, int64_t feature, int64_t width, double base) {
    const double frequency = std::pow(base, -static_cast<double>(feature / 2 * 2) / static_cast<double>(width));
    const double angle = static_cast<double>(position) * frequency;
    return feature % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

const Part kNoPosition{
    .id = "none",
    .slot = Slot::Position,
    .title = "No positions",
    .idea = "Tokens carry no position: under a full mask, attention treats them as a set. Under a causal mask, the "
            "number of visible keys still reveals the position, and decoders learn to use it.",
    .formula = "s(i,j) = q_i . k_j",
    .source = {"Kazemnejad et al.", 2023, "The Impact of Positional Encoding on Length Generalization in Transformers",
               "section 5", "arXiv:2305.19466"},
    .time = "0",
    .memory = "0"};

const Part kSinusoidalPosition{
    .id = "sinusoidal",
    .slot = Slot::Position,
    .title = "Sinusoidal",
    .idea = "Adds to every token a row of sines and cosines whose wavelengths form a geometric series. A shift by a "
            "fixed distance is the same rotation everywhere, so a head can learn to look a fixed distance away.",
    .formula = "f(i,2m) = sin(i / N^(2m/C)), f(i,2m+1) = cos(i / N^(2m/C)); f(i+d) = diag(f(d)) f(i) in complex pairs",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.5", "arXiv:1706.03762"},
    .params = kBaseParams,
    .time = "O(T C)",
    .memory = "O(T C)",
    .hooks = {{Stage::Inputs, buildSinusoidal, referenceSinusoidal}}};

const Part kLearnedPosition{
    .id = "learned",
    .slot = Slot::Position,
    .title = "Learned",
    .idea = "Adds to every token the learned row that belongs to its position. Positions that training never reached "
            "have no useful row. Every layer may have a table of its own.",
    .formula = "x_i + P[i]",
    .source = {"Gehring et al.", 2017, "Convolutional Sequence to Sequence Learning", "section 3.1",
               "arXiv:1705.03122"},
    .params = kLearnedParams,
    .time = "O(T C)",
    .memory = "O(L C) parameters for L positions",
    .hooks = {{Stage::Inputs, buildLearned, referenceLearned}}};

const Part kSinusoidal2dPosition{
    .id = "sinusoidal_2d",
    .slot = Slot::Position,
    .title = "Sinusoidal on a grid",
    .idea = "Half of the features carry the sinusoid of the row, the other half that of the column. Patches in the "
            "same row or column of a picture share half of their position. A picture that is written block by block "
            "needs the size of its blocks, which fill it.",
    .formula = "f(i) = [f(row of i), f(column of i)]",
    .source = {"Parmar et al.", 2018, "Image Transformer", "section 3.1", "arXiv:1802.05751"},
    .params = kSinusoidal2dParams,
    .time = "O(T C)",
    .memory = "O(T C)",
    .hooks = {{Stage::Inputs, buildSinusoidal2d, referenceSinusoidal2d}},
    .knowsGrid = true};

const Part kLearned2dPosition{.id = "learned_2d",
                              .slot = Slot::Position,
                              .title = "Learned on a grid",
                              .idea = "Every row and every column of a picture has a learned vector of half the "
                                      "model's width, and each token adds the two side by side. An H x W grid needs H "
                                      "+ W half vectors instead of H W whole ones. A picture that is written block by "
                                      "block needs the size of its blocks, which fill it.",
                              .formula = "x_i + [R[row of i], K[column of i]]",
                              .source = {"Dosovitskiy et al.", 2021,
                                         "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
                                         "appendix D.4", "arXiv:2010.11929"},
                              .params = kLearned2dParams,
                              .time = "O(T C)",
                              .memory = "O((rows + columns) C) parameters",
                              .hooks = {{Stage::Inputs, buildLearned2d, referenceLearned2d}},
                              .knowsGrid = true};

const Part kUniversalPosition{
    .id = "universal",
    .slot = Slot::Position,
    .title = "Position and time",
    .idea = "Adds the sinusoid of the position and that of the layer, before every layer. A model that applies one "
            "shared layer again and again can then tell both the position and how often the layer has run.",
    .formula = "P(i,t) = f(i) + f(t), i and t from 1",
    .source = {"Dehghani et al.", 2019, "Universal Transformers", "section 2.1, equations 6 and 7", "arXiv:1807.03819"},
    .params = kBaseParams,
    .time = "O(T C) a layer",
    .memory = "O(T C)",
    .hooks = {{Stage::Inputs, buildUniversal, referenceUniversal}}};

} // namespace attn
