#include "engine/models/generation_rules.h"

#include "engine/core/error.h"
#include "engine/core/globs.h"
#include "engine/core/quoting.h"
#include "engine/io/is_in_folder.h"
#include "engine/io/json_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <set>
#include <utility>

namespace attn {
namespace {

using nlohmann::json;

/// Reads fields. A value of another kind is named and counts as missing: the model can be used without it.
class Fields {
public:
    Fields(const json& object, std::string file, GenerationRules& rules, int64_t vocabulary)
        : object_(object), file_(std::move(file)), rules_(rules), vocabulary_(vocabulary) {}

    const json* find(const char* field) {
        assert(isGenerationField(field));
        read_.insert(field);
        const auto found = object_.find(field);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }
    void complain(const char* field, const json& value, const std::string& wanted) {
        rules_.warnings.push_back(fmt::format("{}: \"{}\" is {}, not {}; it does not count", file_, field,
                                              printable(shownJson(value)), wanted));
    }
    std::optional<double> number(const char* field, double least, double most) {
        const json* value = find(field);
        if (value == nullptr) return std::nullopt;
        if (value->is_number())
            if (const auto number = value->get<double>(); number >= least && number <= most) return number;
        complain(field, *value, fmt::format("a number from {} to {}", least, most));
        return std::nullopt;
    }
    int wholeNumber(const char* field, int fallback) {
        const json* value = find(field);
        if (value == nullptr) return fallback;
        if (value->is_number_unsigned() && value->get<uint64_t>() <= kMost) return value->get<int>();
        complain(field, *value, "a whole number from 0");
        return fallback;
    }
    std::optional<bool> flag(const char* field) {
        const json* value = find(field);
        if (value == nullptr) return std::nullopt;
        if (value->is_boolean()) return value->get<bool>();
        complain(field, *value, "true or false");
        return std::nullopt;
    }
    bool isToken(const json& value) const {
        return value.is_number_unsigned() && value.get<uint64_t>() < static_cast<uint64_t>(vocabulary_);
    }
    /// One id or a list of them.
    std::vector<int> tokens(const char* field) {
        const json* value = find(field);
        if (value == nullptr) return {};
        std::vector<int> ids;
        json wrong = json::array();
        for (const json& id : value->is_array() ? *value : json::array({*value}))
            if (isToken(id))
                ids.push_back(id.get<int>());
            else if (id != -1) // some files write it for "none"
                wrong.push_back(id);
        if (!wrong.empty())
            complain(field, wrong.size() == 1 ? wrong.front() : wrong, tokensOfVocabulary(wrong.size()));
        return ids;
    }
    std::optional<int> token(const char* field) {
        const std::vector<int> ids = tokens(field);
        return ids.empty() ? std::nullopt : std::optional(ids.front());
    }
    std::vector<std::vector<int>> sequences(const char* field) {
        const json* value = find(field);
        if (value == nullptr) return {};
        std::vector<std::vector<int>> all;
        json wrong = json::array(); // ids that are no tokens
        bool isRight = value->is_array();
        for (const json& each : isRight ? *value : json::array()) {
            std::vector<int> ids;
            const size_t wrongBefore = wrong.size();
            for (const json& id : each.is_array() ? each : json::array())
                if (isToken(id))
                    ids.push_back(id.get<int>());
                else if (id.is_number_integer())
                    wrong.push_back(id);
            if (each.is_array() && !ids.empty() && ids.size() == each.size())
                all.push_back(std::move(ids));
            else
                isRight = isRight && wrong.size() > wrongBefore;
        }
        if (!isRight) complain(field, *value, "a list of lists of tokens");
        if (!wrong.empty())
            rules_.warnings.push_back(fmt::format("{}: \"{}\" has {}, not {}; sequences with {} do not count", file_,
                                                  field,
                                                  printable(shownJson(wrong.size() == 1 ? wrong.front() : wrong)),
                                                  tokensOfVocabulary(wrong.size()), wrong.size() == 1 ? "it" : "them"));
        return all;
    }
    /// The fields that nobody asked for, with their values.
    json unread() const {
        json found = json::object();
        for (const auto& [field, value] : object_.items())
            if (!read_.contains(field)) found[field] = value;
        return found;
    }

private:
    /// What ids must be, for messages.
    std::string tokensOfVocabulary(size_t count) const {
        return fmt::format("{} of the {} in the vocabulary, whose ids end at {}", count == 1 ? "a token" : "tokens",
                           vocabulary_, vocabulary_ - 1);
    }

    static constexpr uint64_t kMost = 1 << 30;
    std::set<std::string> read_;
    const json& object_;
    std::string file_; ///< for messages
    GenerationRules& rules_;
    int64_t vocabulary_;
};

ClassTokens usualTokens(const json& config) {
    const auto type = config.find("model_type");
    return type != config.end() && type->is_string() ? classTokensOf(type->get<std::string>()) : ClassTokens{};
}

/// Fields that change which tokens are written and that this program does not obey.
constexpr std::array<UnreadSettings::Known, 20> kNotObeyed{{{"typical_p", "1"},
                                                            {"epsilon_cutoff", "0"},
                                                            {"eta_cutoff", "0"},
                                                            {"top_h", "null"},
                                                            {"diversity_penalty", "0"},
                                                            {"num_beam_groups", "1"},
                                                            {"encoder_repetition_penalty", "1"},
                                                            {"encoder_no_repeat_ngram_size", "0"},
                                                            {"guidance_scale", "1"},
                                                            {"penalty_alpha", "0"},
                                                            {"cache_implementation", "null"},
                                                            {"sequence_bias", "null"},
                                                            {"constraints", "null"},
                                                            {"force_words_ids", "null"},
                                                            {"forced_decoder_ids", "null"},
                                                            {"exponential_decay_length_penalty", "null"},
                                                            {"watermarking_config", "null"},
                                                            {"stop_strings", "null"},
                                                            {"max_time", "null"},
                                                            {"dola_layers", "null"}}};

/// Fields of generation_config.json that do not change which tokens are written: notes of the program that wrote it,
/// what a run returns, how it saves time or memory, and tokens that this program takes from the tokenizer or has no use
/// for. As globs.
constexpr std::array<std::string_view, 27> kSilent{"_commit_hash",
                                                   "_from_model_config",
                                                   "assistant_*",
                                                   "bos_token_id",
                                                   "compile_config",
                                                   "disable_compile",
                                                   "is_assistant",
                                                   "low_memory",
                                                   "max_matching_ngram_size",
                                                   "num_assistant_tokens",
                                                   "num_assistant_tokens_schedule",
                                                   "num_return_sequences",
                                                   "output_attentions",
                                                   "output_hidden_states",
                                                   "output_logits",
                                                   "output_scores",
                                                   "pad_token_id",
                                                   "prefill_chunk_size",
                                                   "prompt_lookup_num_tokens",
                                                   "remove_invalid_values",
                                                   "return_dict_in_generate",
                                                   "return_legacy_cache",
                                                   "target_lookbehind",
                                                   "torch_dtype",
                                                   "transformers_version",
                                                   "trust_remote_code",
                                                   "use_cache"};

/// Names the fields that this program does not obey, unless their values change nothing. In config.json, the fields
/// that it does not know are no rules of writing.
void nameOthers(const Fields& fields, GenerationRules& rules, bool isOwnFile) {
    json unread = fields.unread();
    // A cache holds the same numbers, wherever it lies, unless it is quantized.
    if (const auto cache = unread.find("cache_implementation"); cache != unread.end() && *cache != "quantized")
        unread.erase(cache);
    const UnreadSettings rule{.file = rules.file, .known = kNotObeyed, .silent = kSilent, .namesUnknown = isOwnFile};
    if (const std::string sentence = rule.sentenceOn(unread); !sentence.empty()) rules.warnings.push_back(sentence);
}

void readChoice(Fields& fields, GenerationRules& rules, bool isOwnFile) {
    constexpr std::array kNames{"do_sample", "temperature",        "top_k",          "top_p",         "min_p",
                                "num_beams", "repetition_penalty", "length_penalty", "early_stopping"};
    const auto isSaid = [&](const char* name) { return fields.find(name) != nullptr; };
    if (!isOwnFile && std::ranges::none_of(kNames, isSaid)) return; // a file of its own is greedy unless it says more
    GenerationRules::Choice choice{.greedy = !fields.flag("do_sample").value_or(false)};
    const auto real = [&](const char* field, float& value, double least, double most) {
        value = static_cast<float>(fields.number(field, least, most).value_or(static_cast<double>(value)));
    };
    // A temperature of 0 stands for the most probable token.
    if (const json* value = fields.find("temperature"); value != nullptr && *value == 0)
        choice.greedy = true;
    else
        real("temperature", choice.temperature, 1e-4, 1e4);
    choice.topK = fields.wholeNumber("top_k", choice.topK);
    real("top_p", choice.topP, 0, 1);
    real("min_p", choice.minP, 0, 1);
    real("repetition_penalty", choice.repetitionPenalty, 1e-3, 1e3);
    choice.beams = std::max(fields.wholeNumber("num_beams", 1), 1);
    choice.lengthPenalty = fields.number("length_penalty", -100, 100).value_or(1);
    choice.stopsEarly = fields.flag("early_stopping").value_or(choice.stopsEarly);
    if (choice.lengthPenalty < 0) {
        fields.complain("length_penalty", *fields.find("length_penalty"), "0 or more, which this program needs");
        choice.lengthPenalty = 1;
    }
    if (!choice.greedy && choice.beams > 1) {
        rules.warnings.push_back(fmt::format(
            "{}: this program does not draw tokens in a beam search; it draws without \"num_beams\"", rules.file));
        choice.beams = 1;
    }
    // Old configs spell out every usual value.
    if (isOwnFile || choice != GenerationRules::Choice{}) rules.choice = choice;
}

} // namespace

bool isGenerationField(std::string_view field) {
    constexpr std::array<std::string_view, 24> kObeyed{"bad_words_ids",
                                                       "begin_suppress_tokens",
                                                       "bos_token_id",
                                                       "decoder_start_token_id",
                                                       "do_sample",
                                                       "early_stopping",
                                                       "eos_token_id",
                                                       "force_bos_token_to_be_generated",
                                                       "forced_bos_token_id",
                                                       "forced_eos_token_id",
                                                       "length_penalty",
                                                       "max_length",
                                                       "max_new_tokens",
                                                       "min_length",
                                                       "min_new_tokens",
                                                       "min_p",
                                                       "no_repeat_ngram_size",
                                                       "num_beams",
                                                       "renormalize_logits",
                                                       "repetition_penalty",
                                                       "suppress_tokens",
                                                       "temperature",
                                                       "top_k",
                                                       "top_p"};
    return std::ranges::find(kObeyed, field) != kObeyed.end() ||
           std::ranges::find(kNotObeyed, field, &UnreadSettings::Known::field) != kNotObeyed.end() ||
           std::ranges::any_of(kSilent, [&](std::string_view glob) { return matchesGlob(glob, field); });
}

ClassTokens classTokensOf(std::string_view modelType) {
    constexpr ClassTokens gpt2{.begin = 50256, .end = 50256}, llama{.begin = 1, .end = 2},
        roberta{.begin = 0, .end = 2, .padding = 1}, bert{.padding = 0};
    static constexpr std::array<std::pair<std::string_view, ClassTokens>, 15> kClasses{
        {{"gpt2", gpt2},
         {"gpt_neo", gpt2},
         {"gpt_neox", {.begin = 0, .end = 2}},
         {"llama", llama},
         {"mistral", llama},
         {"bert", bert},
         {"distilbert", bert},
         {"roberta", roberta},
         {"xlm-roberta", roberta},
         {"camembert", roberta},
         {"xlnet", {.begin = 1, .end = 2, .padding = 5}},
         {"t5", {.end = 1, .padding = 0}},
         {"mt5", {.end = 1, .padding = 0, .start = 0}},
         {"bart", {.begin = 0, .end = 2, .padding = 1, .start = 2, .lastEnd = 2}},
         {"marian", {.end = 0, .padding = 58100, .start = 58100, .lastEnd = 0}}}};
    const auto found = std::ranges::find(kClasses, modelType, [](const auto& entry) { return entry.first; });
    return found == kClasses.end() ? ClassTokens{} : found->second;
}

std::string GenerationRules::Choice::text() const {
    std::vector<std::string> parts;
    if (beams > 1) {
        parts.push_back(fmt::format("{} beams", beams));
        if (lengthPenalty != 1) parts.push_back(fmt::format("length penalty {}", lengthPenalty));
    } else if (greedy) {
        parts.emplace_back("the most probable token");
    } else {
        parts.push_back(fmt::format("temperature {}", temperature));
        if (topK > 0) parts.push_back(fmt::format("top-k {}", topK));
        if (topP < 1) parts.push_back(fmt::format("top-p {}", topP));
        if (minP > 0) parts.push_back(fmt::format("min-p {}", minP));
    }
    if (repetitionPenalty != 1) parts.push_back(fmt::format("repetition penalty {}", repetitionPenalty));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string GenerationRules::text() const {
    std::vector<std::string> parts;
    if (choice) parts.push_back(choice->text());
    if (firstToken) parts.push_back(fmt::format("forced_bos_token_id {}", *firstToken));
    if (!lastTokens.empty()) parts.push_back(fmt::format("forced_eos_token_id {}", fmt::join(lastTokens, ", ")));
    for (const auto& [field, count] : {std::pair{"bad_words_ids", barred.size()},
                                       {"suppress_tokens", suppressed.size()},
                                       {"begin_suppress_tokens", suppressedFirst.size()}})
        if (count > 0) parts.push_back(fmt::format("{} ({})", field, count));
    for (const auto& [field, number] : {std::pair{"no_repeat_ngram_size", repeatFree},
                                        {"min_length", minLength},
                                        {"min_new_tokens", minNewTokens},
                                        {"max_length", maxLength.value_or(0)},
                                        {"max_new_tokens", maxNewTokens.value_or(0)}})
        if (number > 0) parts.push_back(fmt::format("{} {}", field, number));
    if (renormalizes) parts.emplace_back("renormalize_logits");
    return fmt::format("{}", fmt::join(parts, ", "));
}

GenerationRules GenerationRules::read(const std::filesystem::path& folder, const json& config, int64_t vocabulary) {
    GenerationRules rules;
    const std::filesystem::path path = folder / "generation_config.json";
    json own;
    if (isInFolder(path)) {
        try {
            own = readJsonFile(path, rules.warnings);
            if (!own.is_object())
                rules.warnings.emplace_back("generation_config.json is no object; config.json counts in its place");
        } catch (const Error& failure) {
            rules.warnings.push_back(fmt::format(
                "generation_config.json cannot be read: {}; config.json counts in its place", failure.message()));
        }
    }
    const bool isOwnFile = own.is_object();
    rules.file = isOwnFile ? "generation_config.json" : "config.json";
    const json& from = isOwnFile ? own : config;
    if (!from.is_object()) return rules;
    Fields fields(from, rules.file, rules, vocabulary);
    rules.stopTokens = fields.tokens("eos_token_id");
    if (isOwnFile && fields.find("eos_token_id") == nullptr)
        rules.stopTokens = Fields(config, "config.json", rules, vocabulary).tokens("eos_token_id");
    // A class of transformers brings its own where config.json does not have the field, not even as null.
    const ClassTokens usual = isOwnFile ? ClassTokens{} : usualTokens(config);
    const auto isUsual = [&](const char* field, const std::optional<int>& token) {
        return token && *token < vocabulary && !from.contains(field);
    };
    if (isUsual("eos_token_id", usual.end)) rules.stopTokens = {*usual.end};
    if (isOwnFile) rules.startToken = fields.token("decoder_start_token_id");
    rules.firstToken = fields.token("forced_bos_token_id");
    // How older configs of BART say it.
    if (const json* forced = fields.find("force_bos_token_to_be_generated");
        !rules.firstToken && forced != nullptr && *forced == true)
        rules.firstToken = isUsual("bos_token_id", usual.begin) ? usual.begin : fields.token("bos_token_id");
    rules.lastTokens = fields.tokens("forced_eos_token_id");
    if (isUsual("forced_eos_token_id", usual.lastEnd)) rules.lastTokens = {*usual.lastEnd};
    rules.barred = fields.sequences("bad_words_ids");
    const std::set<int> ends(rules.stopTokens.begin(), rules.stopTokens.end());
    std::erase_if(rules.barred, [&](const std::vector<int>& words) { // a text may always end
        return words.size() == 1 && ends.contains(words.front());
    });
    rules.suppressed = fields.tokens("suppress_tokens");
    rules.suppressedFirst = fields.tokens("begin_suppress_tokens");
    rules.minLength = fields.wholeNumber("min_length", 0);
    if (const int least = fields.wholeNumber("min_new_tokens", -1); least >= 0) { // it wins, as in transformers
        rules.minNewTokens = least;
        rules.minLength = 0;
    }
    rules.repeatFree = fields.wholeNumber("no_repeat_ngram_size", 0);
    // Only sums of log p can tell the difference: where one token is drawn, a softmax follows the rules anyway.
    rules.renormalizes = fields.flag("renormalize_logits").value_or(false);
    if (const int most = fields.wholeNumber("max_length", 0); most > 0) rules.maxLength = most;
    if (const int most = fields.wholeNumber("max_new_tokens", 0); most > 0) rules.maxNewTokens = most;
    readChoice(fields, rules, isOwnFile);
    nameOthers(fields, rules, isOwnFile);
    return rules;
}

} // namespace attn
