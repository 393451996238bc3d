#include "engine/text/tokenizer.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/json_file.h"
#include "engine/text/added_tokens.h"
#include "engine/text/bert_vocabulary.h"
#include "engine/text/bpe.h"
#include "engine/text/json_node.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/sentence_piece_file.h"
#include "engine/text/sentence_piece_parts.h"
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
    std::unique_ptr<const TokenModel> model;
    AddedTokens added;
    SpecialTemplate specials;
    TokenDecoder decoder;
    std::string kind;

    struct Entry {
        std::optional<std::string> text;
        bool isSpecial = false;
    };
    std::vector<Entry> entries{}; ///< by id

    void encode(std::string_view text, int which, int type, Encoding& encoding) const;

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
    for (const auto& [text, id] : model->vocabulary()) place(id).text = text;
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

namespace {

bool isThere(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

SentencePieceFile readPieces(const std::filesystem::path& path) {
    return SentencePieceFile::read(readTextFile(path, kMostJsonBytes), path.string());
}

/// How many sentinels tokenizer_config.json says that T5 has.
std::optional<size_t> sentinelsIn(const std::filesystem::path& config) {
    constexpr size_t kMost = 10'000;
    const nlohmann::json document = readJsonFile(config);
    const std::string name = config.string();
    const auto count = JsonNode(document, name).find("extra_ids");
    if (!count) return std::nullopt;
    const size_t sentinels = JsonNode(document, name).size("extra_ids", 0);
    if (sentinels > kMost) count->fail(fmt::format("is {}; at most {} are supported", sentinels, kMost));
    return sentinels;
}

} // namespace

Tokenizer::Tokenizer(SentencePieceParts read) {
    auto parts = std::make_unique<Parts>(Parts{.normalizer = std::move(read.normalizer),
                                               .preTokenizer = {},
                                               .model = std::move(read.model),
                                               .added = std::move(read.added),
                                               .specials = std::move(read.specials),
                                               .decoder = std::move(read.decoder),
                                               .kind = {}});
    parts->kind = parts->model->kind();
    parts->index();
    parts_ = std::move(parts);
}

std::optional<Tokenizer> Tokenizer::ofFolder(const std::filesystem::path& folder) {
    if (isThere(folder / "tokenizer.json")) return load(folder / "tokenizer.json");
    const std::filesystem::path config = folder / "tokenizer_config.json", vocabulary = folder / "vocab.txt",
                                t5 = folder / "spiece.model", xlmRoberta = folder / "sentencepiece.bpe.model";
    if (isThere(vocabulary))
        return fromJson(bertTokenizerJson(readTextFile(vocabulary, kMostJsonBytes),
                                          isThere(config) ? readTextFile(config, kMostJsonBytes) : "", config.string()),
                        vocabulary.string());
    if (isThere(t5))
        return Tokenizer(t5Parts(readPieces(t5), t5.string(), isThere(config) ? sentinelsIn(config) : std::nullopt));
    if (isThere(xlmRoberta)) return Tokenizer(xlmRobertaParts(readPieces(xlmRoberta), xlmRoberta.string()));
    return std::nullopt;
}

std::optional<TranslationTokenizers> Tokenizer::ofTranslationFolder(const std::filesystem::path& folder) {
    const std::filesystem::path vocabulary = folder / "vocab.json", source = folder / "source.spm",
                                target = folder / "target.spm";
    if (!isThere(vocabulary) || !isThere(source) || !isThere(target)) return std::nullopt;
    const nlohmann::json document = readJsonFile(vocabulary);
    const std::string name = vocabulary.string();
    StringMap<int> ids;
    for (const auto& [token, id] : JsonNode(document, name).vocabulary(TokenModel::kMostTokens)) ids.emplace(token, id);
    const auto read = [&](const std::filesystem::path& pieces) {
        return Tokenizer(marianParts(readPieces(pieces), pieces.string(), ids, name));
    };
    return TranslationTokenizers{read(source), read(target)};
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
              .model = TokenModel::parse(root.at("model")),
              .added = {},
              .specials = specials ? SpecialTemplate::parse(*specials) : SpecialTemplate(),
              .decoder = decoder ? TokenDecoder::parse(*decoder) : TokenDecoder(" "),
              .kind = {}});
    if (added) parts->added = AddedTokens::parse(*added, *parts->model, parts->normalizer);
    parts->kind = parts->model->kind();
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
                                               .model = std::make_unique<Bpe>(std::move(vocabulary), options),
                                               .added = {},
                                               .specials = {},
                                               .decoder = TokenDecoder(""),
                                               .kind = "single characters"});
    parts->index();
    return Tokenizer(std::move(parts));
}

void Tokenizer::Parts::encode(std::string_view text, int which, int type, Encoding& encoding) const {
    if (const auto at = utf8::firstInvalid(text))
        throw Error({.what = fmt::format("byte {} (0x{:02X}) is not UTF-8", *at, static_cast<unsigned char>(text[*at])),
                     .where = "text",
                     .hint = "save the text as UTF-8, or remove the byte"});
    const auto add = [&](int id, ByteRange range) {
        encoding.ids.push_back(id);
        encoding.ranges.push_back(range);
        encoding.types.push_back(type);
        encoding.texts.push_back(which);
    };
    TextBudget budget(text.size());
    std::vector<TokenModel::Token> tokens;
    for (AddedTokens::Part& part : added.split(text, normalizer, budget)) {
        if (part.id) {
            add(*part.id, part.text.origin(0, part.text.text().size()));
            continue;
        }
        for (const AlignedText& word : preTokenizer.apply(std::move(part.text), budget)) {
            tokens.clear();
            model->encode(word.text(), tokens);
            for (const TokenModel::Token& token : tokens) add(token.id, word.origin(token.begin, token.end));
        }
    }
}

Encoding Tokenizer::encode(std::span<const std::string_view> texts, bool addSpecialTokens) const {
    Encoding encoding;
    ByteRange behind{}; // the end of the text before
    int which = 0;
    for (const SpecialTemplate::Piece& piece : texts.size() == 1 ? parts_->specials.single : parts_->specials.pair) {
        if (!piece.token) {
            const std::string_view text = texts[static_cast<size_t>(piece.text)];
            parts_->encode(text, piece.text, piece.type, encoding);
            which = piece.text;
            behind = {text.size(), text.size()};
        } else if (addSpecialTokens) {
            encoding.ids.push_back(*piece.token);
            encoding.ranges.push_back(behind);
            encoding.types.push_back(piece.type);
            encoding.texts.push_back(which);
        }
    }
    return encoding;
}

Encoding Tokenizer::encode(std::string_view text, bool addSpecialTokens) const {
    return encode(std::array{text}, addSpecialTokens);
}

Encoding Tokenizer::encodePair(std::string_view first, std::string_view second, bool addSpecialTokens) const {
    return encode(std::array{first, second}, addSpecialTokens);
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
    if (entry->isSpecial) return *entry->text;
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
    return parts_->model->idOf(token);
}

int Tokenizer::vocabularySize() const { return static_cast<int>(parts_->entries.size()); }

bool Tokenizer::isSpecial(int id) const {
    const Parts::Entry* entry = parts_->find(id);
    return entry != nullptr && entry->isSpecial;
}

bool Tokenizer::continuesWord(int id) const {
    const std::optional<std::string> text = token(id);
    const std::string prefix = parts_->model->continuingPrefix();
    return !prefix.empty() && text && text->starts_with(prefix);
}

std::optional<int> Tokenizer::beginId() const {
    constexpr std::array<std::string_view, 4> kNames{"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"};
    const auto& first = parts_->specials.single.front().token;
    return first ? first : parts_->specialNamed(kNames);
}

std::optional<int> Tokenizer::endId() const {
    constexpr std::array<std::string_view, 5> kNames{"</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "<|endoftext|>"};
    const auto& last = parts_->specials.single.back().token;
    return last ? last : parts_->specialNamed(kNames);
}

std::optional<int> Tokenizer::maskId() const {
    return parts_->specialNamed(std::array<std::string_view, 2>{"[MASK]", "<mask>"});
}

std::optional<int> Tokenizer::unknownId() const { return parts_->model->unknownId(); }

std::string Tokenizer::summary() const {
    return fmt::format("{}, {} tokens{}", parts_->kind, vocabularySize(), parts_->model->details());
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
