#include "engine/models/decoder.h"
#include "engine/models/family.h"
#include "tests/attention/attention_case.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"

#include <nlohmann/json.hpp>

#include <complex>
#include <numbers>

// Mixers that act on the stream itself.

using namespace attn;
using attn::test::AttentionCase;

namespace {

/// How many numbers the attention of each layer learns, by the name of the parameter without its block.
std::map<std::string, int64_t> learned(const std::string& attention, bool hasBias) {
    constexpr int64_t kStream = 64;
    const AttentionSpec spec = AttentionSpec::parse(attention);
    const LayerAttention layer{
        .spec = spec, .headWidth = headWidth(spec, kStream), .queryKeyValueBias = hasBias, .outputBias = hasBias};
    const DecoderConfig config{
        .vocabulary = 5, .modelWidth = kStream, .context = 10, .feedForward = {.width = 16}, .layers = {layer, layer}};
    std::map<std::string, int64_t> counts;
    const ModelGraph model = buildForListing(config);
    for (const Node* node : storedParameters(*model.graph))
        if (node->name.starts_with("blocks.1.attn."))
            counts[node->name.substr(14)] = node->outputs.front().shape.elements();
    return counts;
}

} // namespace

TEST_CASE("mixers of the stream learn what their papers say: FNet nothing, MLP-Mixer one network", "[attention]") {
    const bool hasBias = GENERATE(true, false);
    CHECK(learned("mixer=fnet", hasBias).empty());
    CHECK(learned("heads=multi_head(8), mixer=fnet", hasBias).empty());
    CHECK(learned("mixer=mlp_mixer(hidden = 7)", hasBias) ==
          std::map<std::string, int64_t>{
              {"mixer.W_1", 7 * 10}, {"mixer.b_1", 7}, {"mixer.W_2", 10 * 7}, {"mixer.b_2", 10}});
    CHECK(learned("heads=multi_head(4), normaliser=xcit", hasBias).at("normaliser.temperature") == 4);
}

TEST_CASE("FNet is the real part of the transform over all positions and all channels, at any length", "[attention]") {
    // Lengths with no factor, with small ones and with large ones.
    for (const auto& [T, C] : {std::pair<int64_t, int64_t>{1, 5}, {7, 6}, {12, 10}, {16, 8}, {30, 3}, {96, 4}}) {
        INFO(T << " tokens, " << C << " channels");
        AttentionCase test{.spec = AttentionSpec::parse("heads=multi_head(2), mixer=fnet"),
                           .queries = T,
                           .keys = T,
                           .width = C,
                           .batch = 2};
        test.build();
        CHECK(test.learned.empty());
        const auto found = test.onHost().at("z");
        std::vector<double> expected;
        for (int64_t b = 0; b < test.batch; ++b)
            for (int64_t t = 0; t < T; ++t)
                for (int64_t c = 0; c < C; ++c) {
                    std::complex<double> sum = 0;
                    for (int64_t s = 0; s < T; ++s)
                        for (int64_t e = 0; e < C; ++e) {
                            const double turns = static_cast<double>(t * s) / static_cast<double>(T) +
                                                 static_cast<double>(c * e) / static_cast<double>(C);
                            sum += test.values.at("v")[static_cast<size_t>((b * T + s) * C + e)] *
                                   std::polar(1.0, -2 * std::numbers::pi * turns);
                        }
                    expected.push_back(sum.real());
                }
        CHECK(test::farthest(found, expected, 1) <= 1e-5); // constants are rounded to float
    }
}

TEST_CASE("a model that an older version wrote with projections of a mixer is refused", "[attention]") {
    const auto families = familyCatalogue();
    const ModelFamily& family =
        **std::ranges::find_if(families, [](const ModelFamily* each) { return each->id == "attention-lab"; });
    const nlohmann::json json{{"model_type", "attention-lab"},
                              {"attention", {"mixer=fnet", "heads=multi_head(2), mask=full"}},
                              {"vocab_size", 5},
                              {"context", 8},
                              {"width", 12},
                              {"heads", 2},
                              {"feed_forward", 24}};
    const auto configOf = [&](std::vector<std::string> tensors) {
        return family.config(json, "config.json", TensorNames(std::move(tensors)));
    };
    const DecoderConfig config = configOf({"embed.W_E", "blocks.1.attn.W_V"});
    CHECK(config.layers[0].headWidth == 12);
    CHECK(config.layers[1].headWidth == 6);
    CHECK(family.describe(config).at("heads") == 2);
    CHECK_THAT(test::sentenceOf([&] { configOf({"blocks.0.attn.W_V"}); }),
               CONTAINS("names Fourier (FNet) for blocks.0, which has no projections, but the weights hold "
                        "\"blocks.0.attn.W_V\""));
}
