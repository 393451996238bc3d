#include "engine/data/gettext_catalogue.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/data/text_parts.h"
#include "engine/io/refuse_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace attn {
namespace {

constexpr const char* kFetchAgain = "fetch the file again, or choose another catalogue";

[[noreturn]] void refuse(const std::filesystem::path& path, std::string what, const char* hint = kFetchAgain) {
    refuseFile(path, std::move(what), hint);
}

/// @param header translation of the empty message  @throws Error if its charset is not supported
void requireCharset(std::string_view header, const std::filesystem::path& path) {
    constexpr std::string_view kField = "charset=";
    constexpr std::array<std::string_view, 7> kRead{
        "", "utf-8", "utf8", "ascii", "us-ascii", "ansi_x3.4-1968", "charset"}; // the last: not chosen yet
    const std::string lower = lowerCase(header);
    const size_t at = lower.find(kField);
    if (at == std::string::npos) return;
    const size_t begin = at + kField.size(), end = lower.find_first_of(" \t\r\n;", begin);
    const std::string charset = lower.substr(begin, end == std::string::npos ? end : end - begin);
    if (std::ranges::find(kRead, charset) == kRead.end())
        refuse(path, fmt::format("is written in the charset {}, not in UTF-8", inQuotes(charset)),
               "choose another catalogue, or convert it with gettext's msgconv");
}

// .po -----------------------------------------------------------------------------------------------------------------

/// Reads the lines of a catalogue one after the other.
class PoReader {
public:
    PoReader(std::string_view text, const std::filesystem::path& path) : rest_(text), path_(path) {}

    std::vector<TextPair> read() {
        while (!rest_.empty()) {
            ++line_;
            const size_t end = rest_.find('\n');
            std::string_view line = rest_.substr(0, end);
            rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
            skipSpace(line);
            if (line.starts_with('#'))
                readComment(line);
            else if (!line.empty())
                readStatement(line);
        }
        finish();
        return std::move(pairs_);
    }

private:
    struct Entry {
        bool isFuzzy = false;
        std::optional<std::string> context{}, message{}, translation{};
    };

    [[noreturn]] void refuseLine(const std::string& what) const {
        refuse(path_, fmt::format("line {}: {}", line_, what));
    }

    static void skipSpace(std::string_view& line) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r\f\v"), line.size()));
    }

    void readComment(std::string_view line) {
        if (entry_.translation) finish();
        if (line.starts_with("#~")) entry_.isFuzzy = false; // of an entry that is no longer used
        if (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos) entry_.isFuzzy = true;
    }

    /// A keyword and its text, or one more piece of the text.
    void readStatement(std::string_view line) {
        const std::string_view keyword = line.substr(0, std::min(line.find_first_of(" \t\""), line.size()));
        line.remove_prefix(keyword.size());
        if (!keyword.empty()) text_ = &begin(keyword);
        if (text_ == nullptr) refuseLine("a text comes before the first keyword");
        skipSpace(line);
        if (line.empty()) refuseLine("the text in quotes is missing");
        for (; !line.empty(); skipSpace(line)) readQuoted(line, *text_);
    }

    /// @return where the text of the keyword goes
    std::string& begin(std::string_view keyword) {
        if ((keyword == "msgctxt" || keyword == "msgid") && entry_.message) finish();
        if (keyword == "msgctxt") return entry_.context.emplace();
        if (keyword == "msgid") return entry_.message.emplace();
        if (keyword == "domain" || keyword == "msgid_plural") return unused_;
        if (!keyword.starts_with("msgstr"))
            refuseLine(fmt::format("{} is no keyword of a .po file", inQuotes(keyword)));
        if (!entry_.message) refuseLine("msgstr comes without a msgid");
        return keyword == "msgstr" || keyword == "msgstr[0]" ? entry_.translation.emplace() : unused_;
    }

    void readQuoted(std::string_view& line, std::string& text) const {
        if (!line.starts_with('"')) refuseLine("a text does not begin with a quote");
        size_t at = 1;
        while (at < line.size() && line[at] != '"')
            if (line[at] == '\\')
                readEscape(line, ++at, text);
            else
                text += line[at++];
        if (at >= line.size()) refuseLine("a text does not end with a quote");
        line.remove_prefix(at + 1);
    }

    /// @param at the place after the backslash; moves past the escape
    void readEscape(std::string_view line, size_t& at, std::string& text) const {
        constexpr std::string_view kLetters = "ntrabfv\\\"'?", kMeanings = "\n\t\r\a\b\f\v\\\"'?";
        if (at == line.size()) refuseLine("a text does not end with a quote");
        if (const size_t letter = kLetters.find(line[at]); letter != std::string_view::npos) {
            ++at;
            text += kMeanings[letter];
            return;
        }
        const bool isHex = line[at] == 'x';
        const std::string_view digits = isHex ? line.substr(at + 1, 2) : line.substr(at, 3);
        unsigned byte = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, isHex ? 16 : 8);
        if (error != std::errc()) refuseLine(fmt::format("\"\\{}\" has no meaning", printable(line.substr(at, 1))));
        text += static_cast<char>(byte & 0xFF);
        at = static_cast<size_t>(end - line.data());
    }

    /// Takes the entry and begins another.
    void finish() {
        const Entry entry = std::exchange(entry_, {});
        text_ = nullptr;
        if (entry.message && !entry.translation) refuseLine("a msgid has no msgstr before this line");
        if (!entry.message) return;
        if (entry.message->empty() && !entry.context)
            requireCharset(*entry.translation, path_);
        else if (!entry.isFuzzy)
            pairs_.push_back({*entry.message, *entry.translation});
    }

    std::string_view rest_;
    const std::filesystem::path& path_;
    size_t line_ = 0;
    Entry entry_;
    std::string unused_;
    std::string* text_ = nullptr; ///< the text that a line without a keyword continues
    std::vector<TextPair> pairs_;
};

// .mo -----------------------------------------------------------------------------------------------------------------

/// The numbers and texts of a catalogue for programs.
class MoFile {
public:
    MoFile(std::string_view bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {
        constexpr std::string_view kLittle = "\xde\x12\x04\x95", kBig = "\x95\x04\x12\xde";
        if (!bytes.starts_with(kLittle) && !bytes.starts_with(kBig)) refuse(path, "is no .mo file of gettext");
        isBig_ = bytes.starts_with(kBig);
    }

    uint32_t number(uint64_t at) const {
        if (at + 4 > bytes_.size()) refuse(path_, fmt::format("is cut off after {} bytes", bytes_.size()));
        uint32_t value = 0;
        for (size_t i = 0; i < 4; ++i)
            value = value << 8 | static_cast<unsigned char>(bytes_[at + (isBig_ ? i : 3 - i)]);
        return value;
    }

    /// @param table offset of the lengths and offsets of the texts
    std::string_view text(uint64_t table, uint64_t index) const {
        const uint64_t length = number(table + 8 * index), begin = number(table + 8 * index + 4);
        if (begin + length > bytes_.size())
            refuse(path_, fmt::format("entry {} lies beyond the end of the file, which has {} bytes", index + 1,
                                      bytes_.size()));
        return bytes_.substr(begin, length);
    }

private:
    std::string_view bytes_;
    const std::filesystem::path& path_;
    bool isBig_ = false;
};

/// The form of a text for one thing (the singular).
std::string firstForm(std::string_view text) { return std::string(text.substr(0, text.find('\0'))); }

} // namespace

std::vector<TextPair> readPoCatalogue(std::string_view bytes, const std::filesystem::path& path) {
    return PoReader(bytes, path).read();
}

std::vector<TextPair> readMoCatalogue(std::string_view bytes, const std::filesystem::path& path) {
    constexpr uint64_t kVersionAt = 4, kCountAt = 8, kMessagesAt = 12, kTranslationsAt = 16;
    constexpr char kEndOfContext = '\x04';
    constexpr uint32_t kNewestMajor = 1;
    const MoFile file(bytes, path);
    if (const uint32_t major = file.number(kVersionAt) >> 16; major > kNewestMajor)
        refuse(path, fmt::format("is of version {} of the format; the newest that is read is {}", major, kNewestMajor));
    const uint64_t count = file.number(kCountAt), messages = file.number(kMessagesAt),
                   translations = file.number(kTranslationsAt);
    std::vector<TextPair> pairs;
    uint64_t total = 0;
    for (uint64_t index = 0; index < count; ++index) {
        const std::string_view translation = file.text(translations, index);
        std::string_view message = file.text(messages, index);
        total += message.size() + translation.size();
        if (total > bytes.size()) // otherwise a small file could name one text many times
            refuse(path, fmt::format("entry {} shares its text with others", index + 1));
        if (message.empty()) {
            requireCharset(translation, path);
            continue;
        }
        message.remove_prefix(message.find(kEndOfContext) + 1); // npos + 1 is 0
        pairs.push_back({firstForm(message), firstForm(translation)});
    }
    return pairs;
}

} // namespace attn
