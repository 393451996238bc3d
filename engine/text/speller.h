#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Writes numbers and dates in the words of a language, by the rules of the Unicode consortium (CLDR). Calls are const
/// and thread-safe.
class Speller {
public:
    /// @param language code as in BCP 47: "de"  @throws Error if its numbers have no words
    explicit Speller(const std::string& language);
    ~Speller();
    Speller(Speller&&) noexcept;

    /// "dreihundertzwölf" for 312.
    std::string number(int64_t value) const;
    /// "Freitag, 1. Januar 1971" for 365. @param day counted from 1 January 1970
    std::string date(int64_t day) const;

    /// The codes of all languages whose numbers have words, in alphabetical order.
    static const std::vector<std::string>& languages();
    /// "German" for "de".
    static std::string nameOf(std::string_view language);

private:
    struct Formats;
    std::unique_ptr<Formats> formats_;
};

} // namespace attn
