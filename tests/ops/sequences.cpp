#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "tests/ops/on_host.h"
#include "tests/support/device.h"

#include <limits>

using namespace attn;
using namespace attn::test;

// What models rely on where sequences come in parts, end early, or run beside others: the same bits, not nearly the
// same numbers (decision 0073).

namespace {

/// Which part of the rows [B,T,C] of a sequence operation a case runs.
struct Part {
    int64_t b = 0, B = 3, t = 0, T = 9;
};

/// Numbers of a whole, of which cases take parts.
class Whole {
public:
    explicit Whole(Shape shape) : shape_(std::move(shape)) {
        Case t;
        t.real("x", shape_);
        values_ = t.values.at("x");
    }
    /// An input of the sequences and rows of a part. Tensors [B,C] have no rows.
    Tensor input(Case& t, const std::string& name, const Part& part) const {
        std::vector<int64_t> extents = shape_.extents();
        const bool hasRows = extents.size() == 3;
        const int64_t columns = shape_.columns(), rows = hasRows ? shape_[1] : 1;
        extents[0] = part.B;
        if (hasRows) extents[1] = part.T;
        std::vector<double>& to = t.values[name];
        for (int64_t b = part.b; b < part.b + part.B; ++b)
            for (int64_t row = hasRows ? part.t : 0; row < (hasRows ? part.t + part.T : 1); ++row)
                to.insert(to.end(), values_.begin() + (b * rows + row) * columns,
                          values_.begin() + (b * rows + row + 1) * columns);
        return t.graph->input(name, {.shape = Shape(extents)});
    }

private:
    Shape shape_;
    std::vector<double> values_;
};

/// The rows of some sequences of a result [B,T,C], or [B,C] with T = 1.
std::vector<float> rowsOf(const std::vector<float>& all, int64_t C, int64_t T, const Part& part) {
    std::vector<float> rows;
    for (int64_t b = part.b; b < part.b + part.B; ++b)
        rows.insert(rows.end(), all.begin() + (b * T + part.t) * C, all.begin() + (b * T + part.t + part.T) * C);
    return rows;
}

std::vector<double> numbersOf(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// A recurrent network on a part of its sequences.
class Network {
public:
    explicit Network(Recurrence kind)
        : kind_(kind), gates_(kind == Recurrence::Lstm  ? 4
                              : kind == Recurrence::Gru ? 3
                                                        : 1),
          x_({3, 9, gates_ * kWidth}), recurrent_({1, gates_ * kWidth, kWidth}), state_({3, kWidth}),
          cell_({3, kWidth}) {}
    static constexpr int64_t kWidth = 37;

    /// @param from results of a run of the rows before; null for the beginning
    Results run(const Part& part, const Results* from = nullptr) const {
        host::Pool pool(2);
        Case t;
        ScanInputs in{.gates = x_.input(t, "x", part)};
        const Tensor matrix = recurrent_.input(t, "r", {.b = 0, .B = 1, .t = 0, .T = gates_ * kWidth});
        in.recurrent = reshape(matrix, {gates_ * kWidth, kWidth});
        in.state = state_.input(t, "h", part);
        if (kind_ == Recurrence::Lstm) in.cell = cell_.input(t, "c", part);
        if (from != nullptr)
            for (const auto& [name, result] : {std::pair{"h", "state"}, {"c", "cell"}})
                if (from->contains(result)) t.values[name] = numbersOf(from->at(result));
        const Scanned out = scan(kind_, in);
        t.expect("hidden", out.hidden);
        t.expect("state", out.state);
        if (out.cell) t.expect("cell", out.cell);
        return runOnHost(t, pool);
    }

private:
    Recurrence kind_;
    int64_t gates_;
    Whole x_, recurrent_, state_, cell_;
};

constexpr std::array kNetworks{Recurrence::Elman, Recurrence::Lstm, Recurrence::Gru};

} // namespace

TEST_CASE("scan: a sequence has the same bits alone and beside others", "[ops][host]") {
    for (const Recurrence kind : kNetworks) {
        const Network network(kind);
        const Results all = network.run({});
        for (int64_t b = 0; b < 3; ++b) {
            const Part one{.b = b, .B = 1};
            const Results alone = network.run(one);
            CHECK(alone.at("hidden") == rowsOf(all.at("hidden"), Network::kWidth, 9, one));
            CHECK(alone.at("state") == rowsOf(all.at("state"), Network::kWidth, 1, {.b = b, .B = 1, .T = 1}));
        }
    }
}

TEST_CASE("scan: a sequence has the same bits whole and in parts, each from the last state of the one before",
          "[ops][host]") {
    for (const Recurrence kind : kNetworks) {
        const Network network(kind);
        const Results all = network.run({});
        Results before = network.run({.t = 0, .T = 4});
        for (const Part& part : {Part{.t = 4, .T = 1}, Part{.t = 5, .T = 4}}) {
            before = network.run(part, &before);
            CHECK(before.at("hidden") == rowsOf(all.at("hidden"), Network::kWidth, 9, part));
        }
        CHECK(before.at("state") == all.at("state"));
    }
}

namespace {

/// A sequence operation on part of its rows, from the last state of another run or from the beginning.
using Run = std::function<Results(const Part& part, const Results* from)>;

/// @param rows,state names of results [B,T,C] and [B,...]
void checkParts(const Run& run, const std::string& rows, int64_t columns) {
    const Results all = run({}, nullptr);
    const auto states = static_cast<int64_t>(all.at("state").size()) / 3;
    for (int64_t b = 0; b < 3; ++b) {
        const Part one{.b = b, .B = 1};
        const Results alone = run(one, nullptr);
        CHECK(alone.at(rows) == rowsOf(all.at(rows), columns, 9, one));
        CHECK(alone.at("state") == rowsOf(all.at("state"), states, 1, {.b = b, .B = 1, .T = 1}));
    }
    Results before = run({.t = 0, .T = 4}, nullptr);
    for (const Part& part : {Part{.t = 4, .T = 1}, Part{.t = 5, .T = 4}}) {
        before = run(part, &before);
        CHECK(before.at(rows) == rowsOf(all.at(rows), columns, 9, part));
    }
    CHECK(before.at("state") == all.at("state"));
}

} // namespace

TEST_CASE("linear_scan: a sequence has the same bits alone, beside others, whole and in parts", "[ops][host]") {
    constexpr int64_t kWidth = 38;
    const Whole a({3, 9, kWidth}), b({3, 9, kWidth}), state({3, kWidth});
    for (const bool isComplex : {false, true})
        checkParts(
            [&](const Part& part, const Results* from) {
                host::Pool pool(2);
                Case t;
                const Tensor factors = a.input(t, "a", part), rows = b.input(t, "b", part),
                             first = state.input(t, "h", part);
                if (from != nullptr) t.values["h"] = numbersOf(from->at("state"));
                const LinearScanned out = linearScan({.a = factors, .b = rows, .state = first, .isComplex = isComplex});
                t.expect("hidden", out.hidden);
                t.expect("state", out.state);
                return runOnHost(t, pool);
            },
            "hidden", kWidth);
}

TEST_CASE("selective_scan: a sequence has the same bits alone, beside others, whole and in parts", "[ops][host]") {
    constexpr int64_t kWidth = 37, kStates = 5;
    const Whole x({3, 9, kWidth}), step({3, 9, kWidth}), in({3, 9, kStates}), out({3, 9, kStates}),
        decay({1, kWidth, kStates}), state({3, kStates, kWidth});
    checkParts(
        [&](const Part& part, const Results* from) {
            host::Pool pool(2);
            Case t;
            SelectiveScanInputs of{.x = x.input(t, "x", part),
                                   .step = unary(step.input(t, "step", part), Unary::Square),
                                   .in = in.input(t, "in", part),
                                   .out = out.input(t, "out", part)};
            const Tensor squares = unary(decay.input(t, "decay", {.B = 1, .T = kWidth}), Unary::Square);
            of.decay = reshape(unary(squares, Unary::Negate), {kWidth, kStates});
            of.state = state.input(t, "h", {.b = part.b, .B = part.B, .T = kStates});
            if (from != nullptr) t.values["h"] = numbersOf(from->at("state"));
            const SelectivelyScanned result = selectiveScan(of);
            t.expect("y", result.y);
            t.expect("state", result.state);
            return runOnHost(t, pool);
        },
        "y", kWidth);
}

namespace {

/// The results of a graph on a device, by shaders or by the kernels of the processor.
std::map<std::string, std::vector<double>> runOn(TestDevice& device, bool usesHost, const Case& test) {
    const auto plan = compile(test.graph, test.outputs);
    KernelTraits traits = device.kernelTraits();
    traits.usesHost = usesHost;
    TensorStore store(device);
    GpuExecutor executor(device, store, plan, {.traits = traits});
    for (const PlannedTensor& tensor : plan->tensors)
        if (tensor.home == Home::Input) writeInput(executor, tensor.name, tensor.type, test.values.at(tensor.name));
    executor.run(test.step);
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, tensor] : test.outputs) results[name] = denseResult(executor, name);
    return results;
}

} // namespace

TEST_CASE("scans: rows beyond a sequence's length change no result and no gradient, whatever they hold", "[ops][gpu]") {
    constexpr int64_t B = 3, T = 70, W = 6, N = 4;
    const auto build = [](Case& t, int kind) {
        t.values["lengths"] = {40, 0, 70};
        const Tensor lengths = t.graph->input("lengths", {.shape = {B}, .dtype = DType::I32});
        if (kind < 3) {
            const int64_t gates = kind == 1 ? 4 : kind == 2 ? 3 : 1;
            const Scanned out = scan(static_cast<Recurrence>(kind), {.gates = t.real("x", {B, T, gates * W}),
                                                                     .recurrent = t.real("r", {gates * W, W}, {}, 0.3),
                                                                     .state = t.real("h", {B, W}),
                                                                     .cell = kind == 1 ? t.real("c", {B, W}) : Tensor(),
                                                                     .bias = kind == 2 ? t.real("b", {W}) : Tensor(),
                                                                     .lengths = lengths});
            return std::vector{out.hidden, out.state};
        }
        if (kind < 5) {
            const LinearScanned out = linearScan({.a = t.real("x", {B, T, W}, {}, 0.4),
                                                  .b = t.real("x2", {B, T, W}),
                                                  .state = t.real("h", {B, W}),
                                                  .lengths = lengths,
                                                  .isComplex = kind == 4});
            return std::vector{out.hidden, out.state};
        }
        const SelectivelyScanned out = selectiveScan({.x = t.real("x", {B, T, W}),
                                                      .step = t.real("x2", {B, T, W}, {}, 0.1),
                                                      .decay = t.real("decay", {W, N}),
                                                      .in = t.real("x3", {B, T, N}),
                                                      .out = t.real("x4", {B, T, N}),
                                                      .state = t.real("h", {B, N, W}),
                                                      .skip = t.real("skip", {W}),
                                                      .lengths = lengths});
        return std::vector{out.y, out.state};
    };
    TestDevice device;
    for (int kind = 0; kind < 6; ++kind) {
        Case t;
        const std::vector<Tensor> results = build(t, kind);
        std::vector<std::string> names;
        std::vector<Tensor> sources;
        for (uint32_t id = 0; id < t.graph->size(); ++id)
            if (t.graph->node(id).kind == NodeKind::Input && t.graph->node(id).name != "lengths") {
                names.push_back(t.graph->node(id).name);
                sources.push_back({t.graph.get(), id, 0});
            }
        const Tensor loss = add(sum(multiply(results[0], t.real("direction", results[0].shape()))), sum(results[1]));
        const std::vector<Tensor> gradients = gradient(loss, sources);
        t.expect("rows", results[0]);
        t.expect("state", results[1]);
        for (size_t i = 0; i < names.size(); ++i) t.expect("d " + names[i], gradients[i]);
        Case other = t;
        for (auto& [name, values] : other.values) {
            if (!name.starts_with("x") && name != "direction") continue;
            const auto columns = static_cast<int64_t>(values.size()) / (B * T);
            for (int64_t b = 0; b < B; ++b)
                for (auto row = static_cast<int64_t>(t.values["lengths"][static_cast<size_t>(b)]); row < T; ++row)
                    std::fill_n(values.begin() + (b * T + row) * columns, columns,
                                name == "direction" ? 7 : std::numeric_limits<double>::quiet_NaN());
        }
        for (const bool usesHost : device.hostChoices()) {
            const auto expected = runOn(device, usesHost, t), found = runOn(device, usesHost, other);
            for (const auto& [name, list] : expected) {
                INFO("kind " << kind << ", " << name << (usesHost ? " by the processor" : " by shaders"));
                CHECK((found.at(name) == list));
                if (name != "rows" && !name.starts_with("d x")) continue;
                const auto columns = static_cast<int64_t>(list.size()) / (B * T);
                CHECK(std::all_of(list.begin() + 40 * columns, list.begin() + 2 * T * columns,
                                  [](double value) { return value == 0; })); // the end of the first, and the second
            }
        }
    }
}

TEST_CASE("convolve: a row has the same bits whatever rows and sequences are beside it", "[ops][host]") {
    constexpr int64_t kWidth = 37, kTaps = 4;
    const Whole x({3, 9, kWidth}), w({1, kWidth, kWidth * kTaps});
    for (const int64_t groups : {int64_t{1}, kWidth}) {
        const auto run = [&](const Part& part) {
            host::Pool pool(2);
            Case t;
            const Tensor kernel = w.input(t, "w", {.B = 1, .T = kWidth}), rows = x.input(t, "x", part);
            const int64_t each = kWidth / groups * kTaps;
            t.expect("out", convolve(rows, reshape(slice(kernel, 2, 0, each), {kWidth, kWidth / groups, kTaps}), {},
                                     {ConvolutionAxis::causal(kTaps, 2)}, groups));
            return runOnHost(t, pool).at("out");
        };
        const std::vector<float> all = run({});
        for (const int64_t rows : {1, 5, 9})
            for (int64_t b = 0; b < 3; ++b) {
                const Part part{.b = b, .B = 1, .T = rows};
                CHECK(run(part) == rowsOf(all, kWidth, 9, part));
            }
    }
}

TEST_CASE("selective_scan: training keeps no state of each row, and grows with the rows alone", "[ops]") {
    constexpr int64_t kWidth = 64, kStates = 64;
    const auto bytes = [](int64_t rows) {
        Case t;
        const Shape wide{1, rows, kWidth}, small{1, rows, kStates};
        const SelectiveScanInputs in{.x = t.real("x", wide),
                                     .step = t.real("step", wide),
                                     .decay = t.real("decay", {kWidth, kStates}),
                                     .in = t.real("in", small),
                                     .out = t.real("out", small),
                                     .state = t.real("h", {1, kStates, kWidth})};
        const auto gradients = gradient(sum(selectiveScan(in).y), std::vector{in.x, in.decay, in.in});
        return static_cast<double>(
            compile(t.graph, {{"x", gradients[0]}, {"decay", gradients[1]}, {"in", gradients[2]}})->arenaBytes);
    };
    CHECK(bytes(4096) < 2.1 * bytes(2048));
    CHECK(bytes(4096) < 4096.0 * kWidth * kStates * 4 / 4); // a quarter of all states
}

TEST_CASE("grouped_matmul: a row has the same bits whatever rows are in its group", "[ops][host]") {
    constexpr int64_t kWidth = 37, kRows = 9;
    const Whole x({1, kRows, kWidth}), w({1, 3 * kWidth, kWidth});
    const auto run = [&](const Part& part, std::vector<double> begins) {
        host::Pool pool(2);
        Case t;
        const Tensor rows = x.input(t, "x", part), matrices = w.input(t, "w", {.B = 1, .T = 3 * kWidth});
        t.values["begins"] = std::move(begins);
        t.expect("out", groupedMatmul(reshape(rows, {part.T, kWidth}), reshape(matrices, {3, kWidth, kWidth}),
                                      t.graph->input("begins", {.shape = {4}, .dtype = DType::I32})));
        return runOnHost(t, pool).at("out");
    };
    const std::vector<float> all = run({.B = 1}, {0, 7, 7, 9});
    for (int64_t row = 0; row < kRows; ++row) {
        const Part one{.B = 1, .t = row, .T = 1};
        const std::vector<double> begins = row < 7 ? std::vector<double>{0, 1, 1, 1} : std::vector<double>{0, 0, 0, 1};
        CHECK(run(one, begins) == rowsOf(all, kWidth, kRows, one));
    }
}

TEST_CASE("gather_pages: rows come from the pages that the table names, zeros from those that do not exist",
          "[ops][host]") {
    for (const int64_t C : {4, 5}) {
        host::Pool pool(2);
        Case t;
        const Tensor pages = t.real("pages", {4, 3, C});
        t.values["table"] = {2, 0, -1, 3, 3, 4};
        t.expect("out", gatherPages(pages, t.graph->input("table", {.shape = {2, 3}, .dtype = DType::I32})));
        const std::vector<float> out = runOnHost(t, pool).at("out");
        for (int64_t i = 0; i < 2 * 9 * C; ++i) {
            const auto page = static_cast<int64_t>(t.values["table"][static_cast<size_t>(i / C / 3)]);
            const double expected =
                page < 0 || page > 3 ? 0 : t.values["pages"][static_cast<size_t>(page * 3 * C + i % (3 * C))];
            CHECK(static_cast<double>(out[static_cast<size_t>(i)]) == expected);
        }
    }
}

TEST_CASE("scan: the last state may live in the graph until the next step", "[ops][gpu]") {
    constexpr int64_t T = 3, W = 5;
    Case whole;
    const Tensor gates = whole.real("x", {1, 2 * T, 4 * W}), recurrent = whole.real("r", {4 * W, W}),
                 none = fill(*whole.graph, {1, W}, 0);
    whole.expect("hidden",
                 scan(Recurrence::Lstm, {.gates = gates, .recurrent = recurrent, .state = none, .cell = none}).hidden);
    TestDevice device;
    for (const bool usesHost : device.hostChoices()) {
        const std::vector<double> expected = runOn(device, usesHost, whole).at("hidden");
        Case step;
        const Tensor state = step.graph->state("state", {.shape = {1, W}}),
                     cell = step.graph->state("cell", {.shape = {1, W}});
        const Scanned out = scan(Recurrence::Lstm, {.gates = step.real("x", {1, T, 4 * W}),
                                                    .recurrent = step.real("r", {4 * W, W}),
                                                    .state = state,
                                                    .cell = cell});
        const auto plan = compile(step.graph, {{"hidden", out.hidden},
                                               {"state", assign(state, out.state, StepScalar::Beginning)},
                                               {"cell", assign(cell, out.cell, StepScalar::Beginning)}});
        KernelTraits traits = device.kernelTraits();
        traits.usesHost = usesHost;
        TensorStore store(device);
        reserveSources(store, *plan);
        for (const char* name : {"state", "cell"}) writeDense(store, name, std::vector<double>(W, 0));
        GpuExecutor executor(device, store, plan, {.traits = traits});
        writeInput(executor, "r", recurrent.type(), whole.values.at("r"));
        for (int64_t i = 0; i < 2; ++i) {
            const auto first = whole.values.at("x").begin() + i * T * 4 * W;
            writeInput(executor, "x", {.shape = {1, T, 4 * W}}, {first, first + T * 4 * W});
            executor.run(step.step);
            CHECK(denseResult(executor, "hidden") ==
                  std::vector<double>(expected.begin() + i * T * W, expected.begin() + (i + 1) * T * W));
        }
    }
}
