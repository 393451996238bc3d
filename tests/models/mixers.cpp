#include "engine/models/model_builder.h"
#include "tests/support/catch.h"

#include <map>

// What a model learns for mixers that act on the stream itself.

using namespace attn;

namespace {

/// How many numbers the attention of each layer learns, by the name of the parameter without its block.
std::map<std::string, int64_t> learned(const std::string& attention, bool hasBias) {
    constexpr int64_t kStream = 64;
    const AttentionSpec spec = AttentionSpec::parse(attention);
    const LayerAttention layer{
        .spec = spec, .headWidth = headWidth(spec, kStream), .queryKeyValueBias = hasBias, .outputBias = hasBias};
    ModelSpec config;
    config.tokens.vocabulary = 5;
    config.modelWidth = kStream;
    config.context = 10;
    config.feedForward = {.width = 16};
    config.layers = {layer, layer};
    std::map<std::string, int64_t> counts;
    const ModelGraph model = buildForListing(config);
    for (const Node* node : storedParameters(*model.graph))
        if (node->name.starts_with("blocks.1.attn."))
            counts[node->name.substr(14)] = node->outputs.front().shape.elements();
    return counts;
}

} // namespace

TEST_CASE("mixers of the stream learn what their papers say: FNet nothing, MLP-Mixer one network", "[models]") {
    const bool hasBias = GENERATE(true, false);
    CHECK(learned("mixer=fnet", hasBias).empty());
    CHECK(learned("heads=multi_head(8), mixer=fnet", hasBias).empty());
    CHECK(learned("mixer=mlp_mixer(hidden = 7)", hasBias) ==
          std::map<std::string, int64_t>{
              {"mixer.W_1", 7 * 10}, {"mixer.b_1", 7}, {"mixer.W_2", 10 * 7}, {"mixer.b_2", 10}});
    CHECK(learned("heads=multi_head(4), normaliser=xcit", hasBias).at("normaliser.temperature") == 4);
}
