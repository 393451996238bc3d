#include "tests/gpu/scoped_environment.h"
#include "tests/models/hollow_llama.h"
#include "tests/models/model_folder.h"
#include "tests/session/session_test.h"
#include "tests/support/failing_vulkan.h"

// What a user can do wrong, and what a device can do to a user: a sentence, nothing lost, and the session continues.

using namespace attn;
using namespace attn::test;

TEST_CASE("faults: every command without a model asks for one", "[session]") {
    Session session;
    for (const Command& command : std::vector<Command>{
             SetPromptCommand{{.text = "abc"}}, SetPromptCommand{{.tokens = {1}}}, GenerateCommand{}, ResetCommand{},
             TakeTokenCommand{}, GoToBranchCommand{}, RestoreBranchesCommand{.nodes = {{-1, 1}}, .current = 0},
             CellRequest{}, SetChangesCommand{}, ShowWeightCommand{"x"}, CaptureCommand{"x", "y.npz"}})
        CHECK(failureOf(session, command) == "no model is open; open a model folder first");
    for (const Command& command : std::vector<Command>{StopCommand{}, SetSamplingCommand{}, PatternRequest{}})
        CHECK(failureOf(session, command) == "accepted");
}

TEST_CASE("faults: prompts that cannot be run", "[session][gpu]") {
    OpenSession session("abcabc");
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "abc\xff\xfe"}}),
               CONTAINS("text: byte 3 (0xFF) is not UTF-8; save the text as UTF-8"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "abc\xe4\xb8"}}), CONTAINS("is not UTF-8"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "ABC"}}),
               CONTAINS("this model has no token for \"A\"; use only its 27 characters"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.tokens = {1, 27}}}),
               CONTAINS("token 27 is outside the vocabulary of 27; use the tokenizer that belongs to the model"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.tokens = {-1}}}), CONTAINS("token -1 is outside"));
    CHECK_THAT(failureOf(session, TakeTokenCommand{.token = 27}),
               CONTAINS("token 27 is outside the vocabulary of 27; choose one"));
    CHECK_THAT(failureOf(session, RestoreBranchesCommand{.nodes = {{-1, 99}}, .current = 0}),
               CONTAINS("open the model with which the session was saved"));
    CHECK_THAT(failureOf(session, RestoreBranchesCommand{.nodes = {{3, 1}}, .current = 0}),
               CONTAINS("the session file is damaged"));
    CHECK(text(session) == "abcabc");
    succeed(session, GenerateCommand{.maxTokens = 3});
    CHECK(text(session) == "abcabcabc");
    CHECK_THAT(failureOf(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "\xc0"}}}),
               CONTAINS("is not UTF-8")); // opens, then refuses the prompt
    CHECK(session.latest()->model);
    CHECK(session.latest()->sequence->tokens.empty());
    CHECK_THAT(failureOf(session, GenerateCommand{}), CONTAINS("there is nothing to continue; type a prompt first"));
    CHECK_THAT(failureOf(session, TakeTokenCommand{}), CONTAINS("there is nothing to continue"));
    succeed(session, SetPromptCommand{{.text = "ab"}});
}

TEST_CASE("faults: a model without a tokenizer takes token ids", "[session][gpu]") {
    const ModelFolder folder;
    Session session;
    CHECK_THAT(succeed(session, OpenModelCommand{.path = folder.path().string()})->sequence->notice,
               CONTAINS("no tokenizer: enter token ids, separated by commas"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "Once"}}),
               CONTAINS("\"Once\" is not a token id; give whole numbers separated by commas"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "99999999999999999999"}}), CONTAINS("is not a token id"));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "1, 61"}}),
               CONTAINS("token 61 is outside the vocabulary of 61"));
    CHECK(succeed(session, SetPromptCommand{{.text = "1, 2, 3"}})->sequence->tokens.size() == 3);
}

TEST_CASE("faults: a prompt longer than the context keeps its end, says so and can be continued", "[session][gpu]") {
    const ModelFolder folder;
    Session session;
    std::vector<int> tokens;
    for (int i = 0; i < 200; ++i) tokens.push_back(i % 61);
    auto snapshot =
        succeed(session, OpenModelCommand{.path = folder.path().string(), .given = {.text = {.tokens = tokens}}});
    CHECK_THAT(
        snapshot->sequence->notice,
        CONTAINS("Too long: the model reads the last 44 of 200 tokens. Its context holds 48; when that is full"));
    REQUIRE(snapshot->sequence->tokens.size() == 44);
    CHECK(snapshot->sequence->tokens.back().id == 199 % 61);
    snapshot = succeed(session, GenerateCommand{.maxTokens = 100});
    CHECK(snapshot->sequence->tokens.size() <= 48);
    CHECK(snapshot->branches->nodes.size() > 201); // nothing was forgotten here
    CHECK(succeed(session, ResetCommand{})->sequence->tokens.size() == 44);
}

TEST_CASE("faults: a tokenizer that does not fit the model warns, and refuses only what cannot be run",
          "[session][gpu]") {
    const ModelFolder folder;
    nlohmann::json tokenizer = letterTokenizer(3);
    tokenizer["model"]["vocab"]["ab"] = 70;
    writeFile(folder / "tokenizer.json", tokenizer.dump());
    Session session;
    const auto snapshot =
        succeed(session, OpenModelCommand{.path = folder.path().string(), .given = {.text = {.text = "aacb"}}});
    REQUIRE(snapshot->model->warnings.size() == 1);
    CHECK_THAT(
        snapshot->model->warnings[0],
        CONTAINS("the tokenizer has 71 tokens but the model only 61, without token 70 (\"ab\" in tokenizer.json): "));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "ab"}}),
               CONTAINS("token 70 (\"ab\" in tokenizer.json) is outside the vocabulary of 61; use the tokenizer that "
                        "belongs to the model"));
    CHECK(text(session) == "aacb");
}

TEST_CASE("faults: NaN and infinite weights load with a warning", "[session][gpu]") {
    const ModelFolder folder;
    auto [header, data] = folder.weights();
    const auto spoil = [&, &header = header, &data = data](const char* tensor, size_t count) {
        const std::vector<float> values(count, NAN);
        std::memcpy(data.data() + header[tensor]["data_offsets"][0].get<size_t>(), values.data(),
                    count * sizeof(float));
        writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
    };
    const OpenModelCommand open{.path = folder.path().string(), .given = {.text = {.tokens = {1, 2, 3}}}};
    spoil("wte.weight", 2); // of token 0, which the prompt does not use; its logit is NaN
    Session session;
    CHECK_THAT(failureOf(session, open), CONTAINS("1 of 61 logits are NaN or infinite"));
    auto snapshot = session.latest();
    REQUIRE(snapshot->model->warnings.size() == 1);
    CHECK_THAT(snapshot->model->warnings[0],
               CONTAINS("2 of 1952 values of embed.W_E are NaN or infinite: the outputs cannot be trusted"));
    CHECK_THAT(failureOf(session, GenerateCommand{.maxTokens = 3}), CONTAINS("1 of 61 logits are NaN or infinite"));
    CHECK(session.latest()->sequence->tokens.size() == 3);
    spoil("h.0.ln_1.weight", 32); // every logit is NaN
    CHECK_THAT(failureOf(session, open), CONTAINS("61 of 61 logits are NaN or infinite"));
    CHECK(session.latest()->model->warnings.size() == 2);
    CHECK_THAT(
        failureOf(session, GenerateCommand{}),
        CONTAINS(
            "61 of 61 logits are NaN or infinite, so there is no result; look for weights, or changes to the run"));
    CHECK(session.latest()->sequence->tokens.size() == 3);
}

TEST_CASE("faults: finite weights whose numbers overflow show the run and say that it has no answer",
          "[session][gpu]") {
    const ModelFolder folder;
    auto [header, data] = folder.weights();
    const std::vector<float> values(128 * 32, 3e38f);
    const nlohmann::json& offsets = header["h.1.mlp.c_proj.weight"]["data_offsets"];
    REQUIRE(offsets[1].get<size_t>() - offsets[0].get<size_t>() == values.size() * sizeof(float));
    std::memcpy(data.data() + offsets[0].get<size_t>(), values.data(), values.size() * sizeof(float));
    writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
    Session session;
    const OpenModelCommand open{.path = folder.path().string(), .given = {.text = {.tokens = {1, 2, 3}}}};
    CHECK_THAT(failureOf(session, open), CONTAINS("61 of 61 logits are NaN or infinite"));
    CHECK(session.latest()->model->warnings.empty());
    CHECK(session.latest()->sequence->tokens.size() == 3); // its patterns are shown
    CHECK_THAT(failureOf(session, SetPromptCommand{{.tokens = {4, 5}}}),
               CONTAINS("61 of 61 logits are NaN or infinite"));
    const std::string path = (folder / "run.npz").string();
    CHECK_THAT(failureOf(session, CaptureCommand{.hooks = "logits", .path = path}),
               CONTAINS("run.npz is written, but") && CONTAINS("values of logits are NaN or infinite"));
    CHECK(fs::exists(path));
}

TEST_CASE("faults: without a Vulkan device opening says what to install, and works once there is one",
          "[session][gpu]") {
    const TemporaryFolder folder;
    writeFile(folder / "none.json", "");
    Session session;
    {
        const std::string none = (folder / "none.json").string();
        const gpu::ScopedEnvironment files("VK_DRIVER_FILES", none.c_str()), oldName("VK_ICD_FILENAMES", none.c_str());
        CHECK_THAT(failureOf(session, OpenModelCommand{.path = kInduction}),
                   CONTAINS("Vulkan") &&
                       CONTAINS("install a Vulkan driver for your graphics card, or software Vulkan"));
        CHECK_FALSE(session.latest()->model);
    }
    succeed(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "abc"}}});
    CHECK(text(session) == "abc");
    Session other({.device = "Voodoo 5"});
    CHECK_THAT(failureOf(other, OpenModelCommand{.path = kInduction}),
               CONTAINS("no Vulkan device matches \"Voodoo 5\"; there is 0 \""));
}

TEST_CASE("faults: a model larger than the device's memory is refused before anything is allocated", "[session][gpu]") {
    const TemporaryFolder folder;
    if (!HollowLlama{.width = 4096, .vocabulary = int64_t{1} << 26}.write(folder.path())) { // one tebibyte
        WARN("skipped: this file system has no files with holes");
        return;
    }
    OpenSession session("abcabc");
    const int before = failingVulkan().allocations;
    CHECK_THAT(failureOf(session, OpenModelCommand{.path = folder.path().string()}),
               CONTAINS(folder.path().string() + ": needs 10") && CONTAINS("MiB on the device (parameters 10") &&
                   CONTAINS(" MiB free; close other programs, choose another device, keep the weights in fewer bits, "
                            "or open a smaller model"));
    CHECK(failingVulkan().allocations == before);
    CHECK(session.latest()->model->name == "induction");
    succeed(session, GenerateCommand{.maxTokens = 3});
    CHECK(text(session) == "abcabcabc");
}

TEST_CASE("faults: when the device runs out of memory all the same, the open model stays", "[session][gpu]") {
    OpenSession session("abcabc");
    {
        const FailWith full(failingVulkan().allocate, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        CHECK_THAT(failureOf(session, OpenModelCommand{.path = kInduction}),
                   CONTAINS("MiB") && CONTAINS("open a smaller model"));
        CHECK_THAT(failureOf(session, SetPromptCommand{{.text = std::string(100, 'a')}}),
                   CONTAINS("open a smaller model")); // needs another plan
    }
    CHECK(text(session) == "abcabc");
    succeed(session, GenerateCommand{.maxTokens = 3});
    CHECK(text(session) == "abcabcabc");
    CHECK(succeed(session, SetPromptCommand{{.text = std::string(100, 'a')}})->sequence->tokens.size() == 100);
}

TEST_CASE("faults: a lost device ends the model, not the session; opening it again continues with the text",
          "[session][gpu]") {
    OpenSession session("abcabc", kShaderDevice);
    succeed(session, GenerateCommand{.maxTokens = 2});
    CHECK(text(session) == "abcabcab");
    const std::string lost = "VK_ERROR_DEVICE_LOST (-4); reopen the model; if it happens again, update the graphics "
                             "driver or choose another device";
    for (const Command& command :
         std::vector<Command>{GenerateCommand{.maxTokens = 5}, SetPromptCommand{{.text = "xyz"}},
                              PatternRequest{.site = 1}, gateOf(0, 0, 0.5f), TakeTokenCommand{.token = 3}}) {
        INFO("command " << command.index());
        {
            const FailWith gone(failingVulkan().submit, VK_ERROR_DEVICE_LOST);
            CHECK_THAT(failureOf(session, command), CONTAINS(lost));
            CHECK_FALSE(session.latest()->model);
            CHECK(session.latest()->status.deviceBytes == 0);
            CHECK(text(session) == "abcabcab"); // still shown
            CHECK_THAT(failureOf(session, GenerateCommand{}), CONTAINS("no model is open"));
            CHECK_THAT(failureOf(session, OpenModelCommand{.path = kInduction}), CONTAINS(lost)); // not back yet
        }
        succeed(session, OpenModelCommand{.path = kInduction});
        CHECK(text(session) == "abcabcab");
        CHECK(session.latest()->sequence->given.text == "abcabc");
        CHECK(session.latest()->branches->nodes.size() == 9);
    }
    succeed(session, GenerateCommand{.maxTokens = 1});
    CHECK(text(session) == "abcabcabc");
    {
        const FailWith gone(failingVulkan().submit, VK_ERROR_DEVICE_LOST);
        CHECK_THAT(failureOf(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "xyz"}}}),
                   CONTAINS(lost));
    }
    succeed(session, OpenModelCommand{.path = kInduction,
                                      .given = {.text = {.text = "xyz"}}}); // another prompt is what was asked for
    CHECK(text(session) == "xyz");
}

TEST_CASE("faults: characters that a model does not know are named, and refused where nothing else is left",
          "[session][gpu]") {
    Session session;
    succeed(session, OpenModelCommand{.path = "builtin:sort"});
    CHECK_THAT(succeed(session, SetPromptCommand{{.text = "3 1 x 2 y ="}})->sequence->notice,
               CONTAINS("This model has no token for \"x\", \"y\" and leaves them out; use only its 11 characters."));
    CHECK_THAT(failureOf(session, SetPromptCommand{{.text = "xyz"}}), CONTAINS("this model has no token for \"xyz\""));
    succeed(session, OpenModelCommand{.path = "builtin:stories"});
    CHECK_THAT(succeed(session, SetPromptCommand{{.text = "Zo\u00eb ate"}})->sequence->notice,
               CONTAINS("This model has no token for \"\u00eb\" and reads <unk> there."));
    CHECK(succeed(session, SetPromptCommand{{.text = "Tom ate"}})->sequence->notice.empty());
}

TEST_CASE("faults: a text that was typed stays with models that can spell it", "[session][gpu]") {
    Session session;
    succeed(session, OpenModelCommand{.path = "builtin:sort"});
    succeed(session, SetPromptCommand{{.text = "5 2 9 2 7 4 ="}});
    const std::string own = succeed(session, OpenModelCommand{.path = kInduction, .keepsPrompt = true})->sequence->text;
    CHECK(own == "playground playground playg"); // its example
}

TEST_CASE("faults: a saved prompt that is not the text of its tokens gives way, and says so", "[session][gpu]") {
    OpenSession session("abcabc");
    const std::vector<SavedToken> nodes{{-1, 0}, {0, 1}, {1, 2}};
    for (const char* other : {"xyz", "abcabc", "ab", "UPPER"}) {
        const auto restored = succeed(
            session, RestoreBranchesCommand{.nodes = nodes, .current = 2, .promptLength = 3, .given = {.text = other}});
        CHECK(restored->sequence->given.text == "abc");
        CHECK_THAT(restored->sequence->notice, CONTAINS("was not the text of its tokens"));
    }
    for (const int current : {0, 2}) { // the branch may end within the prompt
        const auto whole = succeed(
            session,
            RestoreBranchesCommand{.nodes = nodes, .current = current, .promptLength = 3, .given = {.text = "abc"}});
        CHECK(whole->sequence->given.text == "abc");
        CHECK(whole->sequence->notice.empty());
    }
}
