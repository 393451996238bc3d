#include "engine/text/tokenizer.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/json_file.h"
#include "engine/text/bpe.h"
#include "engine/text/text_budget.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {

struct Tokenizer::Parts : TokenizerParts {
    explicit Parts(TokenizerParts read) : TokenizerParts(std::move(read)) {
        if (kind.empty()) kind = model->kind();
        index();
    }

    struct Entry {
        std::optional<std::string> text;
        bool isSpecial = false;
    };
    std::vector<Entry> entries{}; ///< by id

    void encode(std::string_view text, int which, int type, Encoding& encoding) const;

    /// Notes the parts of a word that none of its tokens covers.
    void noteMissing(std::string_view text, const AlignedText& word, std::span<const TokenModel::Token> tokens,
                     Encoding& encoding) const;

    /// Fills `entries` from the vocabulary and the added tokens.
    void index();
    const Entry* find(int id) const {
        const bool exists =
            id >= 0 && static_cast<size_t>(id) < entries.size() && entries[static_cast<size_t>(id)].text;
        return exists ? &entries[static_cast<size_t>(id)] : nullptr;
    }
    std::optional<int> specialNamed(std::span<const std::string_view> names) const;
    /// The hint for a text with a character that has no token.
    std::string ownCharacters() const;
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

std::string Tokenizer::Parts::ownCharacters() const {
    size_t count = 0;
    for (const Entry& entry : entries) {
        if (!entry.text || entry.isSpecial) continue;
        if (utf8::stepAt(*entry.text, 0).length != entry.text->size()) return "use other characters";
        ++count;
    }
    return fmt::format("use only its {} characters", count);
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

Tokenizer::Tokenizer(TokenizerParts read) : parts_(std::make_unique<Parts>(std::move(read))) {}

Tokenizer Tokenizer::fromJson(std::string_view json, const std::string& name) {
    return Tokenizer(TokenizerParts::parse(parseJson(json, name), name));
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
    return Tokenizer(TokenizerParts{.model = std::make_unique<Bpe>(std::move(vocabulary), options),
                                    .decoder = TokenDecoder(""),
                                    .kind = "single characters"});
}

void Tokenizer::Parts::noteMissing(std::string_view text, const AlignedText& word,
                                   std::span<const TokenModel::Token> tokens, Encoding& encoding) const {
    const auto isInside = [&](size_t at) { // a character
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    const auto note = [&](size_t first, size_t last) {
        ByteRange origin = first < last ? word.origin(first, last) : ByteRange{};
        if (origin.begin == origin.end) return; // a prefix that the tokenizer adds
        while (isInside(origin.begin)) --origin.begin;
        while (isInside(origin.end)) ++origin.end;
        const std::string_view piece = text.substr(origin.begin, origin.end - origin.begin);
        if (encoding.missing.size() < Encoding::kMostMissing && std::ranges::count(encoding.missing, piece) == 0)
            encoding.missing.emplace_back(piece);
    };
    const std::optional<int> unknown = model->unknownId();
    size_t covered = 0;
    for (const TokenModel::Token& token : tokens) {
        if (token.begin > covered) note(covered, token.begin);
        covered = std::max<size_t>(covered, token.end);
        const std::string_view piece = std::string_view(word.text()).substr(token.begin, token.end - token.begin);
        if (token.id == unknown && model->idOf(piece) != unknown) note(token.begin, token.end);
    }
    if (covered < word.text().size()) note(covered, word.text().size());
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
            noteMissing(text, word, tokens, encoding);
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

namespace {

/// Joins texts to "x", "y" and others.
std::string listOf(const std::vector<std::string>& missing) {
    constexpr size_t kMostBytes = 40; // of one
    std::vector<std::string> quoted;
    for (size_t i = 0; i < std::min(missing.size(), Encoding::kMostMissing - 1); ++i)
        quoted.push_back(inQuotes(missing[i], kMostBytes));
    return fmt::format("{}{}", fmt::join(quoted, ", "), missing.size() < Encoding::kMostMissing ? "" : " and others");
}

} // namespace

Encoding Tokenizer::read(std::string_view text, bool addSpecialTokens) const {
    return given(encode(text, addSpecialTokens), false);
}

Encoding Tokenizer::readWhole(std::string_view text) const { return given(encode(text), true); }

Encoding Tokenizer::readPair(std::string_view first, std::string_view second) const {
    return given(encodePair(first, second), false);
}

Encoding Tokenizer::given(Encoding encoding, bool isWhole) const {
    const bool isLost = std::ranges::all_of(encoding.ids, [this](int id) { return isSpecial(id); });
    if (encoding.missing.empty() || unknownId() || !(isWhole || isLost)) return encoding;
    throw Error({.what = fmt::format("this model has no token for {}", listOf(encoding.missing)),
                 .where = "text",
                 .hint = parts_->ownCharacters()});
}

std::string Tokenizer::noteOn(const Encoding& encoding) const {
    if (encoding.missing.empty()) return {};
    const std::string what = fmt::format("this model has no token for {}", listOf(encoding.missing));
    if (!unknownId())
        return fmt::format("{} and leaves {} out; {}", what, encoding.missing.size() == 1 ? "it" : "them",
                           parts_->ownCharacters());
    return fmt::format("{} and reads {} there", what, printable(tokenText(*unknownId())));
}

namespace {

/// A text without kSpareSpaces: "clean_up_tokenization_spaces".
std::string withoutSpareSpaces(std::string text) {
    for (const auto& [from, to] : kSpareSpaces) {
        std::string result;
        size_t done = 0;
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; done = at) {
            result.append(text, done, at - done).append(to);
            at += from.size();
        }
        text = result.append(text, done);
    }
    return text;
}

/// The last place at which a text can be cut so that withoutSpareSpaces() gives the same for both parts as for the
/// whole. Three bytes without a space stand before it, because no change reads more than four bytes from a space on.
size_t placeToCut(std::string_view text) {
    for (size_t place = text.size(); place > 0; --place) {
        const size_t from = place - std::min<size_t>(place, 3);
        const bool isInCharacter = place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80;
        if (!isInCharacter && text.substr(from, place - from).find(' ') == std::string_view::npos) return place;
    }
    return 0;
}

} // namespace

std::string Tokenizer::decode(std::span<const int> ids, bool skipSpecialTokens) const {
    TokenDecoder::Run run(parts_->decoder, TokenDecoder::Mode::Whole);
    for (int id : ids) parts_->push(run, id, skipSpecialTokens);
    run.finish();
    return parts_->cleansUp ? withoutSpareSpaces(run.take()) : run.take();
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

std::optional<int> Tokenizer::idOf(std::string_view token) const { return parts_->idOf(token); }

std::string Tokenizer::titleOf(const Tokenizer* tokenizer, int id) {
    const auto text = tokenizer != nullptr ? tokenizer->token(id) : std::nullopt;
    if (!text) return fmt::format("token {}", id);
    const Parts& parts = *tokenizer->parts_;
    const auto added = parts.filesOfAdded.find(*text);
    const bool isAdded = added != parts.filesOfAdded.end() && !parts.model->idOf(*text);
    const std::string& file = isAdded ? added->second : parts.file;
    return fmt::format("token {} ({}{}{})", id, inQuotes(*text), file.empty() ? "" : " in ", file);
}

std::string Tokenizer::whatExceeds(int64_t rows) const {
    auto id = static_cast<int>(std::min<int64_t>(rows, vocabularySize()));
    while (id < vocabularySize() && !token(id)) ++id;
    if (id == vocabularySize()) return {};
    return fmt::format("the tokenizer has {} tokens but the model only {}, without {}", vocabularySize(), rows,
                       titleOf(this, id));
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
    if (first) return first;
    return parts_->begin ? parts_->begin : parts_->specialNamed(kNames);
}

std::optional<int> Tokenizer::endId() const {
    constexpr std::array<std::string_view, 5> kNames{"</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "<|endoftext|>"};
    const auto& last = parts_->specials.single.back().token;
    if (last) return last;
    return parts_->end ? parts_->end : parts_->specialNamed(kNames);
}

std::optional<int> Tokenizer::maskId() const {
    if (parts_->mask) return parts_->mask;
    return parts_->specialNamed(std::array<std::string_view, 2>{"[MASK]", "<mask>"});
}

std::optional<int> Tokenizer::unknownId() const { return parts_->model->unknownId(); }

bool Tokenizer::beginsTwice(std::span<const int> ids) const {
    const auto& first = parts_->specials.single.front().token;
    return first && ids.size() > 1 && ids[0] == *first && ids[1] == *first;
}

const std::vector<std::string>& Tokenizer::warnings() const { return parts_->warnings; }

std::string Tokenizer::summary() const {
    return fmt::format("{}, {} tokens{}", parts_->kind, vocabularySize(), parts_->model->details());
}

struct StreamDecoder::State {
    const Tokenizer::Parts* parts;
    bool skipsSpecial;
    TokenDecoder::Run run;
    bool cleansUp;
    std::string held{}; ///< text that may still lose spaces
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens, Spaces spaces)
    : state_(std::make_unique<State>(State{tokenizer.parts_.get(), skipSpecialTokens,
                                           TokenDecoder::Run(tokenizer.parts_->decoder, TokenDecoder::Mode::Stream),
                                           spaces == Spaces::AsDecoded && tokenizer.parts_->cleansUp})) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::push(int id) {
    state_->parts->push(state_->run, id, state_->skipsSpecial);
    if (!state_->cleansUp) return state_->run.take();
    state_->held += state_->run.take();
    const size_t place = placeToCut(state_->held);
    std::string ready = withoutSpareSpaces(state_->held.substr(0, place));
    state_->held.erase(0, place);
    return ready;
}

std::string StreamDecoder::rest() const {
    State end = *state_;
    end.run.finish();
    std::string rest = end.run.take();
    return end.cleansUp ? withoutSpareSpaces(end.held + rest) : rest;
}

std::string StreamDecoder::finish() {
    std::string rest = this->rest();
    state_->held.clear();
    state_->run = TokenDecoder::Run(state_->parts->decoder, TokenDecoder::Mode::Stream);
    return rest;
}

} // namespace attn
