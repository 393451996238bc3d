#include "engine/io/weight_source.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "tests/models/model_folder.h"
#include "tests/support/answers.h"
#include "tests/support/program.h"

// Each case breaks one thing of a good folder; the sentence must name the file, the thing and the remedy.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

/// A tokenizer that cannot be read closes no model: its sentence stands beside the model.
std::string opening(const fs::path& path) {
    std::string problem;
    const std::string sentence = sentenceOf([&] { problem = openModelSource(path.string())->tokenizerProblem(); });
    return problem.empty() ? sentence : problem;
}

/// The sentence after a change to a copy of a golden model.
template <class Change> std::string afterwards(const Change& change) {
    ModelFolder folder;
    change(folder);
    return opening(folder.path());
}

std::string withConfig(const std::string& text) {
    return afterwards([&](ModelFolder& folder) { writeFile(folder / "config.json", text); });
}

std::string withWeights(const std::string& bytes) {
    return afterwards([&](ModelFolder& folder) { writeFile(folder / "model.safetensors", bytes); });
}

constexpr const char* kPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abcdef\nsize 548105171\n";

/// Every value of every parameter, as a model would load it.
std::vector<float> allValues(const fs::path& path) {
    const auto source = openModelSource(path.string());
    const ModelGraph decoder = buildModel(source->config(), {.queries = 1, .cacheCapacity = 1});
    std::vector<float> values;
    for (const Node* node : storedParameters(*decoder.graph)) {
        const Shape& shape = node->outputs[0].shape;
        std::vector<float> padded(static_cast<size_t>(shape.paddedElements()));
        source->read(node->name, shape, [&](const auto& fill) { fill(0, padded); });
        values.insert(values.end(), padded.begin(), padded.end());
    }
    return values;
}

} // namespace

TEST_CASE("folders: a prompt to start with is there where config.json has none", "[models]") {
    CHECK(openModelSource((fs::path(ATTN_TEST_DIR) / "golden/distilbert").string())->example() == "Once upon a time");
}

TEST_CASE("bad folders: files of other formats are refused by their names, with what to do", "[models]") {
    const TemporaryFolder other;
    for (const auto& [name, words] :
         {std::pair("m.gguf", "m.gguf: GGUF files cannot be opened yet; get the same model"),
          {"m.ONNX", "m.ONNX: ONNX files cannot be opened yet; get the same model"},
          {"m.bin", "m.bin: can run code, so it is not opened; save the model again with"},
          {"m.pth", "m.pth: can run code, so it is not opened"}}) {
        writeFile(other / name, "x");
        CHECK_THAT(opening(other / name), CONTAINS(words));
    }
    writeFile(other / "renamed", "GGUF....");
    CHECK_THAT(opening(other / "renamed"), CONTAINS("renamed: GGUF files cannot be opened yet"));
    writeFile(other / "broken.safetensors", "garbage");
    CHECK_THAT(opening(other / "broken.safetensors"), CONTAINS("broken.safetensors: "));
    CHECK_THAT(opening(other / "broken.safetensors"), !CONTAINS("config.json"));
}

TEST_CASE("bad folders: what is no model at all", "[models]") {
    const TemporaryFolder folder;
    CHECK_THAT(opening(folder / "nowhere"), CONTAINS("nowhere: there is no such file or folder; check the path"));
    CHECK_THAT(opening(folder.path()),
               CONTAINS("has no config.json; it holds nothing; choose the folder that holds config.json"));
    writeFile(folder / "notes.txt", "x");
    CHECK_THAT(opening(folder.path()), CONTAINS("it holds notes.txt"));
    CHECK_THAT(opening(folder / "notes.txt"), CONTAINS("\".txt\" files cannot be opened; open a Hugging Face folder"));
    writeFile(folder / "plain", "x");
    CHECK_THAT(opening(folder / "plain"), CONTAINS("plain: this file is not a model; open a Hugging Face folder"));
    std::filesystem::remove(folder / "plain");
    for (int i = 10; i < 30; ++i) writeFile(folder / ("part" + std::to_string(i)), "x");
    CHECK_THAT(opening(folder.path()), CONTAINS("part20 and 9 more"));
    CHECK_THAT(opening("builtin:deduction"), CONTAINS("no built-in model \"deduction\"; there are builtin:induction"));
    CHECK_THROWS_WITH(openModelSource(""), CONTAINS("no model was named"));
}

TEST_CASE("bad folders: every case of bad_folders.json", "[models]") {
    checkAnswers("models/bad_folders.json", "", [](const std::string& given) {
        const json named = json::parse(given);
        ModelFolder folder(named.at("model"));
        folder.change(named);
        return opening(folder.path());
    });
}

TEST_CASE("bad folders: a config.json that cannot be read as JSON", "[models]") {
    CHECK_THAT(withConfig("{\"model_type\": \"\xff\xfe\"}"),
               CONTAINS("config.json: the file is not valid JSON at line 1, column 17"));
    CHECK_THAT(withConfig(std::string(200'000, '[')),
               CONTAINS("config.json: the file nests its JSON more than 64 deep"));
    CHECK_THAT(withConfig("{\"x\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}"),
               CONTAINS("more than 64 deep"));
    CHECK_THAT(afterwards([](ModelFolder& folder) {
                   fs::remove(folder / "config.json");
                   fs::create_directory(folder / "config.json");
               }),
               CONTAINS("config.json: is not a file but a"));
    CHECK_THAT(afterwards([](ModelFolder& folder) {
                   folder.edit("config.json", [](json& config) { config["n_embd"] = std::vector<int>(1000, 7); });
               }),
               CONTAINS("\"n_embd\" is [7,7,") && CONTAINS("... but must be"));
}

TEST_CASE("bad folders: weights that are no weights", "[models]") {
    const std::string good = ModelFolder().text("model.safetensors");
    CHECK_THAT(
        afterwards([](ModelFolder& folder) { fs::rename(folder / "model.safetensors", folder / "pytorch_model.bin"); }),
        CONTAINS("pytorch_model.bin can run code") && CONTAINS("safe_serialization=True"));
    CHECK_THAT(withWeights("PK\3\4" + std::string(1000, 'x')),
               CONTAINS("model.safetensors: the file begins with the size of its header, 8680820738615364432 bytes") &&
                   CONTAINS("this is no safetensors file; fetch"));
    CHECK_THAT(withWeights(good.substr(0, 5)), CONTAINS("the file has only 5 bytes"));
    CHECK_THAT(withWeights(good.substr(0, 1000)),
               CONTAINS("the header should have 2584 bytes but the file has 1000: it is truncated") &&
                   CONTAINS("fetch the file again"));
    CHECK_THAT(withWeights(good.substr(0, good.size() - 4)),
               CONTAINS("tensor \"") && CONTAINS("it is truncated or damaged; fetch the file again"));
    std::string tooLong = good;
    const uint64_t beyond = good.size();
    std::memcpy(tooLong.data(), &beyond, sizeof(beyond));
    CHECK_THAT(withWeights(tooLong), CONTAINS("the header should have " + std::to_string(beyond) + " bytes"));
    CHECK_THAT(withWeights(safetensors("{\"wte.weight\": ", "")),
               CONTAINS("model.safetensors: the header is not valid JSON at line 1, column 14"));
    CHECK_THAT(withWeights(safetensors("{\"\xff\": 1}", "")), CONTAINS("the header is not valid JSON"));
}

TEST_CASE("bad folders: NaN and infinite weights load and are counted", "[models]") {
    const ModelFolder folder;
    auto [header, data] = folder.weights();
    const float strange[] = {NAN, INFINITY, -INFINITY};
    std::memcpy(data.data() + header["ln_f.weight"]["data_offsets"][0].get<size_t>(), strange, sizeof(strange));
    writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
    std::vector<float> values(32);
    CHECK(openModelSource(folder.path().string())->read("ln_final.w", Shape{32}, [&](const auto& fill) {
        fill(0, values);
    }) == 3);
    CHECK(std::isnan(values[0]));
    CHECK(std::isinf(values[2]));
}

TEST_CASE("bad folders: shards", "[models]") {
    ModelFolder folder;
    const std::vector<float> whole = allValues(folder.path());
    folder.shard();
    CHECK(allValues(folder.path()) == whole);
    CHECK(allValues(folder / ModelFolder::kShards[1]) == whole); // any shard stands for all of them

    const std::string index = folder.text("model.safetensors.index.json");
    const auto withIndex = [&](const std::string& text) {
        writeFile(folder / "model.safetensors.index.json", text);
        return opening(folder.path());
    };
    const auto withPlace = [&](const json& shard) {
        json changed = json::parse(index);
        changed["weight_map"]["wte.weight"] = shard;
        return withIndex(changed.dump());
    };
    CHECK_THAT(withIndex("{"), CONTAINS("model.safetensors.index.json: the file is not valid JSON at line 1, column"));
    CHECK_THAT(withIndex(kPointer), CONTAINS("index.json: this is a Git-LFS pointer"));
    CHECK_THAT(withIndex("{\"weight_map\": 3}"), CONTAINS("index.json: has no \"weight_map\"; fetch the file again"));
    CHECK_THAT(withIndex("[]"), CONTAINS("has no \"weight_map\""));
    for (const json& shard : {json(3), json("../model.safetensors"), json(""), json("config.json")})
        CHECK_THAT(withPlace(shard),
                   CONTAINS("index.json: names " + shard.dump() + " as the shard of tensor \"wte.weight\"; fetch"));
    CHECK_THAT(withPlace("model-00003-of-00003.safetensors"),
               CONTAINS("the shard model-00003-of-00003.safetensors is missing; fetch all 3 shards"));
    const std::string other =
        ModelFolder::kShards[json::parse(index)["weight_map"]["wte.weight"] == ModelFolder::kShards[0] ? 1 : 0];
    CHECK_THAT(withPlace(other), CONTAINS("the index promises tensor \"wte.weight\" in " + other +
                                          ", which does not hold it; fetch the shard again"));
    writeFile(folder / "model.safetensors.index.json", index);
    fs::resize_file(folder / other, 3000);
    CHECK_THAT(opening(folder.path()), CONTAINS(other + ": tensor \"") && CONTAINS("truncated"));
    fs::remove(folder / other);
    CHECK_THAT(opening(folder.path()),
               CONTAINS("the shard " + other + " is missing; fetch all 2 shards that the index names"));
}

TEST_CASE("bad folders: a Hugging Face cache, whole and with missing blobs", "[models]") {
    ModelFolder blobs;
    const std::vector<float> whole = allValues(blobs.path());
    blobs.shard();
    const TemporaryFolder cache;
    const fs::path snapshot = cache.path() / "snapshots" / "b6e1d7";
    fs::create_directories(snapshot);
    fs::create_directories(cache.path() / "snapshots" / "000000"); // a download that was broken off
    for (const std::string name :
         {"config.json", "model.safetensors.index.json", ModelFolder::kShards[0], ModelFolder::kShards[1]})
        fs::create_symlink(blobs / name, snapshot / name);
    CHECK(allValues(cache.path()) == whole); // without refs: the first that is whole
    fs::create_directories(cache / "refs");
    writeFile(cache / "refs/main", "b6e1d7\n");
    CHECK(allValues(cache.path()) == whole);
    CHECK(allValues(snapshot) == whole);
    CHECK(allValues(snapshot / ModelFolder::kShards[0]) == whole);
    writeFile(cache / "refs/main", "ffffff");
    CHECK(allValues(cache.path()) == whole); // a ref to what is gone

    fs::remove(blobs / ModelFolder::kShards[1]);
    CHECK_THAT(opening(cache.path()), CONTAINS(std::string(ModelFolder::kShards[1]) +
                                               ": is a link to a file that is not there; fetch the model again"));
    fs::remove(blobs / "config.json");
    CHECK_THAT(opening(snapshot),
               CONTAINS("config.json: is a link to a file that is not there; fetch the model again"));
}

TEST_CASE("bad folders: tokenizer.json", "[models]") {
    CHECK(afterwards([](ModelFolder& folder) { writeFile(folder / "tokenizer.json", letterTokenizer(20).dump()); }) ==
          "accepted");
    CHECK_THAT(afterwards([](ModelFolder& folder) { fs::create_symlink(folder / "gone", folder / "tokenizer.json"); }),
               CONTAINS("tokenizer.json: there is no such file"));
}

TEST_CASE("bad folders: what may not be read says so", "[models]") {
    const auto forbidden = [](const std::string& name, fs::perms permissions) {
        ModelFolder folder;
        const fs::path path = name.empty() ? folder.path() : folder / name;
        fs::permissions(folder.path(), fs::perms::all); // another user reads it
        fs::permissions(path, permissions);
        const std::string sentence = sentenceAsNobody([&] { openModelSource(folder.path().string()); });
        fs::permissions(path, fs::perms::owner_all);
        return sentence;
    };
    CHECK(forbidden("", fs::perms::all) == "accepted");
    CHECK_THAT(forbidden("", fs::perms::none),
               CONTAINS("cannot be read: Permission denied; give yourself permission to read it and its folder"));
    CHECK_THAT(forbidden("", fs::perms::others_read | fs::perms::owner_read),
               CONTAINS("config.json: cannot be read: Permission denied"));
    CHECK_THAT(forbidden("config.json", fs::perms::none),
               CONTAINS("config.json: cannot be opened: Permission denied; give yourself permission to read it"));
    CHECK_THAT(forbidden("model.safetensors", fs::perms::none),
               CONTAINS("model.safetensors: cannot be opened: Permission denied"));
}

TEST_CASE("bad folders: weights that shrink after they were opened are an error, not a crash", "[models]") {
    const ModelFolder folder;
    const auto source = openModelSource(folder.path().string());
    fs::resize_file(folder / "model.safetensors", 5000);
    CHECK_THAT(
        sentenceOf([&] {
            std::vector<float> values(static_cast<size_t>(61) * 32);
            source->read("embed.W_E", Shape{61, 32}, [&](const auto& fill) { fill(0, values); });
        }),
        CONTAINS("model.safetensors: was shortened while it was open and now ends at byte 5000; fetch the file again"));
}

TEST_CASE("bad folders: a config that nothing could run is refused before anything is built", "[models]") {
    const auto composed = [&](const std::string& spec, int64_t context, size_t layers = 1) {
        return afterwards([&](ModelFolder& folder) {
            const json config = {{"model_type", "attention-lab"},
                                 {"attention", std::vector<std::string>(layers, spec)},
                                 {"vocab_size", 8},
                                 {"context", context},
                                 {"width", 8},
                                 {"heads", 2},
                                 {"feed_forward", 8}};
            writeFile(folder / "config.json", config.dump());
        });
    };
    // The fused kernel needs no mask for a window, but it has no bias.
    const std::string window = "heads=multi_head(2), position=alibi, mask=causal & window(4)";
    CHECK_THAT(composed(window, int64_t{1} << 30),
               CONTAINS("config.json: a context of 1073741824 tokens in 1 layers needs masks of 1.15e+18 cells") &&
                   CONTAINS("set a shorter \"context\""));
    CHECK_THAT(composed(window, 16'384, 100), CONTAINS("needs masks of 2.68e+10 cells"));
    CHECK_THAT(composed(window, 64, 2000), CONTAINS("\"attention\" lists 2000 layers; at most 1024 are supported"));
    CHECK_THAT(composed(window, 2048), CONTAINS("tensor \"embed.W_E\" is missing")); // it was built, and then compared
}

TEST_CASE("bad folders: terminal escapes in tensor names and tokens are not printed", "[models][cli][gpu]") {
    ModelFolder folder("gpt2");
    folder.shard();
    json index = json::parse(folder.text("model.safetensors.index.json"));
    index["weight_map"]["\x1b]0;title\a"] = index["weight_map"].front();
    writeFile(folder / "model.safetensors.index.json", index.dump());
    const std::string path = "'" + folder.path().string() + "'";
    const Answer answer = runProgram("models " + path);
    CHECK(answer.code == 1);
    CHECK_THAT(answer.text, CONTAINS(R"(the index promises tensor "\x1b]0;title\x07")"));
    CHECK(answer.text.find('\x1b') == std::string::npos);

    ModelFolder talking("gpt2");
    const json tokenizer = {
        {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"\x1b", 1}}}, {"merges", json::array()}}}};
    writeFile(talking / "tokenizer.json", tokenizer.dump());
    const Answer scores =
        runProgram("perplexity '" + talking.path().string() + "' --prompt \"$(printf 'a\\033a')\" --each");
    CHECK(scores.code == 0);
    CHECK_THAT(scores.text, CONTAINS(R"("\x1b")"));
    CHECK(scores.text.find('\x1b') == std::string::npos);
}

TEST_CASE("bad folders: a model that an older version wrote with projections of a mixer is refused", "[models]") {
    const auto families = familyCatalogue();
    const ModelFamily& family =
        **std::ranges::find_if(families, [](const ModelFamily* each) { return each->id == "attention-lab"; });
    const json described{{"model_type", "attention-lab"},
                         {"attention", {"mixer=fnet", "heads=multi_head(2), mask=full"}},
                         {"vocab_size", 5},
                         {"context", 8},
                         {"width", 12},
                         {"heads", 2},
                         {"feed_forward", 24}};
    const auto configOf = [&](std::vector<std::string> tensors) {
        return family.config(ConfigReader(described, "config.json"), TensorNames(std::move(tensors)));
    };
    const ModelSpec config = configOf({"embed.W_E", "blocks.1.attn.W_V"});
    CHECK(config.layers[0].headWidth == 12);
    CHECK(config.layers[1].headWidth == 6);
    CHECK(family.describe(config).at("heads") == 2);
    CHECK_THAT(sentenceOf([&] { configOf({"blocks.0.attn.W_V"}); }),
               CONTAINS("names Fourier (FNet) for blocks.0, which has no projections, but the weights hold "
                        "\"blocks.0.attn.W_V\""));
}
