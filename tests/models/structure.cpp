#include "engine/models/structure.h"

#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "engine/models/model_spec.h"

#include "tests/models/golden_cases.h"
#include "tests/models/vision_folder.h"

using namespace attn;

namespace {

LayerAttention layer(int64_t heads, int64_t keyValueHeads, int64_t width) {
    return {.spec = plainAttention({heads, keyValueHeads}, MaskExpression::causal()), .headWidth = width};
}

} // namespace

TEST_CASE("structure: a decoder is one stream of tokens with a site in each layer", "[models]") {
    ModelSpec config;
    config.tokens.vocabulary = 50;
    config.modelWidth = 32;
    config.layers = {layer(4, 2, 8), layer(2, 2, 16)};
    const ModelStructure structure = structureOf(config, 128);

    REQUIRE(structure.axes == std::vector<Axis>{{.kind = AxisKind::Tokens, .length = 128}});
    REQUIRE(structure.streams == std::vector<Stream>{{.name = "decoder", .axis = 0, .width = 32}});
    REQUIRE(structure.sites.size() == 2);
    CHECK(
        structure.sites[0] ==
        Site{.name = "blocks.0.attn", .block = "blocks.0", .layer = 0, .heads = 4, .keyValueHeads = 2, .headWidth = 8});
    CHECK(structure.mostHeads() == 4);
    CHECK(structure.queryAxis(1) == structure.keyAxis(1));
    CHECK(structure.readouts == std::vector<Readout>{{.kind = Readout::Kind::NextToken, .stream = 0, .choices = 50}});
}

TEST_CASE("structure: an encoder of pictures begins a stream where tokens merge or pool", "[models]") {
    ModelSpec config = pictureSpec();
    config.patches.image = {32, 32};
    config.patches.patch = 4;
    config.modelWidth = 8;
    config.patches.clsToken = false;
    config.readouts.front().classes = 10;
    config.layers = {layer(1, 1, 8), layer(1, 1, 8), layer(2, 2, 8), layer(4, 4, 4)};
    config.patches.merges = {2};
    config.patches.pools = {{.layer = 3, .tokens = 5}};
    const ModelStructure structure = structureOf(config);

    REQUIRE(structure.streams.size() == 3);
    CHECK(structure.streams[0] == Stream{.name = "stage 1", .axis = 0, .width = 8});
    CHECK(structure.streams[1] == Stream{.name = "stage 2", .axis = 1, .width = 16});
    CHECK(structure.streams[2].width == 16);
    CHECK(structure.sites[1].queryStream == 0);
    CHECK(structure.queryAxis(1).length == 64);
    CHECK(structure.queryAxis(2).length == 16);
    CHECK(structure.keyAxis(3) == Axis{.kind = AxisKind::Patches, .length = 5});
    CHECK(structure.mostHeads() == 4);
    CHECK(structure.readouts == std::vector<Readout>{{.kind = Readout::Kind::Class, .stream = 2, .choices = 10}});

    config.patches.merges = {};
    config.patches.pools = {};
    config.readouts.front().classes = 0;
    const ModelStructure plain = structureOf(config);
    CHECK(plain.streams == std::vector<Stream>{{.name = "encoder", .axis = 0, .width = 8}});
    CHECK(plain.readouts.empty());
}

TEST_CASE("structure: the attention of every layer of a file is a composition with a text", "[models]") {
    const auto textOf = [](const char* model, size_t layer) {
        const std::string text =
            openModelSource((test::kGoldenRoot / model).string())->config().layers.at(layer).spec.text();
        CHECK(AttentionSpec::parse(text).text() == text);
        return text;
    };
    CHECK(textOf("gpt2", 0) == "heads=multi_head, mask=causal");
    CHECK(textOf("bert", 0) == "heads=multi_head(heads = 3)");
    CHECK(textOf("gpt_neo", 1) == "heads=multi_head, score=dot, mask=causal & window(4)");
    CHECK(textOf("gpt_neox", 0) == "heads=multi_head(heads = 2), position=rope(fraction = 0.25), mask=causal");
    CHECK(textOf("llama_gqa", 0) == "heads=grouped_query(heads = 6), position=rope, mask=causal");
    CHECK(textOf("llama_rope_linear", 0) == "heads=multi_head, position=rope(stretch = 4), mask=causal");
    CHECK(textOf("llama_rope_llama3", 0) ==
          "heads=multi_head(heads = 3), position=rope(stretch = 8, original = 64), mask=causal");
    CHECK(textOf("qwen2_sliding", 0) == "heads=grouped_query, position=rope(base = 1000000), mask=causal");
    CHECK(textOf("qwen2_sliding", 1) == "heads=grouped_query, position=rope(base = 1000000), mask=causal & window(5)");
}
