#include "engine/text/token_decoder.h"

#include "engine/core/quoting.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/json_node.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace attn {
namespace {

/// How many times `content` is repeated at the beginning, at most `most`.
size_t countAtStart(std::string_view text, std::string_view content, size_t most) {
    size_t count = 0;
    while (count < most && text.substr(count * content.size()).starts_with(content)) ++count;
    return count;
}

size_t countAtEnd(std::string_view text, std::string_view content, size_t most) {
    size_t count = 0;
    while (count < most && text.ends_with(content)) {
        text.remove_suffix(content.size());
        ++count;
    }
    return count;
}

/// The byte of a fallback token such as "<0xE4>".
std::optional<char> byteOfToken(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
    if (error != std::errc() || end != token.data() + 5) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(value));
}

} // namespace

TokenDecoder TokenDecoder::parse(const JsonNode& node) {
    TokenDecoder decoder{std::string()};
    decoder.add(node, 0);
    return decoder;
}

TokenDecoder TokenDecoder::sentencePiece(bool dropsFirst, bool hasBytes) {
    TokenDecoder decoder{std::string()};
    decoder.steps_.emplace_back(Metaspace{"\u2581", dropsFirst, false});
    if (hasBytes) decoder.steps_.emplace_back(ByteFallback{});
    return decoder;
}

TokenDecoder TokenDecoder::sentencePieceExact(bool dropsFirst, bool hasBytes) {
    TokenDecoder decoder{std::string()};
    decoder.steps_.emplace_back(Replace{Pattern::literal("\u2581"), " "});
    if (hasBytes) decoder.steps_.emplace_back(ByteFallback{});
    decoder.steps_.emplace_back(Fuse{});
    decoder.isFused_ = true;
    if (dropsFirst) decoder.steps_.emplace_back(Strip{" ", 1, 0, true});
    return decoder;
}

void TokenDecoder::add(const JsonNode& node, int depth) {
    const std::string type = node.type();
    if (steps_.size() >= kMostTextSteps) node.fail(fmt::format("is one of more than {} steps", kMostTextSteps));
    if (type == "Sequence") {
        if (depth == 8) node.fail("is nested more than 8 deep");
        for (const JsonNode& item : node.at("decoders").items()) add(item, depth + 1);
    } else if (type == "Replace") {
        steps_.emplace_back(Replace{Pattern::parse(node.at("pattern")), node.at("content").text()});
    } else if (type == "ByteFallback") {
        steps_.emplace_back(ByteFallback{});
    } else if (type == "Fuse") {
        steps_.emplace_back(Fuse{});
        isFused_ = true;
    } else if (type == "ByteLevel") {
        steps_.emplace_back(ByteLevel{});
        isFused_ = true;
    } else if (type == "Strip") {
        Strip strip{node.at("content").text(), node.size("start", 0), node.size("stop", 0), isFused_};
        if (strip.content.empty()) node.fail("has nothing to strip");
        steps_.emplace_back(std::move(strip));
    } else if (type == "Metaspace") {
        const bool prepends = node.flag("add_prefix_space", true) && node.text("prepend_scheme", "always") != "never";
        Metaspace metaspace{node.text("replacement", "\u2581"), prepends, isFused_};
        if (metaspace.replacement.empty()) node.fail("has an empty replacement");
        steps_.emplace_back(std::move(metaspace));
    } else if (type == "WordPiece") {
        steps_.emplace_back(WordPiece{node.text("prefix", "##"), node.flag("cleanup", true)});
    } else if (type == "BPEDecoder") {
        WordEnds ends{node.text("suffix", "</w>")};
        if (ends.suffix.empty()) node.fail("has an empty suffix");
        steps_.emplace_back(std::move(ends));
    } else if (type == "CTC") {
        steps_.emplace_back(
            Ctc{node.text("pad_token", "<pad>"), node.text("word_delimiter_token", "|"), node.flag("cleanup", true)});
    } else {
        node.fail(fmt::format("is a decoder of type {}, which is not supported", printable(type)),
                  "use a tokenizer with Sequence, Replace, ByteFallback, Fuse, ByteLevel, Strip, Metaspace, WordPiece, "
                  "BPEDecoder or CTC");
    }
}

std::string TokenDecoder::Run::replaceAll(const std::string& text, const Pattern& pattern, std::string_view content) {
    std::string result;
    size_t done = 0;
    for (const ByteRange& match : pattern.find(text, budget_)) {
        budget_.grow(content.size() - std::min(content.size(), match.end - match.begin));
        result.append(text, done, match.begin - done).append(content);
        done = match.end;
    }
    return result.append(text, done);
}

void TokenDecoder::Run::feed(size_t step, std::string piece) {
    if (step == decoder_->steps_.size()) {
        if (pieces_++ > 0) out_ += decoder_->separator_;
        out_ += piece;
        return;
    }
    State& state = states_[step];
    const Step& kind = decoder_->steps_[step];
    if (const auto* replace = std::get_if<Replace>(&kind)) {
        feed(step + 1, replaceAll(piece, replace->pattern, replace->content));
    } else if (std::holds_alternative<ByteFallback>(kind)) {
        if (const auto byte = byteOfToken(piece)) return feedBytes(step, {&*byte, 1});
        endBytes(step);
        feed(step + 1, std::move(piece));
    } else if (std::holds_alternative<ByteLevel>(kind)) {
        feedBytes(step, fromByteAlphabet(piece).value_or(piece));
    } else if (std::holds_alternative<Fuse>(kind)) {
        if (mode_ == Mode::Whole)
            state.held += piece;
        else
            feed(step + 1, std::move(piece));
    } else if (std::holds_alternative<Strip>(kind)) {
        feedStrip(step, std::move(piece));
    } else if (std::holds_alternative<WordPiece>(kind)) {
        feedWordPiece(step, std::move(piece));
    } else if (const auto* ends = std::get_if<WordEnds>(&kind)) {
        // Only the end of the text tells which token is the last, so each token waits for the next one.
        const auto spaced = [&](const std::string& text) {
            return replaceAll(text, Pattern::literal(ends->suffix), " ");
        };
        if (mode_ == Mode::OnePiece) return feed(step + 1, spaced(piece));
        const std::string before = std::exchange(state.held, std::move(piece));
        if (state.pieces++ > 0) feed(step + 1, spaced(before));
    } else if (std::holds_alternative<Ctc>(kind)) {
        feedCtc(step, std::move(piece));
    } else {
        const auto& metaspace = std::get<Metaspace>(kind);
        const bool isFirst = state.pieces++ == 0 || (metaspace.isFused && mode_ == Mode::Stream);
        const bool drops = isFirst && metaspace.dropsFirst && mode_ != Mode::OnePiece;
        feed(step + 1, replaceAll(piece, Pattern::literal(metaspace.replacement), drops ? "" : " "));
    }
}

void TokenDecoder::Run::feedBytes(size_t step, std::string_view bytes) {
    std::string& held = states_[step].held;
    held += bytes;
    if (mode_ == Mode::OnePiece) return feed(step + 1, std::exchange(held, {}));
    if (mode_ == Mode::Whole) return;
    std::string ready;
    size_t at = 0;
    while (at < held.size()) {
        const utf8::Step character = utf8::stepAt(held, at);
        if (character.kind == utf8::Step::Kind::CutOff) break;
        const bool isValid = character.kind == utf8::Step::Kind::Character;
        ready += isValid ? std::string_view(held).substr(at, character.length) : utf8::kReplacement;
        at += character.length;
    }
    held.erase(0, at);
    if (!ready.empty()) feed(step + 1, std::move(ready));
}

/// Decodes the held bytes when no more of them follow.
void TokenDecoder::Run::endBytes(size_t step) {
    const std::string held = std::exchange(states_[step].held, {});
    if (held.empty()) return;
    const bool replacesEach = std::holds_alternative<ByteFallback>(decoder_->steps_[step]);
    if (replacesEach && utf8::firstInvalid(held)) {
        for (size_t i = 0; i < held.size(); ++i) feed(step + 1, std::string(utf8::kReplacement));
        return;
    }
    std::string text;
    for (size_t at = 0; at < held.size();) {
        const utf8::Step character = utf8::stepAt(held, at);
        const bool isValid = character.kind == utf8::Step::Kind::Character;
        text += isValid ? std::string_view(held).substr(at, character.length) : utf8::kReplacement;
        at += character.length;
    }
    feed(step + 1, std::move(text));
}

void TokenDecoder::Run::feedStrip(size_t step, std::string piece) {
    if (mode_ == Mode::OnePiece) return feed(step + 1, std::move(piece));
    const auto& strip = std::get<Strip>(decoder_->steps_[step]);
    const size_t length = strip.content.size();
    State& state = states_[step];
    if (mode_ == Mode::Stream && strip.isFused) {
        // The pieces form one text: strip its start at once, and hold back text that may be its end.
        const size_t atStart = countAtStart(piece, strip.content, strip.start - state.stripped);
        state.stripped = atStart * length < piece.size() ? strip.start : state.stripped + atStart;
        state.held += piece.substr(atStart * length);
        const size_t kept = state.held.size() - countAtEnd(state.held, strip.content, strip.stop) * length;
        if (kept > 0) feed(step + 1, state.held.substr(0, kept));
        state.held.erase(0, kept);
        return;
    }
    piece.erase(0, countAtStart(piece, strip.content, strip.start) * length);
    piece.resize(piece.size() - countAtEnd(piece, strip.content, strip.stop) * length);
    feed(step + 1, std::move(piece));
}

void TokenDecoder::Run::feedWordPiece(size_t step, std::string piece) {
    const auto& words = std::get<WordPiece>(decoder_->steps_[step]);
    const bool isFirst = states_[step].pieces++ == 0 && mode_ != Mode::OnePiece;
    if (!isFirst && piece.starts_with(words.prefix) && !words.prefix.empty())
        piece.erase(0, words.prefix.size());
    else if (!isFirst)
        piece = " " + piece;
    feed(step + 1, words.cleansUp ? cleanedUp(std::move(piece)) : std::move(piece));
}

std::string TokenDecoder::Run::cleanedUp(std::string piece) {
    for (const auto& [from, to] : kSpareSpaces) piece = replaceAll(piece, Pattern::literal(std::string(from)), to);
    return replaceAll(piece, Pattern::literal(" do not"), " don't"); // not in Python's list
}

void TokenDecoder::Run::feedCtc(size_t step, std::string piece) {
    const auto& ctc = std::get<Ctc>(decoder_->steps_[step]);
    State& state = states_[step];
    if (mode_ != Mode::OnePiece && state.pieces++ > 0 && state.held == piece) return;
    state.held = piece;
    if (!ctc.padding.empty()) piece = replaceAll(piece, Pattern::literal(ctc.padding), "");
    if (ctc.cleansUp) piece = cleanedUp(std::move(piece));
    if (ctc.cleansUp && !ctc.delimiter.empty()) piece = replaceAll(piece, Pattern::literal(ctc.delimiter), " ");
    if (!piece.empty()) feed(step + 1, std::move(piece));
}

void TokenDecoder::Run::finish() {
    for (size_t step = 0; step < states_.size(); ++step) {
        const Step& kind = decoder_->steps_[step];
        if (std::holds_alternative<ByteFallback>(kind) || std::holds_alternative<ByteLevel>(kind))
            endBytes(step);
        else if (std::holds_alternative<Fuse>(kind) && mode_ == Mode::Whole)
            feed(step + 1, std::exchange(states_[step].held, {}));
        else if (const auto* ends = std::get_if<WordEnds>(&kind); ends && states_[step].pieces > 0)
            feed(step + 1, replaceAll(std::exchange(states_[step].held, {}), Pattern::literal(ends->suffix), ""));
    }
}

std::string TokenDecoder::Run::take() { return std::exchange(out_, {}); }

} // namespace attn
