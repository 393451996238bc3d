#include "engine/attention/block/block_flow.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/models/model_builder.h"
#include "engine/ops/gradient.h"
#include "tests/attention/attention_case.h"
#include "tests/support/farthest.h"

using namespace attn;
using attn::test::runOnHost;

namespace {

constexpr int64_t kRows = 7, kWidth = 6;

/// One part of a block, or what a residual adds between its sublayers.
struct Built {
    const Part* part;
    bool isBetween;
};

/// One part of a block in a graph, with its numbers; the sublayer of a residual is a feed-forward layer.
struct BlockCase {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::vector<FlowParameter> parameters;
    BlockFlow flow{.graph = *graph, .weights = "b", .width = kWidth, .parameters = parameters};
    std::map<std::string, std::vector<double>> values;
    Tensor x, y, undone;

    explicit BlockCase(const Part& part, bool isBetween = false) {
        const BlockHooks& hooks = *part.block;
        x = graph->input("x", {.shape = {kRows, hooks.streams * kWidth}});
        const std::vector<double> initial = initialValues(part);
        if (isBetween) {
            y = hooks.between(flow, {part.params, initial}, "m", x);
        } else if (hooks.map) {
            y = hooks.map(flow, {part.params, initial}, "m", x);
            if (y == x) y = affine(x, 1, 0); // an input by itself is no result
        } else {
            const Sublayer norm = [&](Tensor in) { return normPart().block->map(flow, {}, "n", in); };
            const Sublayer sublayer = [&](Tensor in) { return innerPart().block->map(flow, innerValues(), "f", in); };
            std::vector<Recomputed> recomputed;
            flow.recomputed = &recomputed;
            y = hooks.join(flow, {part.params, initial}, "g", x, norm, sublayer);
            if (!recomputed.empty())
                undone = recomputed.back().reversible->undo(y, [&](Tensor in) { return sublayer(norm(in)); });
            flow.recomputed = nullptr;
        }
        for (uint32_t id = 0; id < graph->size(); ++id) {
            const Node& node = graph->node(id);
            if (node.kind != NodeKind::Parameter && node.kind != NodeKind::Input) continue;
            std::vector<double>& list = values[node.name];
            if (!list.empty()) continue;
            for (int64_t i = 0; i < node.outputs[0].shape.elements(); ++i)
                list.push_back(
                    static_cast<double>(static_cast<float>(std::sin(static_cast<double>(i * 7 + id * 3 + 1)))));
        }
    }
    static const Part& normPart() { return partNamed(Slot::Norm, "layer_norm"); }
    static const Part& innerPart() { return partNamed(Slot::FeedForward, "gelu"); }
    static PartValues innerValues() {
        static const std::vector<double> kValues = initialValues(innerPart());
        return {innerPart().params, kValues};
    }

    Dense expected(const Part& part, bool isBetween = false) const {
        BlockReference reference{.width = kWidth};
        for (uint32_t id = 0; id < graph->size(); ++id)
            if (const Node& node = graph->node(id); node.kind == NodeKind::Parameter) {
                Dense dense(node.outputs[0].shape.extents());
                dense.data = values.at(node.name);
                reference.parameters[node.name.substr(2)] = std::move(dense);
            }
        Dense in(x.shape().extents());
        in.data = values.at("x");
        const BlockHooks& hooks = *part.block;
        const std::vector<double> initial = initialValues(part);
        if (isBetween) return hooks.betweenReference(reference, {part.params, initial}, "m", in);
        if (hooks.map) return hooks.mapReference(reference, {part.params, initial}, "m", in);
        return hooks.joinReference(
            reference, {part.params, initial}, "g", in,
            [&](const Dense& rows) { return normPart().block->mapReference(reference, {}, "n", rows); },
            [&](const Dense& rows) { return innerPart().block->mapReference(reference, innerValues(), "f", rows); });
    }

    std::map<std::string, std::vector<double>> onHost(const std::map<std::string, Tensor>& outputs) const {
        return runOnHost(graph, values, outputs);
    }
};

std::vector<Built> builtParts() {
    std::vector<Built> parts;
    for (const Part* part : partCatalogue()) {
        if (part->block && (part->block->map || part->block->join)) parts.push_back({part, false});
        if (part->block && part->block->between) parts.push_back({part, true});
    }
    return parts;
}

} // namespace

TEST_CASE("every part of a block equals its plain loops", "[attention]") {
    CHECK(builtParts().size() == 19);
    for (const auto& [part, isBetween] : builtParts()) {
        INFO(nameOf(part->slot) << " " << part->id << (isBetween ? ", between" : ""));
        BlockCase test(*part, isBetween);
        CHECK(test::farthest(test.onHost({{"y", test.y}}).at("y"), test.expected(*part, isBetween).data, 1) <= 1e-9);
    }
}

TEST_CASE("block: the outer decoder moves down by one row, and both streams continue as its sum with the embedding",
          "[attention]") {
    const Part& part = partNamed(Slot::Residual, "axial");
    const int64_t layer = GENERATE(0, 1, 2), sequences = GENERATE(1, 2);
    const std::vector<double> numbers{2, 3, 1, 1}; // 2 rows of 3 pixels after one token, and one outer layer
    BlockCase test(part);
    test.flow.layer = layer;
    test.flow.sequence = kRows;
    const PartValues values{part.params, numbers};
    const Tensor x = test.graph->input("rows", {.shape = {sequences * kRows, 2 * kWidth}});
    auto& given = test.values["rows"];
    for (int64_t i = 0; i < x.shape().elements(); ++i) given.push_back(std::sin(static_cast<double>(5 * i + 1)));
    const auto identity = [](Tensor in) { return in; };
    const Tensor begun = part.block->before(test.flow, values, x),
                 y = part.block->join(test.flow, values, "g", affine(begun, 1, 0), identity, identity);
    const std::vector<double> found = test.onHost({{"y", y}}).at("y");
    for (int64_t sequence = 0; sequence < sequences; ++sequence) {
        Dense in({kRows, 2 * kWidth});
        const auto first = given.begin() + sequence * std::ssize(in.data);
        std::copy(first, first + std::ssize(in.data), in.data.begin());
        const BlockReference reference{.width = kWidth, .layer = layer};
        const auto unchanged = [](const Dense& rows) { return rows; };
        const Dense expected = part.block->joinReference(
            reference, values, "g", part.block->beforeReference(reference, values, in), unchanged, unchanged);
        CHECK(test::farthest(
                  std::span(found).subspan(static_cast<size_t>(sequence) * expected.data.size(), expected.data.size()),
                  expected.data, 1) <= 1e-9);
        if (layer != 1) continue;
        // Position 4 predicts pixel 4, which is token 5; above it lies pixel 1, token 2.
        CHECK(expected.at(4, 0) == Approx(2 * (in.at(2, 0) + in.at(4, kWidth))));
        CHECK(expected.at(2, 0) == Approx(2 * in.at(2, kWidth)));
    }
}

TEST_CASE("every part of a block on the device equals its plain loops", "[attention][gpu]") {
    test::TestDevice device;
    for (const auto& [part, isBetween] : builtParts()) {
        INFO(nameOf(part->slot) << " " << part->id << (isBetween ? ", between" : ""));
        BlockCase test(*part, isBetween);
        test::AttentionCase numbers{.spec = {}};
        numbers.graph = test.graph;
        numbers.values = test.values;
        CHECK(test::farthest(test::onDevice(device, numbers, {{"y", test.y}}).at("y"),
                             test.expected(*part, isBetween).data, 1) <= 1e-4);
    }
}

TEST_CASE("every part of a block has the gradient that finite differences find", "[attention]") {
    for (const auto& [part, isBetween] : builtParts()) {
        INFO(nameOf(part->slot) << " " << part->id << (isBetween ? ", between" : ""));
        BlockCase test(*part, isBetween);
        Graph& graph = *test.graph;
        auto& direction = test.values["direction"];
        for (int64_t i = 0; i < test.y.shape().elements(); ++i)
            direction.push_back(std::cos(static_cast<double>(5 * i + 2)));
        const Tensor loss = sum(multiply(test.y, graph.input("direction", {.shape = test.y.shape()})));
        std::vector<Tensor> sources;
        for (uint32_t id = 0; id < graph.size(); ++id)
            if (const NodeKind kind = graph.node(id).kind;
                (kind == NodeKind::Parameter || kind == NodeKind::Input) && graph.node(id).name != "direction")
                sources.push_back({&graph, id, 0});
        const auto gradients = gradient(loss, sources);
        std::map<std::string, Tensor> outputs{{"loss", loss}};
        for (size_t i = 0; i < sources.size(); ++i) outputs["d " + graph.node(sources[i].node).name] = gradients[i];
        const auto found = test.onHost(outputs);
        for (const Tensor source : sources) {
            const std::string& name = graph.node(source.node).name;
            for (size_t trial = 0; trial < 4; ++trial) {
                std::vector<double>& values = test.values.at(name);
                const size_t at = trial * 5 % values.size();
                const double before = values[at];
                const auto lossAt = [&](double value) {
                    values[at] = value;
                    return test.onHost({{"loss", loss}}).at("loss")[0];
                };
                const double difference = (lossAt(before + 1e-5) - lossAt(before - 1e-5)) / 2e-5;
                values[at] = before;
                INFO("d loss / d " << name << "[" << at << "]");
                CHECK(std::abs(found.at("d " + name)[at] - difference) <= 1e-6 * (1 + std::abs(difference)));
            }
        }
    }
}

TEST_CASE("reversible blocks recover their input", "[attention]") {
    BlockCase test(partNamed(Slot::Residual, "reversible"));
    REQUIRE(test.undone);
    const auto found = test.onHost({{"undone", test.undone}, {"y", test.y}});
    CHECK(test::farthest(found.at("undone"), test.values.at("x"), 1) <= 1e-12);
    const double change = test::farthest(found.at("y"), test.values.at("x"), 1);
    CHECK((change > 0.1 && std::isfinite(change)));
}

TEST_CASE("layers that are computed again have the gradients of layers that are kept", "[attention]") {
    const char* residual = GENERATE("reversible", "pre_norm");
    INFO(residual);
    const BlockHooks& hooks = *partNamed(Slot::Residual, residual).block;
    const std::vector<double> chunks{2, 3};
    BlockCase test(partNamed(Slot::Residual, residual));
    std::vector<Recomputed> recomputed;
    test.flow.recomputed = &recomputed;
    Tensor y = test.x;
    for (const char* layer : {"1", "2", "3"}) {
        const std::string at = std::string(layer) + ".";
        y = hooks.join(
            test.flow, {}, at, y,
            [&](Tensor in) { return BlockCase::normPart().block->map(test.flow, {}, at + "n", in); },
            [&](Tensor in) {
                const Part& inner = BlockCase::innerPart();
                return inner.block->map(test.flow, {inner.params, chunks}, at + "f", in);
            });
    }
    CHECK(std::ranges::count_if(recomputed, [](const Recomputed& each) { return each.reversible.has_value(); }) ==
          (hooks.streams == 2 ? 3 : 0));
    CHECK(recomputed.size() == (hooks.streams == 2 ? 12 : 9)); // three chunks a layer
    const Tensor loss = sum(unary(y, Unary::Square));
    std::map<std::string, Tensor> outputs;
    std::vector<Tensor> sources;
    const uint32_t size = test.graph->size();
    for (uint32_t id = 0; id < size; ++id)
        if (const Node& node = test.graph->node(id);
            (node.kind == NodeKind::Parameter && node.name.find('.') != node.name.rfind('.')) || node.name == "x") {
            sources.push_back({test.graph.get(), id, 0});
            if (!test.values.contains(node.name))
                for (int64_t i = 0; i < node.outputs[0].shape.elements(); ++i)
                    test.values[node.name].push_back(std::sin(static_cast<double>(i * 7 + id * 3 + 1)));
        }
    const auto kept = gradient(loss, sources), redone = gradient(loss, sources, {.recomputed = recomputed});
    for (size_t i = 0; i < sources.size(); ++i) {
        if (!kept[i]) continue;
        outputs[std::to_string(i) + " kept"] = kept[i];
        outputs[std::to_string(i) + " redone"] = redone[i];
    }
    const auto found = test.onHost(outputs);
    CHECK(found.size() > 2 * 3 * 5);
    for (const auto& [name, values] : found)
        if (name.ends_with(" kept"))
            CHECK(test::farthest(found.at(name.substr(0, name.size() - 4) + "redone"), values, 1) <= 1e-9);
}

TEST_CASE("feed-forward layers in chunks give the same numbers", "[attention]") {
    const char* id = GENERATE("relu", "gelu", "swiglu");
    const Part& part = partNamed(Slot::FeedForward, id);
    BlockCase test(part);
    const Tensor chunked = part.block->map(test.flow, PartValues(part.params, std::array{4.0, 3.0}), "m", test.x);
    const auto found = test.onHost({{"y", test.y}, {"chunked", chunked}});
    CHECK(found.at("y") == found.at("chunked"));
}

TEST_CASE("shared layers have the weights of one, and FixNorm's words one length", "[attention]") {
    const auto namesOf = [](const char* attention) {
        LayerAttention layer{.spec = AttentionSpec::parse(attention), .headWidth = 4};
        ModelSpec config;
        config.tokens.vocabulary = 5;
        config.modelWidth = 8;
        config.context = 6;
        config.feedForward = {.width = 16};
        config.layers = std::vector<LayerAttention>(3, layer);
        std::set<std::string> names;
        const ModelGraph decoder = buildForListing(config);
        for (uint32_t id = 0; id < decoder.graph->size(); ++id)
            if (decoder.graph->node(id).kind == NodeKind::Parameter) names.insert(decoder.graph->node(id).name);
        return names;
    };
    const auto stacked = namesOf("heads=multi_head(2), mask=causal"),
               shared = namesOf("heads=multi_head(2), layers=shared, mask=causal");
    CHECK(stacked.contains("blocks.2.attn.W_Q"));
    CHECK_FALSE(shared.contains("blocks.2.attn.W_Q"));
    CHECK_FALSE(shared.contains("blocks.1.mlp.W_in"));
    CHECK(shared.contains("blocks.0.attn.W_Q"));
    const auto scaled = namesOf("heads=multi_head(2), norm=scale_norm, residual=gru_gate, mask=causal");
    CHECK(scaled.contains("blocks.1.ln1.g"));
    CHECK(scaled.contains("blocks.1.gate2.U_z"));
    CHECK(scaled.contains("ln_final.g"));
    CHECK_FALSE(namesOf("heads=multi_head(2), residual=post_norm, mask=causal").contains("ln_final.w"));
}

TEST_CASE("a block is the same whether a model's files describe it or a composition names its parts", "[attention]") {
    const Part* norm = GENERATE(&kLayerNormPart, &kRmsNormPart, &kNoNormPart);
    const Part* residual = GENERATE(&kPreNormResidual, &kParallelResidual, &kLayerScaleResidual);
    INFO(norm->id << ", " << residual->id);
    const auto graphOf = [&](bool isNamed) {
        LayerAttention layer{.spec = AttentionSpec::parse("heads=multi_head(2), position=rope, mask=causal"),
                             .headWidth = 4};
        if (isNamed) {
            layer.spec.set(Slot::Norm, norm->id);
            layer.spec.set(Slot::Residual, residual->id);
            layer.spec.set(Slot::FeedForward, "gelu", std::array{2.0});
        }
        ModelSpec config;
        config.tokens.vocabulary = 5;
        config.modelWidth = 8;
        config.context = 6;
        config.feedForward = {.width = 16};
        config.layers.assign(3, layer);
        if (!isNamed) {
            config.norm = norm;
            config.residual = residual;
        }
        return buildModel(config, {.queries = 6, .isTraining = true}).graph;
    };
    const auto own = graphOf(false), named = graphOf(true);
    REQUIRE(own->size() == named->size());
    CHECK(own->probeOrder() == named->probeOrder());
    for (uint32_t id = 0; id < own->size(); ++id) {
        const Node &a = own->node(id), &b = named->node(id);
        INFO(id << " " << a.name);
        CHECK(a.kind == b.kind);
        CHECK(a.op == b.op);
        CHECK(a.name == b.name);
        CHECK(a.attributes == b.attributes);
        CHECK(std::ranges::equal(a.inputs, b.inputs,
                                 [](Tensor x, Tensor y) { return x.node == y.node && x.output == y.output; }));
    }
    CHECK(own->probes().contains("blocks.2.hook_resid_mid") == (residual != &kParallelResidual));
}
