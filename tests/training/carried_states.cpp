#include "engine/core/rng.h"
#include "engine/data/reading_order.h"
#include "engine/io/safetensors.h"
#include "engine/io/tensor_writer.h"
#include "engine/ops/scan.h"
#include "engine/ops/tensor_ops.h"
#include "engine/training/checkpoint.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/training/short_runs.h"

#include <cmath>
#include <limits>

// States that go from batch to batch, the order in which batches read, and losses of other kinds: on a small recurrent
// network that reads a long text in windows.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int64_t kSymbols = 7, kWidth = 12, kTokens = 400;

/// What the tests vary.
struct Setup {
    int64_t columns = 8;
    bool guessesValue = false; ///< a second loss: how far the text is, as a number in each row
    double divergence = 0;     ///< weight of a third loss: agreement with a linear model of the newest symbol
};

std::vector<int32_t> text() {
    std::vector<int32_t> tokens;
    for (uint64_t i = 0; i < kTokens; ++i) // a symbol often repeats that of five places before
        tokens.push_back(i > 5 && uniform(streamSeed(5, "repeats"), i) < 0.7
                             ? tokens[i - 5]
                             : static_cast<int32_t>(uniform(streamSeed(5, "symbols"), i) * kSymbols));
    return tokens;
}

/// An LSTM whose states go from batch to batch.
class Recurrent : public Objective {
public:
    explicit Recurrent(Setup setup)
        : setup_(setup), tokens_(text()), order_{.kind = ReadingOrder::Kind::Continuing,
                                                 .tokens = kTokens,
                                                 .columns = static_cast<uint64_t>(setup.columns)} {}

    Forward forward(int rows, double, int64_t) const override {
        auto graph = std::make_shared<Graph>();
        const int64_t T = setup_.columns, all = rows * T;
        const auto zeroWhereNew = [&](const char* name) {
            const Tensor kept = graph->input("continues", {.shape = {rows, 1}});
            return std::pair(graph->state(name, {.shape = {rows, kWidth}}),
                             binary(graph->state(name, {.shape = {rows, kWidth}}), kept, Binary::Multiply));
        };
        const auto [hidden, firstHidden] = zeroWhereNew("lstm.hidden");
        const auto [cell, firstCell] = zeroWhereNew("lstm.cell");
        const Tensor ids = graph->input("ids", {.shape = {all}, .dtype = DType::I32});
        const Tensor gates = take(graph->parameter("embed.W_gates", {kSymbols, 4 * kWidth}), ids);
        const Scanned scanned =
            scan(Recurrence::Lstm, {.gates = reshape(gates, {rows, T, 4 * kWidth}),
                                    .recurrent = graph->parameter("lstm.W_recurrent", {4 * kWidth, kWidth}),
                                    .state = firstHidden,
                                    .cell = firstCell});
        const Tensor states = reshape(scanned.hidden, {all, kWidth});
        Forward result{.graph = graph, .losses = {}, .blocks = {}, .partTensors = {}};
        const auto read = [&](const char* name, int64_t outputs) {
            return batchedMatmul(states, graph->parameter(name, {kWidth, outputs}));
        };
        result.losses.push_back(
            {.name = Batch::kTargets, .prediction = read("readout.W_symbol", kSymbols), .perRow = T});
        if (setup_.guessesValue)
            result.losses.push_back({.name = "value",
                                     .prediction = read("readout.W_value", 2),
                                     .width = 2,
                                     .perRow = T,
                                     .weight = 0.5,
                                     .metric = "value_error",
                                     .kind = NamedLoss::Kind::SquaredError});
        if (setup_.divergence > 0)
            result.losses.push_back({.name = "agreement",
                                     .prediction = result.losses.front().prediction,
                                     .perRow = T,
                                     .weight = setup_.divergence,
                                     .metric = "agreement",
                                     .kind = NamedLoss::Kind::Divergence,
                                     .targets = Batch::kTargets,
                                     .teacher = take(graph->parameter("teacher.W", {kSymbols, kSymbols}), ids),
                                     .temperature = 2});
        result.updates = {{"lstm.hidden", assign(hidden, scanned.state, StepScalar::Beginning)},
                          {"lstm.cell", assign(cell, scanned.cell, StepScalar::Beginning)}};
        return result;
    }
    bool hasWindows() const override { return false; }
    const ModelStructure& structure() const override { return structure_; }
    Batch batch(Split, uint64_t index, int rows) const override {
        Batch batch{.rows = rows};
        const auto columns = static_cast<uint64_t>(setup_.columns);
        for (uint64_t row = 0; row < static_cast<uint64_t>(rows); ++row) {
            const ReadingOrder::Place place = order_.at(index, static_cast<uint64_t>(rows), row);
            batch[Batch::kContinues].push_back(place.continues ? 1 : 0);
            for (uint64_t column = 0; column < columns; ++column) {
                const uint64_t at = place.begin + column;
                batch[Batch::kInputs].push_back(tokens_[at]);
                batch[Batch::kTargets].push_back(at % 11 == 3 ? Batch::kIgnored : tokens_[at + 1]);
                const bool isUnknown = at % 3 == 1;
                for (const double each : {std::sin(0.1 * static_cast<double>(at)), 0.5})
                    batch.numbers["value"].push_back(isUnknown ? std::numeric_limits<float>::quiet_NaN()
                                                               : static_cast<float>(each));
            }
        }
        return batch;
    }
    Batch questions(Split split, uint64_t first, int rows) const override { return batch(split, first, rows); }
    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional<uint64_t>((kTokens - 1) / order_.columns);
    }
    std::optional<int> rowsTogether(const Recipe& recipe) const override { return recipe.batch; }
    void fill(GpuExecutor& executor, const Batch& batch) const override {
        std::ranges::copy(batch[Batch::kInputs], executor.inputIntegers("ids").begin());
        for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row)
            executor.input("continues")[row * 4] = static_cast<float>(batch[Batch::kContinues][row]);
    }
    bool isNew(const std::string&) const override { return false; }
    std::vector<float> startOf(const std::string&, const Shape&, std::vector<float> fresh) const override {
        for (float& value : fresh) value *= 10;
        return fresh;
    }
    std::string startSentence() const override { return {}; }
    void writeModel(const std::filesystem::path& folder, const ReadParameter& read) const override {
        std::filesystem::create_directories(folder);
        std::vector<std::vector<float>> values;
        std::vector<WrittenTensor> written;
        const std::shared_ptr<const Graph> graph = forward(1, 0, 1).graph;
        for (const Node* node : storedParameters(*graph)) {
            values.push_back(read(node->name));
            written.push_back({.name = node->name, .shape = node->outputs[0].shape.extents()});
        }
        for (size_t i = 0; i < written.size(); ++i) written[i].values = values[i];
        writeSafetensors(folder / "model.safetensors", written);
    }
    std::optional<WeightRecipe> placeOf(const std::string&) const override { return std::nullopt; }
    ReadStored openModel(const std::filesystem::path& folder) const override {
        auto file = std::make_shared<SafetensorsFile>(folder / "model.safetensors");
        return [file](const std::string& name, const Shape& shape, const RowWriter& write) {
            std::vector<float> values(static_cast<size_t>(shape.elements()));
            file->read(file->tensors().at(name), 0, values);
            writeRows(values, shape, write);
        };
    }
    std::shared_ptr<const WeightSet::Model> describe() const override { return nullptr; }

private:
    Setup setup_;
    std::vector<int32_t> tokens_;
    ReadingOrder order_;
    ModelStructure structure_;
};

Recipe recipeOf(int rows, double rate = 0) {
    Recipe recipe{.task = "text", .batch = rows};
    recipe.schedule = {.kind = Schedule::Kind::Constant, .rate = rate, .warmUp = 0, .steps = 1000};
    recipe.optimiser.decay = 0;
    return recipe;
}

std::unique_ptr<Trainer> trainerOf(const Recipe& recipe, const Setup& setup) {
    return std::make_unique<Trainer>(recipe, onOneThread(), GpuExecutorOptions{},
                                     [&](Recipe&) { return std::make_unique<Recurrent>(setup); });
}

/// The parameters in double precision, and the losses by plain loops, after PyTorch's formulas of an LSTM.
struct ByLoops {
    const Trainer& trainer;
    std::vector<float> embed = trainer.read("embed.W_gates"), recurrent = trainer.read("lstm.W_recurrent"),
                       symbols = trainer.read("readout.W_symbol");
    std::vector<double> hidden = std::vector<double>(kWidth), cell = std::vector<double>(kWidth);

    /// Reads a symbol. @return the hidden state
    const std::vector<double>& read(int32_t symbol) {
        const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        std::vector<double> gates(4 * kWidth), next(kWidth);
        for (size_t g = 0; g < gates.size(); ++g) {
            gates[g] = static_cast<double>(embed[static_cast<size_t>(symbol) * gates.size() + g]);
            for (size_t i = 0; i < kWidth; ++i) gates[g] += static_cast<double>(recurrent[g * kWidth + i]) * hidden[i];
        }
        for (size_t i = 0; i < kWidth; ++i) { // input, forget, cell, output
            cell[i] = sigmoid(gates[kWidth + i]) * cell[i] + sigmoid(gates[i]) * std::tanh(gates[2 * kWidth + i]);
            next[i] = sigmoid(gates[3 * kWidth + i]) * std::tanh(cell[i]);
        }
        return hidden = next;
    }
    static std::vector<double> product(const std::vector<double>& x, const std::vector<float>& w, size_t outputs) {
        std::vector<double> result(outputs);
        for (size_t i = 0; i < x.size(); ++i)
            for (size_t out = 0; out < outputs; ++out) result[out] += x[i] * static_cast<double>(w[i * outputs + out]);
        return result;
    }
    static double logOf(const std::vector<double>& logits, size_t choice, double temperature = 1) {
        double sum = 0;
        for (const double each : logits) sum += std::exp(each / temperature);
        return logits[choice] / temperature - std::log(sum);
    }
};

} // namespace

TEST_CASE("reading order: a row continues the same row of the batch before, and all rows read all windows",
          "[training]") {
    const ReadingOrder order{.kind = ReadingOrder::Kind::Continuing, .tokens = 97, .columns = 8};
    std::set<uint64_t> seen; // 12 windows, of which each of three rows reads four
    for (uint64_t index = 0; index < 4; ++index)
        for (uint64_t row = 0; row < 3; ++row) {
            const auto place = order.at(index, 3, row);
            CHECK(place.continues == (index > 0));
            if (index > 0) CHECK(place.begin == order.at(index - 1, 3, row).begin + 8);
            CHECK(place.begin + 8 < 97);
            seen.insert(place.begin);
        }
    CHECK(seen.size() == 12);
    for (uint64_t row = 0; row < 3; ++row) CHECK(order.at(4, 3, row) == order.at(0, 3, row)); // and again
    for (uint64_t row = 0; row < 40; ++row) CHECK(order.at(9, 40, row).begin + 8 < 97);       // more rows than windows
}

TEST_CASE("carried states: windows one after the other have the losses of one long sequence", "[training][gpu]") {
    constexpr int kRows = 3, kWindows = 5;
    const auto windows = trainerOf(recipeOf(kRows), {.columns = 8});
    const std::vector<double> found = losses(*windows, kWindows);
    ByLoops expected{*windows};
    const std::vector<int32_t> tokens = text();
    const ReadingOrder order{.kind = ReadingOrder::Kind::Continuing, .tokens = kTokens, .columns = 8};
    std::vector<double> sums(kWindows), counts(kWindows);
    for (uint64_t row = 0; row < kRows; ++row) {
        expected.hidden.assign(kWidth, 0);
        expected.cell.assign(kWidth, 0);
        const uint64_t begin = order.at(0, kRows, row).begin;
        for (uint64_t i = 0; i < 8 * kWindows; ++i) {
            const uint64_t at = begin + i;
            const auto logits = ByLoops::product(expected.read(tokens[at]), expected.symbols, kSymbols);
            if (at % 11 == 3) continue;
            sums[i / 8] -= ByLoops::logOf(logits, static_cast<size_t>(tokens[at + 1]));
            ++counts[i / 8];
        }
    }
    for (size_t i = 0; i < kWindows; ++i) CHECK(found[i] == Approx(sums[i] / counts[i]).epsilon(1e-5)); // floats

    // A text that begins again finds no state: the first loss comes back.
    const auto again = trainerOf(recipeOf(kRows), {.columns = 8});
    const uint64_t perRow = (kTokens - 1) / 8 / kRows;
    const std::vector<double> all = losses(*again, static_cast<int>(perRow) + 1);
    CHECK(all.back() == all.front());
}

TEST_CASE("carried states: gradients accumulate over batches that continue one another", "[training][gpu]") {
    Recipe recipe = recipeOf(6);
    recipe.accumulation = 2;
    const auto parts = trainerOf(recipe, {}), whole = trainerOf(recipeOf(3), {});
    const std::vector<double> one = losses(*whole, 4), two = losses(*parts, 2);
    // The numbers of targets differ between batches, so that means are compared roughly: 5 %.
    for (size_t i = 0; i < 2; ++i) CHECK(two[i] == Approx((one[2 * i] + one[2 * i + 1]) / 2).epsilon(0.05));
}

TEST_CASE("carried states: a run that resumes has the same bits", "[training][gpu]") {
    const TemporaryFolder folder;
    const Setup setup{.guessesValue = true};
    const auto alone = trainerOf(recipeOf(3, 1e-2), setup), before = trainerOf(recipeOf(3, 1e-2), setup),
               after = trainerOf(recipeOf(3, 1e-2), setup);
    const std::vector<double> expected = losses(*alone, 9);
    CHECK(expected != losses(*trainerOf(recipeOf(3), setup), 9));
    losses(*before, 4);
    before->evaluate(Split::Validation, 20); // has states of its own
    resume(*after, saveCheckpoint(folder / "run", *before));
    CHECK(losses(*after, 5) == std::vector<double>(expected.begin() + 4, expected.end()));
    CHECK(after->read("lstm.cell") == alone->read("lstm.cell"));
}

TEST_CASE("carried states: an evaluation reads its text as one, from no state on, as often as it is asked",
          "[training][gpu]") {
    const auto windows = trainerOf(recipeOf(2), {.columns = 8}), longer = trainerOf(recipeOf(2), {.columns = 24});
    losses(*windows, 3);
    const double first = windows->evaluate(Split::Validation, 48).loss; // 2 rows of 24 windows of 8
    CHECK(windows->evaluate(Split::Validation, 48).loss == first);
    CHECK(longer->evaluate(Split::Validation, 16).loss == Approx(first).epsilon(1e-5)); // 2 rows of 8 of 24
}

TEST_CASE("losses: a squared error and a divergence are what plain loops compute", "[training][gpu]") {
    constexpr double kDivergence = 0.25;
    const auto trainer = trainerOf(recipeOf(3), {.guessesValue = true, .divergence = kDivergence});
    const Evaluation evaluation = trainer->evaluate(Split::Validation, 3); // one batch
    ByLoops expected{*trainer};
    const std::vector<float> readout = trainer->read("readout.W_value"), teacher = trainer->read("teacher.W");
    const std::vector<int32_t> tokens = text();
    const Batch batch = trainer->objective().batch(Split::Validation, 0, 3);
    double entropy = 0, error = 0, divergence = 0, targets = 0, values = 0;
    for (size_t at = 0; at < batch[Batch::kInputs].size(); ++at) {
        if (at % 8 == 0) expected.hidden.assign(kWidth, 0), expected.cell.assign(kWidth, 0);
        const int32_t symbol = batch[Batch::kInputs][at], target = batch[Batch::kTargets][at];
        const std::vector<double> state = expected.read(symbol);
        const auto logits = ByLoops::product(state, expected.symbols, kSymbols),
                   guess = ByLoops::product(state, readout, 2);
        const std::vector<float>& wanted = batch.numbersOf("value");
        if (!std::isnan(wanted[2 * at])) {
            for (size_t i = 0; i < 2; ++i) error += std::pow(guess[i] - static_cast<double>(wanted[2 * at + i]), 2) / 2;
            ++values;
        }
        if (target == Batch::kIgnored) continue;
        ++targets;
        entropy -= ByLoops::logOf(logits, static_cast<size_t>(target));
        std::vector<double> taught(kSymbols);
        for (size_t i = 0; i < kSymbols; ++i)
            taught[i] = static_cast<double>(teacher[static_cast<size_t>(symbol) * kSymbols + i]);
        for (size_t i = 0; i < kSymbols; ++i) {
            const double log = ByLoops::logOf(taught, i, 2);
            divergence += 4 * std::exp(log) * (log - ByLoops::logOf(logits, i, 2));
        }
    }
    CHECK(targets < static_cast<double>(batch[Batch::kInputs].size()));
    CHECK(evaluation.shares.at("value_error") == Approx(error / values).epsilon(1e-5)); // floats
    CHECK(evaluation.shares.at("agreement") == Approx(divergence / targets).epsilon(1e-4));
    const double all = entropy / targets + 0.5 * error / values + kDivergence * divergence / targets;
    CHECK(evaluation.loss == Approx(all).epsilon(1e-5));
    CHECK(losses(*trainer, 1).front() == Approx(all).epsilon(1e-5)); // training adds the same
}

TEST_CASE("losses: a squared error and a divergence become small", "[training][gpu]") {
    // The divergence is to become small although the entropy pulls away from the teacher: it weighs more.
    const auto guesses = trainerOf(recipeOf(3, 1e-2), {.guessesValue = true, .divergence = 1}),
               agrees = trainerOf(recipeOf(3, 1e-2), {.guessesValue = true, .divergence = 100});
    const auto before = guesses->evaluate(Split::Validation, 48).shares;
    losses(*guesses, 100);
    losses(*agrees, 100);
    CHECK(guesses->evaluate(Split::Validation, 48).shares.at("value_error") < 0.5 * before.at("value_error"));
    CHECK(agrees->evaluate(Split::Validation, 48).shares.at("agreement") < before.at("agreement"));
}
