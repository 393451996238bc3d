#include "engine/inference/language_model.h"
#include "tests/models/model_folder.h"
#include "tests/session/session_test.h"

#include <algorithm>
#include <set>

// How a model's folder says that it writes, in the session that the window uses.

using namespace attn;
using namespace attn::test;
using Ids = std::vector<int>;

namespace {

Ids written(const Snapshot& snapshot) {
    Ids tokens;
    for (const TokenInfo& token : snapshot.sequence->tokens)
        if (!token.isPrompt) tokens.push_back(token.id);
    return tokens;
}

/// A session that holds a small GPT-2 with rules and the tokens 1, 5, 9.
class RuledSession : public Session {
public:
    explicit RuledSession(const std::string& rules) : Session({.validation = true}) {
        writeFile(folder_ / "generation_config.json", rules);
        succeed(*this, OpenModelCommand{.path = folder_.path().string()});
        succeed(*this, SetPromptCommand{{.tokens = {1, 5, 9}}});
    }
    Ids run(int tokens) { return written(*succeed(*this, GenerateCommand{.maxTokens = tokens})); }

    /// What plain loops write: the most probable token that a rule allows.
    /// @param allows of a token, after others
    template <class Allows> Ids expected(int count, const Allows& allows) const {
        LanguageModel model(openModelSource(folder_.path().string()), {.device = {.validation = true}});
        Ids all{1, 5, 9};
        model.feed(all);
        for (int i = 0; i < count; ++i) {
            int best = -1;
            for (int token = 0; token < model.info().vocabulary; ++token)
                if (const auto logits = model.logits();
                    allows(token, all) &&
                    (best < 0 || logits[static_cast<size_t>(token)] > logits[static_cast<size_t>(best)]))
                    best = token;
            all.push_back(best);
            model.feed(Ids{best});
        }
        return {all.begin() + 3, all.end()};
    }

private:
    ModelFolder folder_;
};

bool allowsAll(int, const Ids&) { return true; }

} // namespace

TEST_CASE("writing rules: barred and suppressed tokens are not written, and their candidates have no chance",
          "[session][gpu]") {
    const Ids plain = RuledSession("{}").expected(4, allowsAll);
    RuledSession free("{}");
    CHECK(free.run(4) == plain);
    const std::string first = std::to_string(plain[0]), second = std::to_string(plain[1]);
    RuledSession suppressed("{\"suppress_tokens\": [" + first + "]}");
    CHECK(suppressed.latest()->next->limits.barred == Ids{plain[0]}); // which the list of candidates shows
    CHECK(suppressed.run(4) == suppressed.expected(4, [&](int token, const Ids&) { return token != plain[0]; }));
    RuledSession atFirst("{\"begin_suppress_tokens\": [" + first + "]}");
    CHECK(atFirst.run(4) ==
          atFirst.expected(4, [&](int token, const Ids& all) { return all.size() != 3 || token != plain[0]; }));
    RuledSession barred("{\"bad_words_ids\": [[" + first + ", " + second + "]]}");
    CHECK(barred.run(4) ==
          barred.expected(4, [&](int token, const Ids& all) { return all.back() != plain[0] || token != plain[1]; }));
    RuledSession noRepeats("{\"no_repeat_ngram_size\": 1}");
    CHECK(noRepeats.run(4) ==
          noRepeats.expected(4, [](int token, const Ids& all) { return std::ranges::count(all, token) == 0; }));
}

TEST_CASE("writing rules: any of several tokens ends a text, but not before its least length", "[session][gpu]") {
    const Ids plain = RuledSession("{}").expected(6, allowsAll);
    const auto stop = static_cast<size_t>(std::ranges::find(plain, plain[2]) - plain.begin());
    RuledSession ends("{\"eos_token_id\": [47, " + std::to_string(plain[2]) + "]}");
    CHECK(ends.run(6) == Ids(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(stop) + 1));
    CHECK(ends.latest()->hasEnded);
    RuledSession longer("{\"eos_token_id\": " + std::to_string(plain[0]) + ", \"min_new_tokens\": 3}");
    const Ids late = longer.run(6);
    REQUIRE(late.size() >= 3);
    for (size_t i = 0; i < 3; ++i) CHECK(late[i] != plain[0]);
    RuledSession forced(R"({"eos_token_id": 7, "forced_eos_token_id": 7, "max_length": 6})");
    const Ids last = forced.run(6);
    CHECK(last.size() <= 3);
    CHECK(last.back() == 7);
}

TEST_CASE("writing rules: BART and Marian force an end at the greatest length unless their files say otherwise",
          "[session][gpu]") {
    const auto lastOf = [](const std::string& model, const nlohmann::json& fields) {
        ModelFolder folder(model);
        folder.edit("config.json", [&](nlohmann::json& config) {
            config.erase("forced_eos_token_id");
            config.update(fields);
        });
        return openModelSource(folder.path().string())->generation().lastTokens;
    };
    CHECK(lastOf("bart", nlohmann::json::object()) == Ids{2});   // transformers' BartConfig
    CHECK(lastOf("marian", nlohmann::json::object()) == Ids{0}); // MarianConfig
    CHECK(lastOf("bart", {{"forced_eos_token_id", nullptr}}).empty());
    CHECK(lastOf("bart", {{"forced_eos_token_id", 5}}) == Ids{5});
    CHECK(lastOf("t5", nlohmann::json::object()).empty());
    CHECK(lastOf("gpt2", nlohmann::json::object()).empty());
    ModelFolder folder("bart"); // generation_config.json goes before the class
    writeFile(folder / "generation_config.json", "{}");
    CHECK(openModelSource(folder.path().string())->generation().lastTokens.empty());
}

TEST_CASE("writing rules: a beam search obeys them too", "[session][gpu]") {
    const Ids plain = RuledSession("{}").expected(3, allowsAll);
    const std::set<int> barred(plain.begin(), plain.end());
    std::string list;
    for (const int token : barred) list += (list.empty() ? "" : ", ") + std::to_string(token);
    RuledSession session("{\"suppress_tokens\": [" + list + "], \"num_beams\": 3, \"do_sample\": true}");
    CHECK(session.latest()->model->rules.choice->beams == 1); // which is said in a warning
    CHECK(std::ranges::any_of(session.latest()->model->warnings, [](const std::string& warning) {
        return warning.find("does not draw tokens in a beam search") != std::string::npos;
    }));
    const auto shown = succeed(session, BeamSearchCommand{.settings = {.width = 3, .maxTokens = 3}});
    REQUIRE(shown->beams);
    for (const BeamNode& node : shown->beams->nodes) CHECK_FALSE(barred.contains(node.token));
}

TEST_CASE("writing rules: a tokenizer that cannot be read leaves a model of ids, and says why", "[session][gpu]") {
    const ModelFolder folder("gpt2");
    writeFile(folder / "tokenizer.json", R"({"model": {"type": "Chars"}})");
    Session session({.validation = true});
    const auto opened =
        succeed(session, OpenModelCommand{.path = folder.path().string(), .given = {.text = {.text = "1, 5, 9"}}});
    CHECK_FALSE(opened->model->hasTokenizer);
    CHECK_THAT(opened->model->tokenizerProblem, CONTAINS("tokenizer.json"));
    CHECK(std::ranges::any_of(opened->model->warnings, [](const std::string& warning) {
        return warning.starts_with("the tokenizer cannot be read, so the model takes token ids: ");
    }));
    succeed(session, SetPromptCommand{{.text = "1, 5, 9"}});
    CHECK(session.latest()->sequence->tokens.size() == 3);
    CHECK_THAT(session.latest()->sequence->notice, CONTAINS("This model's tokenizer cannot be read: "));
    CHECK(written(*succeed(session, GenerateCommand{.maxTokens = 2})).size() == 2);
}

TEST_CASE("writing rules: a text that begins twice gets a notice", "[session][gpu]") {
    const ModelFolder folder("gpt2");
    nlohmann::json tokenizer = letterTokenizer(20);
    tokenizer["added_tokens"].push_back({{"id", 21}, // behind the letters and "ab"
                                         {"content", "<s>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}});
    const nlohmann::json begin{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
        text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                   {"single", {begin, text}},
                                   {"pair", nlohmann::json::array()},
                                   {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {21}}, {"tokens", {"<s>"}}}}}}};
    writeFile(folder / "tokenizer.json", tokenizer.dump());
    Session session({.validation = true});
    CHECK(succeed(session, OpenModelCommand{.path = folder.path().string(), .given = {.text = {.text = "abc"}}})
              ->sequence->notice.empty());
    const auto twice = succeed(session, SetPromptCommand{{.text = "<s>abc"}});
    CHECK(twice->sequence->tokens.size() == 4); // ab is one token
    CHECK_THAT(twice->sequence->notice, CONTAINS("the tokenizer puts <s> before every text"));
}

TEST_CASE("writing rules: a sentence says why the text ended, until it continues", "[session][gpu]") {
    const ModelFolder folder("gpt2");
    const auto open = [&](Session& session, const std::string& rules) {
        writeFile(folder / "generation_config.json", rules);
        succeed(session, OpenModelCommand{.path = folder.path().string()});
        return succeed(session, SetPromptCommand{{.tokens = {1, 5, 9}}})->ended;
    };
    Session session({.validation = true});
    CHECK(open(session, "{}").empty());
    const auto endOf = [&](int tokens) { return succeed(session, GenerateCommand{.maxTokens = tokens})->ended; };
    CHECK(endOf(3) == "The model wrote 3 tokens, as many as it was asked for.");
    CHECK(endOf(1).empty()); // one step is no end
    CHECK(endOf(2) == "The model wrote 2 tokens, as many as it was asked for.");
    CHECK(succeed(session, SetSamplingCommand{{.greedy = true}})->ended.starts_with("The model wrote 2"));
    CHECK(succeed(session, ResetCommand{})->ended.empty());
    open(session, R"({"max_new_tokens": 2})");
    CHECK(endOf(2) == "generation_config.json lets the model write no more than 2 tokens (max_new_tokens).");
    open(session, R"({"max_length": 5})");
    CHECK(endOf(2) == "generation_config.json ends a text at 5 tokens (max_length), and this one has 5.");
    const int stop = session.latest()->sequence->tokens[3].id;
    open(session, "{\"eos_token_id\": " + std::to_string(stop) + "}");
    CHECK(endOf(4).starts_with("The model ended the text with its token "));
    CHECK(session.latest()->hasEnded);
    open(session, "{}");
    session.post(GenerateCommand{.maxTokens = 1'000'000, .tokensPerSecond = 20});
    REQUIRE(waitFor(session, [](const Snapshot& now) { return now.sequence->tokens.size() > 4; }));
    CHECK(session.latest()->ended.empty());
    CHECK(after(session, StopCommand{})->ended == "The model was stopped.");
    CHECK(succeed(session, BeamSearchCommand{.settings = {.width = 2, .maxTokens = 3}})->ended ==
          "The model wrote 3 tokens, as many as it was asked for.");
}
