#include "engine/io/tensor_writer.h"
#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "engine/models/patch_stream.h"
#include "engine/models/vision_family.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

namespace {

constexpr const char* kText = R"({"model_type": "attention-lab", "attention": ["heads=multi_head(2), mask=causal"],
    "vocab_size": 5, "context": 8, "width": 4, "heads": 2, "feed_forward": 4})";
constexpr const char* kVision = R"({"model_type": "attention-lab-vit", "image_size": 8, "patch_size": 4,
    "hidden_size": 4, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 4})";

/// Writes zeros for every parameter of a graph.
void writeWeights(const fuzz::Folder& folder, const Graph& graph) {
    std::vector<std::pair<std::string, Shape>> parameters;
    int64_t most = 0;
    for (const Node* node : storedParameters(graph)) {
        parameters.emplace_back(node->name, node->outputs[0].shape);
        most = std::max(most, parameters.back().second.elements());
    }
    const std::vector<float> zeros(static_cast<size_t>(most), 0);
    std::vector<WrittenTensor> written;
    for (const auto& [name, shape] : parameters)
        written.push_back({.name = name,
                           .shape = shape.extents(),
                           .values = std::span(zeros).first(static_cast<size_t>(shape.elements()))});
    writeSafetensors(folder / "model.safetensors", written);
}

/// A model with composed attention, whose config.json is then replaced.
class TextFolder : public fuzz::Folder {
public:
    TextFolder() {
        fuzz::withJson(kText, "config.json", [&](const nlohmann::json& json) {
            const TensorNames names({});
            writeWeights(*this, *buildForListing(kComposed.config(ConfigReader(json, "config.json"), names)).graph);
        });
    }
};

class VisionFolderOnDisk : public fuzz::Folder {
public:
    VisionFolderOnDisk() {
        const std::vector<float> zero{0};
        write("config.json", kVision);
        const WrittenTensor tensor{.name = "embed.b_E", .shape = {1}, .values = zero};
        writeSafetensors(*this / "model.safetensors", std::span(&tensor, 1));
        const WeightSource weights(path());
        const ConfigReader read{weights.config(), weights.configFile()};
        writeWeights(*this, *buildModel(kComposedVit.config(read, TensorNames({}))).graph);
    }
};

} // namespace

/// config.json of a model with composed attention, for text or for pictures.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const TextFolder text;
    static const VisionFolderOnDisk vision;
    const std::string_view config = fuzz::textOf(data, size);
    const bool isVision = config.find(kComposedVit.id) != std::string_view::npos;
    const fuzz::Folder& folder = isVision ? static_cast<const fuzz::Folder&>(vision) : text;
    folder.write("config.json", config);
    fuzz::mayRefuse([&] { openModelSource(folder.path().string()); });
    return 0;
}
