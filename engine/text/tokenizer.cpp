#include "engine/text/tokenizer.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/json_file.h"
#include "engine/text/added_tokens.h"
#include "engine/text/bpe.h"
#include "engine/text/json_node.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/special_template.h"
#include "engine/text/text_budget.h"
#include "engine/text/token_decoder.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace attn {

struct Tokenizer::Parts {
    Normalizer normalizer;
    PreTokenizer preTokenizer;
    Bpe bpe;
    AddedTokens added;
    SpecialTemplate specials;
    TokenDecoder decoder;
    std::string kind;

    struct Entry {
        std::optional<std::string> text;
        bool isSpecial = false;
    };
    std::vector<Entry> entries{}; ///< by id

    /// Fills `entries` from the vocabulary and the added tokens.
    void index();
    const Entry* find(int id) const {
        const bool exists =
            id >= 0 && static_cast<size_t>(id) < entries.size() && entries[static_cast<size_t>(id)].text;
        return exists ? &entries[static_cast<size_t>(id)] : nullptr;
    }
    std::optional<int> specialNamed(std::span<const std::string_view> names) const;
    void push(TokenDecoder::Run& run, int id, bool skipSpecialTokens) const {
        const Entry* entry = find(id);
        if (entry != nullptr && !(skipSpecialTokens && entry->isSpecial)) run.push(*entry->text);
    }
};

void Tokenizer::Parts::index() {
    const auto place = [&](int id) -> Entry& {
        if (static_cast<size_t>(id) >= entries.size()) entries.resize(static_cast<size_t>(id) + 1);
        return entries[static_cast<size_t>(id)];
    };
    for (const auto& [text, id] : bpe.vocabulary()) place(id).text = text;
    for (const AddedTokens::Token& token : added.tokens()) {
        Entry& entry = place(token.id);
        entry.text = token.decoded;
        entry.isSpecial = entry.isSpecial || token.isSpecial;
    }
}

std::optional<int> Tokenizer::Parts::specialNamed(std::span<const std::string_view> names) const {
    for (const std::string_view name : names)
        for (const AddedTokens::Token& token : added.tokens())
            if (token.isSpecial && token.content == name) return token.id;
    return std::nullopt;
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
    return fromJson(readTextFile(path, kMostJsonBytes), path.string());
}

Tokenizer Tokenizer::fromJson(std::string_view json, const std::string& name) {
    const nlohmann::json document = parseJson(json, name);
    const JsonNode root(document, name);
    const auto normalizer = root.find("normalizer"), preTokenizer = root.find("pre_tokenizer"),
               decoder = root.find("decoder"), added = root.find("added_tokens"),
               specials = root.find("post_processor");
    auto parts = std::make_unique<Parts>(
        Parts{.normalizer = normalizer ? Normalizer::parse(*normalizer) : Normalizer(),
              .preTokenizer = preTokenizer ? PreTokenizer::parse(*preTokenizer) : PreTokenizer(),
              .bpe = Bpe::parse(root.at("model")),
              .added = {},
              .specials = specials ? SpecialTemplate::parse(*specials) : SpecialTemplate(),
              .decoder = decoder ? TokenDecoder::parse(*decoder) : TokenDecoder(" "),
              .kind = {}});
    if (added) parts->added = AddedTokens::parse(*added, parts->bpe, parts->normalizer);
    parts->kind = parts->bpe.idOf("\u0120")           ? "byte-level BPE"
                  : parts->bpe.options().byteFallback ? "SentencePiece-style BPE with byte fallback"
                                                      : "BPE";
    parts->index();
    return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::characters(const std::vector<std::string>& alphabet, const std::optional<std::string>& unknown) {
    StringMap<int> vocabulary;
    for (const std::string& entry : alphabet) {
        const bool isCharacter =
            !entry.empty() && !utf8::firstInvalid(entry) && utf8::stepAt(entry, 0).length == entry.size();
        if (!isCharacter && entry != unknown)
            throw Error({.what = fmt::format("entry {} is not one character", vocabulary.size()),
                         .where = "alphabet",
                         .hint = "list single characters"});
        if (!vocabulary.emplace(entry, static_cast<int>(vocabulary.size())).second)
            throw Error({.what = fmt::format("{} is listed twice", inQuotes(entry)),
                         .where = "alphabet",
                         .hint = "list each character once"});
    }
    if (unknown && !vocabulary.contains(*unknown))
        throw Error({.what = fmt::format("the unknown entry {} is missing", inQuotes(*unknown)),
                     .where = "alphabet",
                     .hint = "add it to the list"});
    const Bpe::Options options{.unknownToken = unknown,
                               .unknown = unknown ? Bpe::Unknown::Token : Bpe::Unknown::Refused};
    auto parts = std::make_unique<Parts>(Parts{.normalizer = {},
                                               .preTokenizer = {},
                                               .bpe = Bpe(std::move(vocabulary), options),
                                               .added = {},
                                               .specials = {},
                                               .decoder = TokenDecoder(""),
                                               .kind = "single characters"});
    parts->index();
    return Tokenizer(std::move(parts));
}

Encoding Tokenizer::encode(std::string_view text, bool addSpecialTokens) const {
    if (const auto at = utf8::firstInvalid(text))
        throw Error({.what = fmt::format("byte {} (0x{:02X}) is not UTF-8", *at, static_cast<unsigned char>(text[*at])),
                     .where = "text",
                     .hint = "save the text as UTF-8, or remove the byte"});
    Encoding encoding;
    const auto add = [&](int id, ByteRange range) {
        encoding.ids.push_back(id);
        encoding.ranges.push_back(range);
    };
    if (addSpecialTokens)
        for (int id : parts_->specials.before) add(id, {});
    TextBudget budget(text.size());
    std::vector<Bpe::Token> tokens;
    for (AddedTokens::Part& part : parts_->added.split(text, parts_->normalizer, budget)) {
        if (part.id) {
            add(*part.id, part.text.origin(0, part.text.text().size()));
            continue;
        }
        for (const AlignedText& word : parts_->preTokenizer.apply(std::move(part.text), budget)) {
            tokens.clear();
            parts_->bpe.encode(word.text(), tokens);
            for (const Bpe::Token& token : tokens) add(token.id, word.origin(token.begin, token.end));
        }
    }
    if (addSpecialTokens)
        for (int id : parts_->specials.after) add(id, {text.size(), text.size()});
    return encoding;
}

std::string Tokenizer::decode(std::span<const int> ids, bool skipSpecialTokens) const {
    TokenDecoder::Run run(parts_->decoder, TokenDecoder::Mode::Whole);
    for (int id : ids) parts_->push(run, id, skipSpecialTokens);
    run.finish();
    return run.take();
}

std::string Tokenizer::tokenText(int id) const {
    const Parts::Entry* entry = parts_->find(id);
    if (entry == nullptr) return fmt::format("#{}", id);
    TokenDecoder::Run run(parts_->decoder, TokenDecoder::Mode::OnePiece);
    run.push(*entry->text);
    run.finish();
    const std::string bytes = run.take();
    std::string shown;
    for (size_t at = 0; at < bytes.size();) {
        const utf8::Step step = utf8::stepAt(bytes, at);
        if (step.kind == utf8::Step::Kind::Character) {
            shown.append(bytes, at, step.length);
            at += step.length;
        } else {
            shown += fmt::format("<0x{:02X}>", static_cast<unsigned char>(bytes[at++]));
        }
    }
    return shown;
}

std::optional<std::string> Tokenizer::token(int id) const {
    const Parts::Entry* entry = parts_->find(id);
    return entry != nullptr ? entry->text : std::nullopt;
}

std::optional<int> Tokenizer::idOf(std::string_view token) const {
    for (const AddedTokens::Token& added : parts_->added.tokens())
        if (added.content == token) return added.id;
    return parts_->bpe.idOf(token);
}

int Tokenizer::vocabularySize() const { return static_cast<int>(parts_->entries.size()); }

bool Tokenizer::isSpecial(int id) const {
    const Parts::Entry* entry = parts_->find(id);
    return entry != nullptr && entry->isSpecial;
}

std::optional<int> Tokenizer::beginId() const {
    constexpr std::array<std::string_view, 4> kNames{"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"};
    const std::vector<int>& before = parts_->specials.before;
    return before.empty() ? parts_->specialNamed(kNames) : std::optional(before.front());
}

std::optional<int> Tokenizer::endId() const {
    constexpr std::array<std::string_view, 5> kNames{"</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "<|endoftext|>"};
    const std::vector<int>& after = parts_->specials.after;
    return after.empty() ? parts_->specialNamed(kNames) : std::optional(after.back());
}

std::string Tokenizer::summary() const {
    const size_t merges = parts_->bpe.mergeCount();
    std::string text = fmt::format("{}, {} tokens", parts_->kind, vocabularySize());
    if (merges > 0) text += fmt::format(", {} merges", merges);
    return text;
}

struct StreamDecoder::State {
    const Tokenizer::Parts* parts;
    bool skipsSpecial;
    TokenDecoder::Run run;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens)
    : state_(std::make_unique<State>(State{tokenizer.parts_.get(), skipSpecialTokens,
                                           TokenDecoder::Run(tokenizer.parts_->decoder, TokenDecoder::Mode::Stream)})) {
}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::push(int id) {
    state_->parts->push(state_->run, id, state_->skipsSpecial);
    return state_->run.take();
}

std::string StreamDecoder::finish() {
    state_->run.finish();
    std::string rest = state_->run.take();
    state_->run = TokenDecoder::Run(state_->parts->decoder, TokenDecoder::Mode::Stream);
    return rest;
}

} // namespace attn
