#include "engine/inference/changes.h"
#include "engine/analysis/sweeps.h"
#include "engine/inference/cell_explainer.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/named_changes.h"
#include "engine/inference/whole_layer.h"
#include "engine/models/hook_names.h"
#include "tests/analysis/golden_case.h"

#include <fmt/format.h>

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kChangedLayer = 1, kChangedHead = 2, kChangedPosition = 12;
constexpr const char* kChangedModels[] = {"gpt2", "llama_gqa"};
const std::string kZ = "blocks.1.attn.hook_z";

std::vector<float> logitsOf(LanguageModel& model, const std::vector<int>& tokens) {
    model.truncate(0);
    REQUIRE(model.feed(tokens));
    return {model.logits().begin(), model.logits().end()};
}

std::vector<float> changedLogits(GoldenCase& golden, const Changes& edits) {
    golden.model.applyChanges(edits, golden.tokens);
    return logitsOf(golden.model, golden.tokens);
}

std::string sentenceOf(LanguageModel& model, const Changes& edits) {
    try {
        model.applyChanges(edits, std::vector{1, 2, 3});
    } catch (const Error& error) {
        CHECK_FALSE(error.hint().empty());
        return error.message();
    }
    return "accepted";
}

} // namespace

TEST_CASE("changes: each kind gives PyTorch's logits", "[analysis][gpu]") {
    using Kind = ValueChange::Kind;
    for (const char* name : kChangedModels) {
        INFO(name);
        GoldenCase golden(name);
        const std::string other = textOf(golden.others), own = textOf(golden.tokens);
        const std::vector<float> before = logitsOf(golden.model, golden.tokens);
        const auto agrees = [&](const char* what, const Changes& edits) {
            INFO(what);
            CHECK(farthest(changedLogits(golden, edits), golden.values(what)) < 1e-4);
        };
        agrees("changed.zero", {{{.kind = Kind::Zero, .hook = kZ, .head = kChangedHead, .amount = 0.75f}}, {}});
        agrees("changed.mean", {{{.kind = Kind::Mean, .hook = kZ, .head = kChangedHead}}, {}});
        agrees(
            "changed.patch",
            {{{.kind = Kind::Patch, .hook = "blocks.0.hook_resid_post", .position = kChangedPosition, .text = other}},
             {}});
        agrees(
            "changed.steer",
            {{{.kind = Kind::Steer, .hook = "blocks.0.hook_mlp_out", .amount = 1.5f, .text = other, .contrast = own}},
             {}});
        agrees("changed.pin",
               {{}, {{.site = kChangedLayer, .head = kChangedHead, .kind = PatternChange::Kind::Pin, .key = 3}}});
        agrees("changed.uniform",
               {{}, {{.site = kChangedLayer, .head = kChangedHead, .kind = PatternChange::Kind::Uniform}}});
        CHECK(golden.model.isChanged());
        CHECK(changedLogits(golden, {}) == before); // bit by bit
        CHECK_FALSE(golden.model.isChanged());

        // Token by token through the cache as at once.
        golden.model.applyChanges(
            {{{.kind = Kind::Patch, .hook = "blocks.0.hook_resid_post", .position = kChangedPosition, .text = other}},
             {{.site = kChangedLayer, .head = kChangedHead, .kind = PatternChange::Kind::Pin, .key = 3}}},
            golden.tokens);
        const std::vector<float> atOnce = logitsOf(golden.model, golden.tokens);
        golden.model.truncate(0);
        for (int token : golden.tokens) REQUIRE(golden.model.feed(std::span(&token, 1)));
        CHECK(farthest({golden.model.logits().begin(), golden.model.logits().end()}, atOnce) < 1e-4);
    }
}

TEST_CASE("changes: a patch with the run's own values changes no bit", "[analysis][gpu]") {
    GoldenCase golden(GENERATE(from_range(std::begin(kChangedModels), std::end(kChangedModels))));
    const std::vector<float> before = logitsOf(golden.model, golden.tokens);
    for (const char* hook : {"hook_embed", "blocks.0.attn.hook_q", "blocks.0.attn.hook_v", "blocks.1.attn.hook_z",
                             "blocks.0.hook_attn_out", "blocks.1.hook_mlp_out", "blocks.1.hook_resid_pre"}) {
        INFO(hook);
        Changes edits;
        edits.valueChanges.push_back({.kind = ValueChange::Kind::Patch, .hook = hook});
        const std::vector<float> whole = changedLogits(golden, edits);
        edits.valueChanges.front().position = kChangedPosition;
        edits.valueChanges.front().text = textOf(golden.tokens);
        CHECK(changedLogits(golden, edits) == whole);
        CHECK(whole == before);
    }
}

TEST_CASE("changes: a text of one token patches that token alone", "[analysis][gpu]") {
    GoldenCase golden("gpt2");
    const std::string one = textOf({golden.others.front()});
    ValueChange edit{.kind = ValueChange::Kind::Patch, .hook = "hook_embed", .text = one};
    const std::vector<float> everywhere = changedLogits(golden, {{edit}, {}});
    edit.position = 0;
    CHECK(changedLogits(golden, {{edit}, {}}) == everywhere);
}

TEST_CASE("changes: rows set by hand are what views show and what the model runs on", "[analysis][gpu]") {
    GoldenCase golden("llama_gqa");
    PatternChange edit{.site = kChangedLayer, .head = kChangedHead};
    edit.rows[5] = {0.25f, 0, 0, 0.75f};
    golden.model.applyChanges({{}, {edit}}, golden.tokens);
    logitsOf(golden.model, golden.tokens);
    const PatternTile tile = golden.model.patterns().tile({.site = kChangedLayer, .head = kChangedHead});
    CHECK(tile.at(5, 0) == 0.25f);
    CHECK(tile.at(5, 1) == 0);
    CHECK(tile.at(5, 3) == 0.75f);
    const auto captured = golden.model.capture(golden.tokens, "blocks.1.attn.hook_pattern");
    const auto count = golden.tokens.size();
    for (size_t cell = 0; cell < count * count; ++cell)
        CHECK(captured.front().values[kChangedHead * count * count + cell] == Approx(tile.values[cell]).margin(1e-5));
    logitsOf(golden.model, golden.tokens);
    const CellExplanation cell =
        explainCell(golden.model, {.site = kChangedLayer, .head = kChangedHead, .query = 5, .key = 3});
    CHECK(cell.displayed == 0.75f);
    CHECK_FALSE(cell.remark.empty());
    const PatternTile mean = golden.model.patterns().tile({.site = kChangedLayer, .aggregate = HeadAggregate::Mean});
    double sum = 0;
    for (int key = 0; key <= 5; ++key) sum += static_cast<double>(mean.at(5, key));
    CHECK(sum == Approx(1).margin(1e-5));
    const PatternGrid grid = golden.model.patterns().grid(64);
    CHECK(grid.at(kChangedLayer, kChangedHead).at(5, 3) == 0.75f);
}

TEST_CASE("changes: a whole layer that is removed adds nothing to the stream", "[analysis][gpu]") {
    const std::vector<int> tokens{3, 1, 4, 1, 5, 9};
    for (const char* name : {"gpt2", "llama_gqa", "gpt_neox"}) { // the last adds both at once
        INFO(name);
        const auto folder = std::filesystem::path(ATTN_TEST_DIR) / "golden" / name;
        LanguageModel model(openModelSource(folder.string()), {.device = {.validation = true}});
        model.applyChanges({wholeLayer({}, blockName(kChangedLayer), true), {}}, tokens);
        const auto streams = model.capture(tokens, "blocks.1.hook_resid_pre,blocks.1.hook_resid_post");
        REQUIRE(streams.size() == 2);
        CHECK(streams[0].values == streams[1].values);
    }
}

TEST_CASE("edits: attention and MLP of a layer that are changed alike are one change", "[analysis]") {
    ValueChange head{.hook = kZ, .head = 2};
    std::vector<ValueChange> list = wholeLayer({.position = 3, .amount = 0.5f}, "blocks.2", true);
    list.insert(list.begin(), head);
    list.push_back({.hook = "blocks.1.hook_attn_out"});
    list.push_back({.hook = "blocks.1.hook_mlp_out", .amount = 0.5f});
    list.push_back({.hook = "blocks.0.hook_mlp_out"});
    std::vector<std::string> said;
    for (const auto change : changesOf(list)) said.push_back(describe(change, {}));
    CHECK(said == std::vector<std::string>{"L1 H2 removed", "50 % of layer 2, token 3 removed",
                                           "attention output of layer 1 removed",
                                           "50 % of MLP output of layer 1 removed", "MLP output of layer 0 removed"});
    CHECK(changesOf(changesFromJson(changesToJson({list, {}})).valueChanges).size() == 5); // session files keep it
    const auto patched =
        wholeLayer({.kind = ValueChange::Kind::Patch, .text = "a cat", .textPosition = 1}, "blocks.0", true);
    CHECK(describe(changesOf(patched).front(), {}) == "layer 0 replaced by its value from \"a cat\", token 1");
    CHECK(wholeLayer({}, "blocks.0", false).size() == 1);
}

TEST_CASE("edits: of a model with an encoder and a decoder, changes name and say their sites", "[analysis]") {
    const ModelStructure two{
        .axes = {{}},
        .streams = {{.name = "encoder"}, {.name = "decoder"}},
        .sites = {{.name = "encoder.0.attn", .block = "encoder.0"},
                  {.name = "decoder.0.attn", .block = "decoder.0", .queryStream = 1, .keyStream = 1},
                  {.name = "decoder.0.cross_attn", .block = "decoder.0", .queryStream = 1}},
        .readouts = {}};
    const auto said = [&](const std::string& hook, int head) {
        return describe(ValueChange{.hook = hook, .head = head}, two);
    };
    CHECK(said("decoder.0.cross_attn.hook_z", 1) == "Cross L0 H1 removed");
    CHECK(said("encoder.0.attn.hook_z", -1) == "all heads of Encoder L0 removed");
    CHECK(said("decoder.0.hook_cross_attn_out", -1) == "attention output of Cross L0 removed");
    CHECK(said("decoder.0.hook_mlp_out", -1) == "MLP output of Decoder L0 removed");
    CHECK(describe(wholeLayer({}, "encoder.0", true), two) == "Encoder L0 removed");
    const Changes changes{.valueChanges = {{.hook = "decoder.0.cross_attn.hook_z", .head = 1}},
                          .patterns = {{.site = 2, .head = 0, .kind = PatternChange::Kind::Uniform}},
                          .gates = {{{1, 1}, 0.5f}}};
    CHECK(describe(changes.patterns[0], two) == "pattern of Cross L0 H0: uniform");
    CHECK(keptShare(changes, two, 2, 1) == 0);
    CHECK(keptShare(changes, two, 1, 1) == 0.5f);
    const std::string json = changesToJson(changes, two);
    CHECK(json.find("\"site\":\"decoder.0.cross_attn\"") != std::string::npos);
    CHECK(json.find("\"site\":\"blocks.") == std::string::npos);
    CHECK(changesFromJson(json, two) == changes);
    CHECK(changesFromJson(changesToJson(changes), two) == changes); // an older file, which numbers the sites
}

TEST_CASE("changes: what cannot be is refused in a sentence", "[analysis][gpu]") {
    GoldenCase golden("gpt2");
    const auto refused = [&](ValueChange edit) { return sentenceOf(golden.model, {{std::move(edit)}, {}}); };
    CHECK(refused({.hook = "blocks.9.attn.hook_z"}) == "there is no hook \"blocks.9.attn.hook_z\"");
    CHECK(refused({.hook = "blocks.0.attn.hook_pattern"}) ==
          "blocks.0.attn.hook_pattern cannot be changed token by token");
    CHECK(refused({.hook = "logits"}) == "logits cannot be changed token by token");
    CHECK(refused({.hook = kZ, .head = 4}) == kZ + " has no head 4");
    CHECK(refused({.hook = "hook_embed", .head = 0}) == "hook_embed has no head 0");
    CHECK(refused({.hook = kZ, .amount = NAN}) == "the amount is not a number");
    CHECK(refused({.kind = ValueChange::Kind::Patch, .hook = kZ, .position = 9, .text = "1,2,3"}) ==
          "the source of the values has no token 9");
    CHECK(refused({.kind = ValueChange::Kind::Patch, .hook = kZ, .position = 9}) == "accepted"); // the prompt may grow
    CHECK(sentenceOf(golden.model, {{}, {{.site = 2}}}) == "there is no head 0 in layer 2");
    CHECK(golden.model.hookChanges().patterns().empty()); // what was in force stays
}

TEST_CASE("edits: a session file's text gives them back", "[analysis]") {
    PatternChange rows{.site = 1, .head = 2};
    rows.rows[4] = {0.5f, 0.25f, 0.25f};
    const Changes edits{{{.kind = ValueChange::Kind::Steer,
                          .hook = "blocks.0.hook_resid_pre",
                          .amount = -2.5f,
                          .text = "love \"and\" peace",
                          .textPosition = 3,
                          .contrast = "hate"},
                         {.kind = ValueChange::Kind::Mean, .hook = kZ, .head = 1, .position = 7}},
                        {rows, {.site = 0, .head = 1, .kind = PatternChange::Kind::Pin, .key = 9}},
                        {{{0, 1}, 0.5f}, {{1, 0}, 0}}};
    CHECK(changesFromJson(changesToJson(edits)) == edits);
    CHECK(changesToJson(edits).find("\"site\":\"blocks.") != std::string::npos);
    const auto layerFrom = [](const std::string& place) {
        return changesFromJson("{\"patterns\": [{\"kind\": \"pin\", \"head\": 0, " + place + "}]}").patterns.at(0).site;
    };
    CHECK(layerFrom("\"site\": \"blocks.3.attn\"") == 3);
    CHECK(layerFrom("\"layer\": 3") == 3); // a session file of version 0.2
    for (const char* wrong : {"\"site\": 3", "\"site\": \"blocks.3\"", "\"site\": \"blocks.-1.attn\"", "\"layer\": -1"})
        CHECK_THROWS_AS(layerFrom(wrong), Error);
    CHECK(changesFromJson("{}").empty());
    for (const char* broken :
         {"", "[]", "{\"interventions\": [{\"kind\": \"patch\"}]}", "{\"interventions\": [{\"kind\": \"x\"}]}",
          "{\"patterns\": [{\"kind\": \"pin\", \"layer\": \"a\", \"head\": 0}]}", "{\"patterns\": 3}"})
        CHECK_THROWS_AS(changesFromJson(broken), Error);
    CHECK(describe(edits.patterns[1]) == "pattern of L0 H1: pinned to token 9");
    CHECK(describe(edits.valueChanges[1]) == "L1 H1, token 7 replaced by its mean over the prompt");
}

TEST_CASE("sweeps: effects are what single changes have", "[analysis][gpu]") {
    GoldenCase golden("llama_gqa");
    AblationSweepAnalysis ablation;
    ablation.target.other = 5;
    const auto effects = golden.run<AblationSweep>(ablation);
    REQUIRE(effects->headEffects.size() == 12);
    REQUIRE(effects->mlpEffects.size() == 2);
    golden.model.setHookChanges({});
    const std::vector<float> before = logitsOf(golden.model, golden.tokens);
    CHECK(effects->whole == Approx(logitOf(effects->target, before)));
    golden.model.setGate(0, 3, 0);
    CHECK(effects->headEffects[3] ==
          Approx(logitOf(effects->target, logitsOf(golden.model, golden.tokens)) - effects->whole).margin(1e-5));
    golden.model.setGate(0, 3, 1);
    golden.model.applyChanges({{{.kind = ValueChange::Kind::Zero, .hook = "blocks.1.hook_mlp_out"}}, {}},
                              golden.tokens);
    CHECK(effects->mlpEffects[1] ==
          Approx(logitOf(effects->target, logitsOf(golden.model, golden.tokens)) - effects->whole).margin(1e-5));

    golden.model.applyChanges({}, golden.tokens);
    PatchSweepAnalysis patch;
    patch.text = textOf(golden.others);
    const auto patched = golden.run<PatchSweep>(patch);
    golden.model.setHookChanges({});
    REQUIRE(patched->effects.size() == 2 * golden.tokens.size());
    const std::vector<float> other = logitsOf(golden.model, golden.others);
    CHECK(patched->own == Approx(logitOf(patched->target, before)).margin(1e-5));
    CHECK(patched->other == Approx(logitOf(patched->target, other)).margin(1e-5));
    // The last token's stream before the last layer, and keys and values of it are the other's: but for the earlier
    // ones.
    golden.model.applyChanges({{{.kind = ValueChange::Kind::Patch,
                                 .hook = "blocks.1.hook_resid_pre",
                                 .position = 18,
                                 .text = textOf(golden.others)}},
                               {}},
                              golden.tokens);
    CHECK(patched->logits.back() ==
          Approx(logitOf(patched->target, logitsOf(golden.model, golden.tokens))).margin(1e-4));
    // Each head alone is what a change of that head gives.
    golden.model.applyChanges({}, golden.tokens);
    HeadPatchAnalysis heads;
    heads.text = textOf(golden.others);
    const auto byHead = golden.run<HeadPatchSweep>(heads);
    golden.model.setHookChanges({});
    REQUIRE(byHead->effects.size() == static_cast<size_t>(byHead->sites * byHead->heads));
    CHECK(byHead->target == patched->target);
    for (const auto& [site, head] : {std::pair(0, 0), std::pair(1, 2)}) {
        golden.model.applyChanges({{{.kind = ValueChange::Kind::Patch,
                                     .hook = golden.model.info().site(site).hook("z"),
                                     .head = head,
                                     .text = textOf(golden.others)}},
                                   {}},
                                  golden.tokens);
        const double logit = logitOf(byHead->target, logitsOf(golden.model, golden.tokens));
        const auto at = static_cast<size_t>(site * byHead->heads + head);
        CHECK(byHead->logits[at] == Approx(logit).margin(1e-4));
        CHECK(byHead->effects[at] == Approx(byHead->shareOf(logit)).margin(1e-4));
    }
    patch.text = textOf({golden.others.begin(), golden.others.end() - 1});
    CHECK_THROWS_AS(golden.run<PatchSweep>(patch), Error);
}
