#include "engine/io/json_file.h"
#include "engine/io/tensor_writer.h"
#include "engine/io/weight_source.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "tests/io/mutator.h"
#include "tests/models/model_folder.h"

// 100,000 damaged inputs, spread over everything that a folder is read from. Each loads or is refused with a sentence;
// the address sanitizer sees to the rest.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

// Under the sanitizer a parser takes some 0.2 ms and a whole folder 2 ms; all of it should take a minute.
constexpr int kConfigs = 30'000, kHeaders = 144'000, kTokenizers = 14'000;
constexpr int kFolderConfigs = 4'000, kFolderWeights = 4'000, kFolderIndexes = 3'000, kFolderTokenizers = 1'000;
static_assert(kConfigs + kHeaders + kTokenizers + kFolderConfigs + kFolderWeights + kFolderIndexes +
                  kFolderTokenizers ==
              200'000);

/// Loads or refuses; a refusal must say what, where and what to do. @return whether it loaded
template <class Action> bool survives(const std::string& mutant, const Action& action) {
    try {
        action();
        return true;
    } catch (const Error& error) {
        if (error.message().empty() || error.where().empty() || error.hint().empty()) {
            INFO("mutant: " << mutant);
            FAIL_CHECK("a poor sentence: " << error.what());
        }
    }
    return false;
}

using Parameters = std::vector<std::pair<std::string, Shape>>;

/// What the decoder asks for.
Parameters parametersOf(const ModelSpec& config) {
    const ModelGraph decoder = buildModel(config, {.queries = 1, .cacheCapacity = 1});
    Parameters result;
    for (const Node* node : storedParameters(*decoder.graph)) result.emplace_back(node->name, node->outputs[0].shape);
    return result;
}

/// Opens a folder and reads all of it.
void openAndRead(const fs::path& path, const Parameters& parameters) {
    const auto source = openModelSource(path.string());
    std::vector<float> padded;
    for (const auto& [name, shape] : parameters) {
        padded.resize(static_cast<size_t>(shape.paddedElements()));
        source->read(name, shape, [&](const auto& fill) { fill(0, padded); });
    }
    if (const Tokenizer* tokenizer = source->tokenizer()) tokenizer->decode(tokenizer->encode("abc cab").ids, true);
}

/// The smallest Llama, quick to open.
class TinyModel {
public:
    TinyModel() {
        writeFile(folder_ / "config.json", config_.dump());
        writeFile(folder_ / "tokenizer.json", letterTokenizer(3).dump());
        const std::string layer = "model.layers.0.";
        const std::vector<std::pair<std::string, std::vector<int64_t>>> shapes{
            {"model.embed_tokens.weight", {4, 4}},       {"model.norm.weight", {4}},
            {layer + "input_layernorm.weight", {4}},     {layer + "post_attention_layernorm.weight", {4}},
            {layer + "self_attn.q_proj.weight", {4, 4}}, {layer + "self_attn.k_proj.weight", {2, 4}},
            {layer + "self_attn.v_proj.weight", {2, 4}}, {layer + "self_attn.o_proj.weight", {4, 4}},
            {layer + "mlp.gate_proj.weight", {3, 4}},    {layer + "mlp.up_proj.weight", {3, 4}},
            {layer + "mlp.down_proj.weight", {4, 3}}};
        const std::vector<float> values(16, 0.5f);
        std::vector<WrittenTensor> tensors;
        for (const auto& [name, shape] : shapes)
            tensors.push_back({.name = name,
                               .shape = shape,
                               .values = std::span(values).first(static_cast<size_t>(Shape(shape).elements()))});
        writeSafetensors(folder_ / "model.safetensors", tensors);
    }

    const fs::path& path() const { return folder_.path(); }
    std::string text(const char* file) const { return readTextFile(folder_ / file, kMostJsonBytes); }

    /// Opens the folder with a mutated file; puts the good one back at the end.
    void mutate(const char* file, int rounds, uint32_t seed) const {
        const std::string good = text(file);
        const Parameters parameters = parametersOf(openModelSource(path().string())->config());
        Mutator mutator(seed);
        int loaded = 0;
        for (int round = 0; round < rounds; ++round) {
            const std::string mutant = mutator(good);
            writeFile(folder_ / file, mutant);
            loaded += survives(mutant, [&] { openAndRead(path(), parameters); }) ? 1 : 0;
        }
        writeFile(folder_ / file, good);
        CHECK(loaded > rounds / 1000); // the damage is not so great that nothing behind it is reached
        CHECK(loaded < rounds);
    }

private:
    json config_{{"model_type", "llama"},
                 {"hidden_size", 4},
                 {"num_attention_heads", 2},
                 {"num_key_value_heads", 1},
                 {"num_hidden_layers", 1},
                 {"intermediate_size", 3},
                 {"vocab_size", 4},
                 {"max_position_embeddings", 8},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 10000.0},
                 {"rope_scaling",
                  {{"rope_type", "llama3"},
                   {"factor", 8},
                   {"low_freq_factor", 1},
                   {"high_freq_factor", 4},
                   {"original_max_position_embeddings", 4}}},
                 {"eos_token_id", {1, 2}},
                 {"sliding_window", 4},
                 {"tie_word_embeddings", true}};
    TemporaryFolder folder_;
};

} // namespace

TEST_CASE("mutations: config.json of every family", "[models]") {
    std::vector<std::pair<std::string, TensorNames>> goldens;
    const json cases = readJsonFile(fs::path(ATTN_TEST_DIR) / "golden" / "cases.json");
    for (const json& entry : cases.at("cases")) {
        const fs::path folder = fs::path(ATTN_TEST_DIR) / "golden" / entry.at("name").get<std::string>();
        goldens.emplace_back(readTextFile(folder / "config.json", kMostJsonBytes),
                             TensorNames(WeightSource(folder).names()));
    }
    Mutator mutator(1);
    int loaded = 0;
    for (int round = 0; round < kConfigs; ++round) {
        const auto& [good, names] = goldens[static_cast<size_t>(round) % goldens.size()];
        const std::string mutant = mutator(good);
        const bool isLoaded = survives(mutant, [&, &tensors = names] {
            const json config = parseJson(mutant, "config.json");
            if (!config.is_object()) return;
            const ModelFamily& family = familyOf(ConfigReader(config, "config.json"), tensors);
            if (family.axis != AxisKind::Tokens) return; // reads the shapes of tensors
            const ModelSpec decoder = family.config(ConfigReader(config, "config.json"), tensors);
            if (decoder.layers.size() > 8) return; // a graph of a thousand layers is right but slow
            for (const auto& [name, shape] : parametersOf(decoder)) family.recipe(decoder, name, tensors);
        });
        loaded += isLoaded ? 1 : 0;
    }
    CHECK(loaded > kConfigs / 10);
}

TEST_CASE("mutations: the header of a safetensors file", "[models]") {
    const std::string good = TinyModel().text("model.safetensors");
    uint64_t length = 0;
    std::memcpy(&length, good.data(), sizeof(length));
    Mutator mutator(6);
    int loaded = 0;
    for (int round = 0; round < kHeaders; ++round) {
        const std::string mutant = // of one half the length agrees, so that the JSON is what is tested
            round % 2 == 0 ? mutator(good) : safetensors(mutator(good.substr(8, length)), good.substr(8 + length));
        const bool isLoaded = survives(mutant, [&] {
            const SafetensorsHeader header =
                parseSafetensorsHeader(std::as_bytes(std::span(mutant)), mutant.size(), "model.safetensors");
            for (const auto& [name, tensor] : header.tensors)
                if (header.dataBegin + tensor.end > mutant.size())
                    FAIL_CHECK(name << " ends beyond the file: " << mutant);
        });
        loaded += isLoaded ? 1 : 0;
    }
    CHECK(loaded > kHeaders / 100);
}

TEST_CASE("mutations: tokenizer.json", "[models]") {
    const std::string good = letterTokenizer(3).dump();
    Mutator mutator(7);
    int loaded = 0;
    for (int round = 0; round < kTokenizers; ++round) {
        const std::string mutant = mutator(good);
        const bool isLoaded = survives(mutant, [&] {
            const Tokenizer tokenizer = Tokenizer::fromJson(mutant);
            tokenizer.decode(tokenizer.encode("abc cab").ids, true);
        });
        loaded += isLoaded ? 1 : 0;
    }
    CHECK(loaded > kTokenizers / 100);
}

TEST_CASE("mutations: a folder with a damaged config.json", "[models]") {
    TinyModel().mutate("config.json", kFolderConfigs, 2);
}

TEST_CASE("mutations: a folder with damaged weights", "[models]") {
    TinyModel().mutate("model.safetensors", kFolderWeights, 3);
}

TEST_CASE("mutations: a folder with a damaged tokenizer.json", "[models]") {
    TinyModel().mutate("tokenizer.json", kFolderTokenizers, 4);
}

TEST_CASE("mutations: a folder with a damaged index of its shards", "[models]") {
    const TinyModel model;
    json map;
    for (const std::string& name : WeightSource(model.path()).names()) map[name] = "model-00001-of-00001.safetensors";
    fs::rename(model.path() / "model.safetensors", model.path() / "model-00001-of-00001.safetensors");
    writeFile(model.path() / "model.safetensors.index.json", json{{"weight_map", map}}.dump());
    model.mutate("model.safetensors.index.json", kFolderIndexes, 5);
}
