#include "engine/inference/cell_explainer.h"
#include "engine/inference/language_model.h"
#include "engine/io/json_file.h"
#include "engine/io/weight_source.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/io/files.h"
#include "tests/models/golden_cases.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

// Encoders for text against PyTorch: tests/golden/README.md.

using namespace attn;
using namespace attn::test;

namespace {

std::vector<double> denseParameter(const ModelSource& source, const std::string& name, const Shape& shape) {
    std::vector<double> dense;
    source.read(name, shape, [&](const auto& fill) {
        const int64_t rows = shape.rank() == 1 ? 1 : shape.rows(), stride = shape.rowStride();
        std::vector<float> padded(static_cast<size_t>(rows * stride));
        fill(0, padded);
        for (int64_t row = 0; row < rows; ++row)
            dense.insert(dense.end(), padded.begin() + row * stride, padded.begin() + row * stride + shape.columns());
    });
    return dense;
}

/// The hooks of a golden, computed by the ops' references with `padding` rows behind the text.
void checkReferences(const std::string& name, int64_t padding) {
    const Golden golden(name);
    const auto source = openModelSource((kGoldenRoot / name).string());
    const ModelSpec& config = source->config();
    const std::vector<int> tokens = golden.integers("tokens"), types = golden.integers("token_types");
    const auto count = static_cast<int64_t>(tokens.size()), rows = count + padding;
    const ModelGraph built = buildModel(config, {.queries = rows});
    std::map<std::string, Tensor> outputs;
    for (const auto& [hook, probe] : built.graph->probes())
        if (golden.contains(hook)) outputs.emplace("result " + hook, probe.tensor);
    REQUIRE(outputs.size() >= 22);
    CHECK(outputs.contains("result logits") == (config.readout() == TextReadout::MaskedToken));

    const auto plan = compile(built.graph, outputs);
    CpuExecutor executor(plan, {.poisonArena = true});
    const auto isRead = [&](const std::string& tensor) { // the readout of two texts is not
        return std::ranges::find(plan->tensors, tensor, &PlannedTensor::name) != plan->tensors.end();
    };
    for (uint32_t id = 0; id < built.graph->size(); ++id) {
        const Node& node = built.graph->node(id);
        const Shape& shape = node.outputs.front().shape;
        if (!isRead(node.name)) continue;
        const auto constant = std::ranges::find(built.partTensors.constants, node.name, &FlowConstant::name);
        if (constant != built.partTensors.constants.end()) {
            const std::vector<float> values = constant->values();
            executor.set(node.name, std::vector<double>(values.begin(), values.end()));
        } else if (node.kind == NodeKind::Parameter)
            executor.set(node.name, denseParameter(*source, node.name, shape));
        else if (node.kind == NodeKind::Input && node.name.ends_with("gates"))
            executor.set(node.name, std::vector<double>(static_cast<size_t>(shape[0]), 1));
    }
    const auto integers = [&](const char* input, const std::function<int64_t(int64_t)>& at) {
        if (!isRead(input)) return;
        std::vector<double> values;
        for (int64_t row = 0; row < rows; ++row) values.push_back(static_cast<double>(at(row)));
        executor.set(input, values);
    };
    // Rows of padding hold any tokens and see everything. No query of the text may reach their keys.
    const auto inText = [&](int64_t row) { return row < count; };
    const auto at = [](const std::vector<int>& list, int64_t row) { return list[static_cast<size_t>(row)]; };
    integers(decoder_names::kTokens, [&](int64_t row) { return inText(row) ? at(tokens, row) : row; });
    integers(decoder_names::kPositions, [&](int64_t row) { return inText(row) ? row : 1; });
    integers(decoder_names::kKeyPositions, [&](int64_t row) { return inText(row) ? row : -config.context; });
    const std::vector<int32_t> positionsOfText = positionRows(config, tokens);
    integers(decoder_names::kPositionRows,
             [&](int64_t row) { return inText(row) ? positionsOfText[static_cast<size_t>(row)] : 0; });
    if (config.tokens.types > 0)
        integers(decoder_names::kTokenTypes, [&](int64_t row) { return inText(row) ? at(types, row) : 1; });
    executor.run({});
    for (const auto& [result, tensor] : outputs) {
        const std::string hook = result.substr(7);
        const std::string& axes = built.graph->probes().at(hook).axes;
        const std::vector<double> padded = executor.get(result);
        std::vector<double> values; // without the rows and columns of padding
        std::vector<int64_t> extents = tensor.shape().extents(), cut = extents, place(extents.size(), 0);
        for (size_t axis = 0; axis < cut.size(); ++axis)
            if (axes[axis] == 'T' || axes[axis] == 'S') cut[axis] = count;
        for (const double value : padded) {
            bool isKept = true;
            for (size_t axis = 0; axis < cut.size(); ++axis) isKept = isKept && place[axis] < cut[axis];
            if (isKept) values.push_back(value);
            for (size_t axis = cut.size(); axis-- > 0 && ++place[axis] == extents[axis];) place[axis] = 0;
        }
        INFO(name << ", " << hook << ", " << padding << " rows of padding");
        // Both compute in float64; the golden is rounded to float32 (values below 16: 1e-6).
        CHECK(farthest(golden.values(hook), values) < 2e-6);
    }
}

} // namespace

TEST_CASE("encoders: the references of the operations give PyTorch's values, with and without padding", "[models]") {
    for (const auto& [name, family, T, classes] : goldenCases("encoder_cases.json"))
        for (const int64_t padding : {0, 3}) checkReferences(name, padding);
}

TEST_CASE("encoders: logits, patterns and every hook on the device agree with PyTorch within 1e-4", "[models][gpu]") {
    const auto cases = goldenCases("encoder_cases.json");
    REQUIRE(cases.size() == 10);
    for (const auto& [name, family, T, classes] : cases) {
        INFO(name);
        LanguageModel model(openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}});
        CHECK(model.info().family == family);
        CHECK(model.info().structure.streams.front().name == "encoder");
        const Golden golden(name);
        std::string hooks;
        for (const std::string& hook : model.info().hooks)
            if (golden.contains(hook)) hooks += (hooks.empty() ? "" : ",") + hook;
        const auto captured =
            model.capture(TextInput{golden.integers("tokens"), golden.integers("token_types")}, hooks);
        for (const auto& hook : captured) {
            INFO(hook.name);
            CHECK(hook.shape.extents() == golden.shape(hook.name));
            // 1e-4: float32 in another order of summation; PyTorch's float32 differs by 1.3e-5.
            CHECK(farthest(golden.values(hook.name), hook.values) < 1e-4);
        }
        CHECK(static_cast<int>(captured.size()) == golden.hookCount()); // all but the tokens and their types
        const bool hasHead = golden.contains("logits");
        REQUIRE(model.info().structure.readouts.size() == (hasHead ? 1 : 0));
        if (hasHead) CHECK(model.info().structure.readouts.front().kind == Readout::Kind::MaskedToken);
    }
}

TEST_CASE("encoders: views show what comes after a token, and types change the run", "[models][gpu]") {
    LanguageModel model(openModelSource((kGoldenRoot / "bert").string()), {.device = {.validation = true}});
    const Golden golden("bert");
    const std::vector<int> tokens = golden.integers("tokens");
    const std::vector<float> pattern = golden.values("blocks.1.attn.hook_pattern"); // [H,T,T]
    model.predict(TextInput{tokens, golden.integers("token_types")});
    const auto count = static_cast<int>(tokens.size());
    const PatternTile tile =
        model.patterns().tile({.site = 1, .head = 2, .detailSize = 64, .queryEnd = count, .keyEnd = count});
    const auto cells = static_cast<size_t>(count * count);
    CHECK(farthest({pattern.begin() + static_cast<std::ptrdiff_t>(2 * cells), pattern.end()}, tile.values) < 1e-4);
    CHECK(tile.values[1] > 0); // the first token sees the second

    const CellExplanation cell = explainCell(model, {.site = 1, .head = 2, .query = 3, .key = 11});
    CHECK_FALSE(cell.isMasked);
    CHECK(cell.probability == Approx(tile.values[static_cast<size_t>(3 * count + 11)]).margin(1e-5));

    REQUIRE(model.feed(std::vector<int>{5})); // a further token, which changes every row
    const auto grown =
        model.patterns().tile({.site = 1, .head = 2, .detailSize = 64, .queryEnd = count + 1, .keyEnd = count + 1});
    CHECK(std::abs(grown.values.front() - tile.values.front()) > 1e-4f);
    CHECK_THROWS_WITH(model.predict(TextInput{{1, 2}, {0, 2}}), Catch::Matchers::Contains("no token type 2"));
}

TEST_CASE("encoders: the prediction is that of the last hidden word, or of the last token", "[models][gpu]") {
    LanguageModel model(openModelSource((kGoldenRoot / "bert").string()), {.device = {.validation = true}});
    const int mask = model.tokenizer()->maskId().value();
    const auto V = static_cast<std::ptrdiff_t>(model.info().vocabulary);
    const auto rowOf = [&](const std::vector<int>& tokens, std::ptrdiff_t row) {
        const auto all = model.capture(tokens, "logits").front().values; // [T,V]
        return std::vector<float>(all.begin() + row * V, all.begin() + (row + 1) * V);
    };
    const std::vector<int> hidden{2, mask, 7, mask, 11, 3}, plain{2, 5, 7, 13, 11, 3};
    CHECK(model.predict(hidden) == rowOf(hidden, 3));
    CHECK(model.predict(hidden) != rowOf(hidden, 1));
    CHECK(model.predict(plain) == rowOf(plain, 5));
}

TEST_CASE("encoders: folders with vocab.txt or tokenizer.json read pairs of texts", "[models]") {
    const char* name = GENERATE("bert", "distilbert");
    const auto source = openModelSource((kGoldenRoot / name).string());
    REQUIRE(source->tokenizer());
    const Encoding pair = source->tokenizer()->encodePair("The dogs ran.", "Who sat?");
    CHECK(pair.ids == std::vector<int>{2, 5, 7, 13, 11, 15, 3, 18, 8, 17, 3});
    CHECK(pair.types == std::vector<int>{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("encoders: RoBERTa's folder reads pairs of texts with two separators, and hides a word", "[models]") {
    const auto source = openModelSource((kGoldenRoot / "roberta").string());
    const Tokenizer& tokenizer = *source->tokenizer();
    const auto ids = [&](const std::vector<const char*>& pieces) {
        std::vector<int> found;
        for (const char* piece : pieces) found.push_back(tokenizer.idOf(piece).value());
        return found;
    };
    const Encoding pair = tokenizer.encodePair("The <mask> sat.", "W?");
    CHECK(pair.ids == ids({"<s>", "T", "he", "<mask>", "\u0120", "s", "at", ".", "</s>", "</s>", "W", "?", "</s>"}));
    CHECK(std::ranges::all_of(pair.types, [](int type) { return type == 0; }));
    CHECK(tokenizer.maskId() == source->config().tokens.vocabulary - 1);
    CHECK(source->config().context == 20); // of the 22 rows of the file
}
