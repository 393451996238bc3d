#include "engine/inference/language_model.h"
#include "engine/io/tensor_writer.h"
#include "engine/io/weight_source.h"
#include "engine/models/model_source.h"
#include "tests/models/golden_cases.h"
#include "tests/models/model_folder.h"
#include "tests/support/answers.h"
#include "tests/support/program.h"

#include <cmath>
#include <numeric>

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

/// What is said of a folder that is opened: its warnings, or why it cannot be opened.
std::string said(const ModelFolder& folder) {
    std::string all;
    const std::string refused = sentenceOf([&] {
        const auto source = openModelSource(folder.path().string());
        for (const std::string& warning : source->warnings()) all += (all.empty() ? "" : " | ") + warning;
    });
    return refused == "accepted" ? all : refused;
}

ModelSpec configOf(const std::string& model, const json& patch) {
    ModelFolder folder(model);
    folder.edit("config.json", [&](json& config) {
        if (!patch.is_null()) config.update(patch);
    });
    return openModelSource(folder.path().string())->config();
}

std::vector<double> rotaryOf(const std::string& model, const json& patch) {
    return configOf(model, patch).layers.front().spec.parts.at(Slot::Position).values;
}

/// The layers that see only some earlier tokens.
std::vector<int> slidingLayers(const std::string& model, const json& patch) {
    const ModelSpec config = configOf(model, patch);
    std::vector<int> found;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        if (config.layers[layer].spec.mask != MaskExpression::causal()) found.push_back(static_cast<int>(layer));
    return found;
}

std::vector<double> stored(const WeightSource& weights, const std::string& name) {
    std::vector<float> values(static_cast<size_t>(weights.tensor(name).elements()));
    weights.read(name, 0, values);
    return {values.begin(), values.end()};
}

void addTensor(const ModelFolder& folder, const std::string& name, const std::vector<int64_t>& shape,
               const std::vector<float>& values) {
    auto [header, data] = folder.weights();
    const size_t begin = data.size(), bytes = values.size() * sizeof(float);
    data.append(reinterpret_cast<const char*>(values.data()), bytes);
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, begin + bytes}}};
    writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
}

} // namespace

TEST_CASE("left out: every case of left_out.json", "[models]") {
    checkAnswers("models/left_out.json", "", [](const std::string& given) {
        const json named = json::parse(given);
        ModelFolder folder(named.at("model"));
        folder.change(named);
        return said(folder);
    });
}

TEST_CASE("left out: a bias that is stored twice must be the same vector", "[models]") {
    for (const auto& [model, read, other] : {std::tuple{"bert", "cls.predictions.bias", "cls.predictions.decoder.bias"},
                                             std::tuple{"roberta", "lm_head.bias", "lm_head.decoder.bias"}}) {
        CAPTURE(model);
        ModelFolder folder(model);
        folder.changeHeader([&named = other](json& header) { header.erase(named); });
        std::vector<float> values;
        for (const double value : stored(WeightSource(folder.path()), read))
            values.push_back(static_cast<float>(value));
        const std::vector shape{std::ssize(values)};
        ModelFolder same(model), odd(model);
        for (const ModelFolder* each : {&same, &odd})
            writeFile(*each / "model.safetensors", folder.text("model.safetensors"));
        addTensor(same, other, {shape.begin(), shape.end()}, values);
        CHECK(said(same).empty());
        values.back() += 5;
        addTensor(odd, other, {shape.begin(), shape.end()}, values);
        CHECK_THAT(said(odd), CONTAINS(std::string(other) + " differs from " + read) &&
                                  CONTAINS(std::string("predictions use ") + read));
    }
}

TEST_CASE("left out: of a tensor with and without the prefix, the one with it is read and the other is named",
          "[models]") {
    ModelFolder folder("gpt2");
    const std::string bare = "h.0.ln_1.weight";
    std::vector<float> values;
    for (const double value : stored(WeightSource(folder.path()), bare))
        values.push_back(static_cast<float>(value) + 1);
    addTensor(folder, "transformer." + bare, {std::ssize(values)}, values);
    const auto source = openModelSource(folder.path().string());
    std::vector<float> read(values.size());
    source->read("blocks.0.ln1.w", Shape({std::ssize(values)}), [&](const auto& fill) { fill(0, read); });
    CHECK(read == values);
    CHECK_THAT(said(folder), CONTAINS("the files hold a tensor that this program does not use: \"" + bare));
}

TEST_CASE("left out: Marian's stored positions are sinusoids, or they are named", "[models]") {
    const ModelFolder folder("marian");
    const int64_t width = openModelSource(folder.path().string())->config().modelWidth, half = width / 2;
    std::vector<float> table;
    for (int64_t at = 0; at < 6; ++at)
        for (int64_t i = 0; i < width; ++i) {
            const double angle = static_cast<double>(at) *
                                 std::pow(10000.0, -2.0 * static_cast<double>(i % half) / static_cast<double>(width));
            table.push_back(static_cast<float>(i < half ? std::sin(angle) : std::cos(angle)));
        }
    const bool isRight = GENERATE(true, false);
    if (!isRight) table[static_cast<size_t>(width) + 1] += 0.1F;
    addTensor(folder, "model.encoder.embed_positions.weight", {6, width}, table);
    if (isRight)
        CHECK(said(folder).empty());
    else
        CHECK_THAT(said(folder), CONTAINS("encoder.embed_positions.weight\" holds positions that are no sinusoids"));
}

TEST_CASE("left out: adapters, other formats and stray weights beside the model are named", "[models]") {
    ModelFolder folder("llama");
    const std::vector<float> two{1, 2};
    writeSafetensors(folder / "results.safetensors",
                     std::vector<WrittenTensor>{{.name = "logits", .shape = {2}, .values = two}});
    CHECK(said(folder).empty());
    writeFile(folder / "adapter_config.json", "{}");
    writeFile(folder / "old.gguf", "GGUF");
    writeSafetensors(folder / "more.safetensors",
                     std::vector<WrittenTensor>{{.name = "a.weight", .shape = {2}, .values = two}});
    CHECK_THAT(said(folder), CONTAINS("\"adapter_config.json\", \"more.safetensors\", \"old.gguf\"") &&
                                 CONTAINS("runs without its adapter"));
    CHECK(openModelSource(folder.path().string())->leftOut().files.size() == 3);
}

TEST_CASE("left out: a tensor of two shards is that of the last one, and both are named", "[models]") {
    constexpr const char* kName = "model.norm.weight";
    for (const size_t from : {0, 1}) { // the shard that does not get a second one
        ModelFolder folder("llama");
        folder.shard();
        folder.edit("model.safetensors.index.json",
                    [&](json& index) { index["weight_map"][kName] = folder.kShards[from]; });
        for (const size_t shard : {0, 1}) { // both hold it: ones in the first, twos in the second
            const SafetensorsFile file(folder / folder.kShards[shard]);
            std::vector<std::vector<float>> values;
            std::vector<WrittenTensor> tensors;
            for (const auto& [name, tensor] : file.tensors()) {
                std::vector<float>& each = values.emplace_back(static_cast<size_t>(tensor.elements()));
                file.read(tensor, 0, each);
            }
            size_t next = 0;
            for (const auto& [name, tensor] : file.tensors()) {
                if (name != kName) tensors.push_back({.name = name, .shape = tensor.shape, .values = values[next]});
                ++next;
            }
            const std::vector<float> own(40, static_cast<float>(shard + 1));
            tensors.push_back({.name = kName, .shape = {40}, .values = own});
            writeSafetensors(folder / folder.kShards[shard], tensors);
        }
        const WeightSource weights(folder.path());
        CHECK(stored(weights, kName) == std::vector<double>(40, 2));
        const auto source = openModelSource(folder.path().string());
        CHECK(source->leftOut().repeats ==
              std::vector{WeightSource::Repeat{kName, folder.kShards[0], folder.kShards[1]}});
        CHECK_THAT(said(folder), CONTAINS("several files hold the same tensor") && CONTAINS(kName));
        checkProgram("models '" + folder.path().string() + "'", 0,
                     {"model.norm.weight of model-00001-of-00002.safetensors", "warning: several files hold"});
        CHECK(json::parse(runProgram("models --json '" + folder.path().string() + "'", " 2>/dev/null").text)
                  .at("repeatedTensors") ==
              json::array({{{"name", kName}, {"file", folder.kShards[0]}, {"used", folder.kShards[1]}}}));
    }
}

TEST_CASE("left out: a tensor that the index does not name is read, and named", "[models]") {
    ModelFolder folder("llama");
    folder.shard();
    CHECK(said(folder).empty());
    folder.edit("model.safetensors.index.json", [](json& index) { index["weight_map"].erase("model.norm.weight"); });
    CHECK(said(folder) == "model.safetensors.index.json does not name a tensor of its files: \"model.norm.weight\"; "
                          "this program reads them all the same");
}

TEST_CASE("left out: a file that a person names is opened, and not another one of its folder", "[models]") {
    ModelFolder folder("llama");
    fs::copy_file(folder / "model.safetensors", folder / "mine.safetensors");
    const auto opened = [&](const std::string& name) {
        return WeightSource(folder / name).fileOf("model.norm.weight").filename().string();
    };
    CHECK(opened("") == "model.safetensors");
    CHECK(opened("mine.safetensors") == "mine.safetensors");
    folder.shard();
    CHECK(opened("mine.safetensors") == "mine.safetensors");
    CHECK(opened(folder.kShards[1]).starts_with("model-0000")); // a shard stands for all
    writeFile(folder / "adapter_config.json", "{}");
    CHECK(WeightSource(folder / "mine.safetensors").otherFiles() == std::vector<std::string>{"adapter_config.json"});
    CHECK(WeightSource(folder / folder.kShards[0]).otherFiles().size() == 2);
}

TEST_CASE("left out: a key that a file gives twice has its last value, and is named", "[models]") {
    ModelFolder folder("llama");
    const std::string config = folder.text("config.json");
    writeFile(folder / "config.json", "{\"rms_norm_eps\": 0.5," + config.substr(config.find('{') + 1));
    CHECK(said(folder) == "config.json gives \"rms_norm_eps\" more than once; the last value counts");
    CHECK(openModelSource(folder.path().string())->config().normEpsilon ==
          json::parse(config).at("rms_norm_eps").get<double>());
    writeFile(folder / "generation_config.json", R"({"eos_token_id": 3, "eos_token_id": 4})");
    writeFile(folder / "tokenizer.json", letterTokenizer(5).dump());
    writeFile(folder / "tokenizer_config.json", R"({"a": {"b": 1, "b": 2}})");
    CHECK_THAT(said(folder), CONTAINS("generation_config.json gives \"eos_token_id\" more than once") &&
                                 CONTAINS("tokenizer_config.json gives \"b\" more than once"));
    CHECK(openModelSource(folder.path().string())->stopTokens() == std::vector{4});
}

TEST_CASE("left out: a wrapper's prefix before every name is no obstacle", "[models]") {
    ModelFolder folder("llama");
    folder.changeHeader([](json& header) {
        json wrapped;
        for (const auto& [name, entry] : header.items())
            wrapped[name == "__metadata__" ? name : "module._orig_mod." + name] = entry;
        header = wrapped;
    });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->warnings().empty());
    CHECK(source->sourceName("embed.W_E") == "module._orig_mod.model.embed_tokens.weight");
}

TEST_CASE("left out: what a program adds to the names of some tensors is no obstacle, but two of one name are",
          "[models]") {
    ModelFolder folder("llama");
    folder.changeHeader([](json& header) {
        json wrapped;
        for (const auto& [name, entry] : header.items()) {
            const bool isFirst = name.find("layers.0.") != name.npos, isSecond = name.find("layers.1.") != name.npos;
            wrapped[isFirst ? "module." + name : isSecond ? "model._orig_mod." + name.substr(6) : name] = entry;
        }
        header = wrapped;
    });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->warnings().empty());
    CHECK(source->sourceName("blocks.0.ln1.w") == "module.model.layers.0.input_layernorm.weight");
    CHECK(source->sourceName("blocks.1.ln1.w") == "model._orig_mod.layers.1.input_layernorm.weight");
    folder.changeHeader([](json& header) { // two of one name: neither is meant
        header["_orig_mod.module.model.layers.0.input_layernorm.weight"] =
            header["module.model.layers.0.post_attention_layernorm.weight"];
        header.erase("module.model.layers.0.post_attention_layernorm.weight");
    });
    CHECK_THAT(said(folder), CONTAINS("layers.0.") && CONTAINS("is missing"));
}

TEST_CASE("left out: a folder that holds only an adapter is refused with the name of its model", "[models]") {
    const TemporaryFolder folder;
    const std::vector<float> two{1, 2};
    writeSafetensors(
        folder / "adapter_model.safetensors",
        std::vector<WrittenTensor>{{.name = "base_model.model.a.lora_A.weight", .shape = {2}, .values = two}});
    const auto refusal = [&](const fs::path& path) { return sentenceOf([&] { openModelSource(path.string()); }); };
    writeFile(folder / "adapter_config.json", R"({"base_model_name_or_path": "who/base-1B"})");
    for (const char* name : {"", "adapter_model.safetensors", "adapter_config.json"})
        CHECK_THAT(refusal(name[0] == '\0' ? folder.path() : folder / name),
                   CONTAINS("no model but an adapter (such as LoRA) of \"who/base-1B\"; merge the two"));
    writeFile(folder / "adapter_config.json", R"({"base_model_name_or_path": 3})");
    CHECK_THAT(refusal(folder.path()), CONTAINS("of a model that it does not name"));
}

TEST_CASE("BART: a final norm that the configuration asks for is in force, or refused", "[models][gpu]") {
    ModelFolder folder("bart");
    folder.edit("config.json", [](json& config) { config["add_final_layer_norm"] = true; });
    CHECK_THAT(said(folder),
               CONTAINS("\"add_final_layer_norm\" is true, but the weights hold no decoder.layer_norm.weight"));
    const auto C = folder.weights().first["model.shared.weight"]["shape"][1].get<size_t>();
    std::vector<float> w(C), b(C);
    for (size_t i = 0; i < C; ++i) {
        w[i] = 0.5f + static_cast<float>(i % 5) / 4;
        b[i] = static_cast<float>(i % 3) / 8 - 0.1f;
    }
    auto [header, data] = folder.weights();
    for (const char* stack : {"encoder", "decoder"})
        for (const auto& [end, values] : {std::pair{".weight", &w}, std::pair{".bias", &b}}) {
            const size_t begin = data.size();
            data.append(reinterpret_cast<const char*>(values->data()), C * sizeof(float));
            header[std::string("model.") + stack + ".layer_norm" + end] = {
                {"dtype", "F32"}, {"shape", {C}}, {"data_offsets", {begin, data.size()}}};
        }
    writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
    CHECK_THAT(said(folder), CONTAINS("each stack ends with a norm, as config.json asks"));
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
    const TextInput input{.tokens = {2, 7, 9}, .source = {0, 5, 6, 2}};
    const auto hidden = model.capture(input, "decoder.1.hook_resid_post").front().values,
               logits = model.capture(input, "logits").front().values;
    const WeightSource weights(folder.path());
    const auto E = stored(weights, "model.shared.weight"), bias = stored(weights, "final_logits_bias");
    std::vector<double> x(hidden.begin(), hidden.begin() + static_cast<std::ptrdiff_t>(C)); // the first token
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(C);
    double variance = 0;
    for (const double each : x) variance += (each - mean) * (each - mean) / static_cast<double>(C);
    for (size_t i = 0; i < C; ++i)
        x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(w[i]) + static_cast<double>(b[i]);
    for (size_t token = 0; token < bias.size(); ++token) {
        double sum = bias[token];
        for (size_t i = 0; i < C; ++i) sum += E[token * C + i] * x[i];
        CHECK(static_cast<double>(logits[token]) == Approx(sum).margin(1e-4)); // float32
    }
}

TEST_CASE("left out: vision models say what they do not use", "[models]") {
    ModelFolder folder("vit");
    CHECK(openModelSource(folder.path().string())->warnings().empty());
    // These change nothing of a model of pictures.
    const json idle{{"is_causal", false}, {"tie_encoder_decoder", true}, {"epsilon_cutoff", 0.1}, {"min_p", 0.5}};
    folder.edit("config.json", [&](json& config) {
        config["use_relative_position_bias"] = true;
        config.update(idle);
    });
    REQUIRE(openModelSource(folder.path().string())->warnings().size() == 1);
    CHECK(openModelSource(folder.path().string())->leftOut().fields.front().path == "use_relative_position_bias");
}

TEST_CASE("configurations: windows follow Qwen2's three fields, and Mistral's one", "[models]") {
    using Layers = std::vector<int>;
    CHECK(slidingLayers("qwen2_sliding", {}) == Layers{1});
    CHECK(slidingLayers("qwen2_sliding", {{"max_window_layers", 0}}) == Layers{0, 1});
    CHECK(slidingLayers("qwen2_sliding", {{"layer_types", {"sliding_attention", "full_attention"}}}) == Layers{0});
    CHECK(slidingLayers("qwen2_sliding", {{"max_window_layers", nullptr}}).empty()); // 28
    CHECK(slidingLayers("qwen2_sliding", {{"use_sliding_window", false}}).empty());
    CHECK(slidingLayers("qwen2_sliding", {{"sliding_window", nullptr}}).empty());
    CHECK(slidingLayers("llama", {{"model_type", "mistral"}, {"sliding_window", 4}}) == Layers{0, 1});
    CHECK(slidingLayers("llama", {{"model_type", "mistral"}}) == Layers{0, 1}); // 4096
    CHECK(slidingLayers("llama", {{"model_type", "mistral"}, {"sliding_window", nullptr}}).empty());
    CHECK(slidingLayers("llama", {{"sliding_window", 4}}).empty());
    const json full{"full_attention", "full_attention"};
    CHECK(slidingLayers("qwen2_sliding", {{"layer_types", full}}).empty());
    // Mistral's class has no types of layers.
    CHECK(slidingLayers("llama", {{"model_type", "mistral"}, {"sliding_window", 4}, {"layer_types", full}}) ==
          Layers{0, 1});
}

TEST_CASE("configurations: rotary positions follow one rule in Llama and GPT-NeoX", "[models]") {
    using Values = std::vector<double>;
    const auto head = [](Values values, size_t count) {
        values.resize(std::min(values.size(), count));
        return values;
    };
    CHECK(head(rotaryOf("gpt_neox", {}), 2) == Values{10000, 0.25});
    CHECK(head(rotaryOf("gpt_neox", {{"rope_parameters", {{"rope_theta", 500}, {"partial_rotary_factor", 0.5}}}}), 2) ==
          Values{500, 0.5});
    CHECK(head(rotaryOf("gpt_neox", {{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}), 4) ==
          Values{10000, 0.25, 0, 4});
    CHECK(head(rotaryOf("llama", {{"rope_theta", 7}}), 1) == Values{7});
    CHECK(head(rotaryOf("llama", {{"rope_theta", 7}, {"rope_parameters", {{"rope_theta", 9}}}}), 1) == Values{9});
    const json same{{"rope_type", "linear"}, {"rope_theta", 9}, {"factor", 2}};
    CHECK(head(rotaryOf("llama", {{"rope_parameters", {{"full_attention", same}, {"sliding_attention", same}}}}), 4) ==
          Values{9, 1, 0, 2});
}

TEST_CASE("configurations: XLNet's longest text is the distance at which it clamps", "[models]") {
    CHECK(configOf("xlnet", {}).context == 512);
    CHECK(configOf("xlnet", {{"clamp_len", 40}}).context == 40);
}

TEST_CASE("RoBERTa: padding has a position of its own, and the others count without it", "[models][gpu]") {
    const int64_t padding = GENERATE(0, 1, 5);
    ModelFolder folder("roberta");
    folder.edit("config.json", [&](json& config) { config["pad_token_id"] = padding; });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
    CHECK(model.config().context == 22 - padding - 1);
    const auto pad = static_cast<int>(padding);
    const std::vector<int> tokens{7, pad, 9, 12, pad, pad, 3};
    const auto rows = model.capture(TextInput{tokens}, "hook_pos_embed").front().values;
    const std::vector<double> table =
        stored(WeightSource(folder.path()), "roberta.embeddings.position_embeddings.weight");
    const size_t C = rows.size() / tokens.size();
    int64_t count = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const int64_t row = tokens[i] == pad ? padding : padding + ++count;
        for (size_t c = 0; c < C; ++c)
            CHECK(static_cast<double>(rows[i * C + c]) == table[static_cast<size_t>(row) * C + c]);
    }
}

TEST_CASE("RoBERTa: the readout's own layer has the exact GELU, whatever the layers have", "[models][gpu]") {
    ModelFolder folder("roberta");
    folder.edit("config.json", [](json& config) { config["hidden_act"] = "relu"; });
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
    const TextInput input{{7, 9, 12}};
    const auto hidden = model.capture(input, "blocks.1.hook_resid_post").front().values,
               logits = model.capture(input, "logits").front().values;
    const WeightSource weights(folder.path());
    const auto W = stored(weights, "lm_head.dense.weight"), b = stored(weights, "lm_head.dense.bias"),
               w = stored(weights, "lm_head.layer_norm.weight"), v = stored(weights, "lm_head.layer_norm.bias"),
               E = stored(weights, "roberta.embeddings.word_embeddings.weight"), bias = stored(weights, "lm_head.bias");
    const size_t C = b.size(), V = bias.size();
    std::vector<double> x(C);
    for (size_t i = 0; i < C; ++i) { // the first token
        double sum = b[i];
        for (size_t j = 0; j < C; ++j) sum += W[i * C + j] * static_cast<double>(hidden[j]);
        x[i] = sum / 2 * (1 + std::erf(sum / std::sqrt(2.0)));
    }
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(C);
    double variance = 0;
    for (const double each : x) variance += (each - mean) * (each - mean) / static_cast<double>(C);
    for (size_t i = 0; i < C; ++i) x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * w[i] + v[i];
    for (size_t token = 0; token < V; ++token) {
        double sum = bias[token];
        for (size_t i = 0; i < C; ++i) sum += E[token * C + i] * x[i];
        CHECK(static_cast<double>(logits[token]) == Approx(sum).margin(1e-4)); // float32
    }
}
