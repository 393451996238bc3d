#include "engine/text/sentence_piece_file.h"

#include "engine/core/error.h"
#include "engine/text/token_model.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace attn {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& file,
                         const char* hint = "copy the file again, it is damaged") {
    throw Error({.what = what, .where = file, .hint = hint});
}

/// The fields of a protocol buffer's message, one after the other.
/// @source Protocol Buffers, "Encoding"
class Message {
public:
    Message(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

    /// Moves to the next field. @return false at the end
    bool next() {
        if (rest_.empty()) return false;
        const uint64_t tag = varint();
        field_ = tag >> 3;
        type_ = static_cast<int>(tag & 7);
        if (type_ == kVarint)
            value_ = varint();
        else if (type_ == kFixed64 || type_ == kFixed32)
            value_ = fixed(type_ == kFixed64 ? 8 : 4);
        else if (type_ == kBytes)
            bytes_ = take(varint());
        else
            refuse(fmt::format("the file is no SentencePiece model: it has a field of type {}", type_), file_);
        return true;
    }
    uint64_t field() const { return field_; }
    std::string_view bytes() const { return of(kBytes), bytes_; }
    uint64_t number() const { return of(kVarint), value_; }
    bool flag() const { return number() != 0; }
    float real() const { return of(kFixed32), std::bit_cast<float>(static_cast<uint32_t>(value_)); }

private:
    static constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

    void of(int type) const {
        if (type_ != type) refuse(fmt::format("field {} is of type {}, not {}", field_, type_, type), file_);
    }
    std::string_view take(uint64_t count) {
        if (count > rest_.size()) refuse("the file is cut off, or no SentencePiece model", file_);
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    uint64_t fixed(size_t bytes) {
        uint64_t value = 0;
        const std::string_view taken = take(bytes);
        for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
        return value;
    }
    uint64_t varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1)[0]);
            value |= uint64_t{byte & 0x7Fu} << shift;
            if (byte < 0x80) return value;
        }
        refuse("the file is no SentencePiece model: it has a number of more than 10 bytes", file_);
    }

    std::string_view rest_, bytes_{};
    const std::string& file_;
    uint64_t field_ = 0, value_ = 0;
    int type_ = 0;
};

SentencePieceFile::Piece readPiece(std::string_view bytes, size_t index, const std::string& file) {
    SentencePieceFile::Piece piece;
    for (Message message(bytes, file); message.next();) {
        if (message.field() == 1) piece.text = message.bytes();
        if (message.field() == 2) piece.score = message.real();
        if (message.field() != 3) continue;
        if (message.number() < 1 || message.number() > 6)
            refuse(fmt::format("piece {} is of type {}, which is unknown", index, message.number()), file);
        piece.kind = static_cast<SentencePieceFile::Kind>(message.number());
    }
    if (piece.text.empty() || utf8::firstInvalid(piece.text)) refuse(fmt::format("piece {} is not text", index), file);
    if (piece.score != piece.score) refuse(fmt::format("the score of piece {} is not a number", index), file);
    return piece;
}

void readTrainer(Message message, SentencePieceFile& model, const std::string& file) {
    constexpr uint64_t kUnigram = 1, kPairs = 2;
    while (message.next()) {
        if (message.field() == 3 && message.number() != kUnigram && message.number() != kPairs)
            refuse("the SentencePiece model is neither of the kind Unigram nor of the kind BPE", file,
                   "put the model's tokenizer.json into its folder");
        if (message.field() == 3) model.mergesPairs = message.number() == kPairs;
        if (message.field() == 24 && message.flag())
            refuse("the SentencePiece model puts spaces behind words, which is not supported", file,
                   "use a model with spaces before words");
        if (message.field() == 35) model.byteFallback = message.flag();
    }
}

void readNormalizer(Message message, SentencePieceFile& model) {
    while (message.next()) {
        if (message.field() == 2) model.charsmap = message.bytes();
        if (message.field() == 3) model.addsPrefix = message.flag();
        if (message.field() == 4) model.removesSpaces = message.flag();
        if (message.field() == 5) model.marksSpaces = message.flag();
    }
}

} // namespace

SentencePieceFile SentencePieceFile::read(std::string_view bytes, const std::string& file) {
    SentencePieceFile model;
    for (Message message(bytes, file); message.next();) {
        if (message.field() == 1) model.pieces.push_back(readPiece(message.bytes(), model.pieces.size(), file));
        if (model.pieces.size() > TokenModel::kMostTokens)
            refuse(fmt::format("the file has more than {} pieces", TokenModel::kMostTokens), file);
        if (message.field() == 2) readTrainer({message.bytes(), file}, model, file);
        if (message.field() == 3) readNormalizer({message.bytes(), file}, model);
    }
    if (model.pieces.empty()) refuse("the file is empty, or no SentencePiece model", file);
    return model;
}

} // namespace attn
