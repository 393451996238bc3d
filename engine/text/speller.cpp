#include "engine/text/speller.h"

#include "engine/core/error.h"

#include <fmt/ranges.h>
#include <unicode/udat.h>
#include <unicode/uloc.h>
#include <unicode/unum.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <mutex>

namespace attn {
namespace {

constexpr double kMillisecondsPerDay = 86'400'000;
constexpr char16_t kSoftHyphen = 0x00AD; ///< where German words may break
constexpr int32_t kMostUnits = 512;      ///< of UTF-16 in a result

/// Calls a function of ICU that fills a buffer, and converts what it writes to UTF-8 without soft hyphens.
template <class Fill> std::string written(const Fill& fill) {
    std::u16string units(kMostUnits, u'\0');
    UErrorCode error = U_ZERO_ERROR;
    const int32_t length = fill(units.data(), kMostUnits, &error);
    if (U_FAILURE(error) != 0) return {};
    units.resize(static_cast<size_t>(std::min(length, kMostUnits)));
    std::erase(units, kSoftHyphen);
    std::string text(3 * units.size(), '\0'); // a unit has at most three bytes
    int32_t bytes = 0;
    u_strToUTF8(text.data(), static_cast<int32_t>(text.size()), &bytes, units.data(),
                static_cast<int32_t>(units.size()), &error);
    text.resize(static_cast<size_t>(bytes));
    return text;
}

/// Whether a language has rules of its own for numbers; others fall back to those of the user's language, or to digits.
bool hasRules(const std::string& language) {
    UErrorCode error = U_ZERO_ERROR;
    ures_close(ures_open(U_ICUDATA_NAME "-rbnf", language.c_str(), &error));
    return U_SUCCESS(error) != 0 && error != U_USING_DEFAULT_WARNING;
}

} // namespace

struct Speller::Formats {
    explicit Formats(const std::string& language)
        : numbers(unum_open(UNUM_SPELLOUT, nullptr, 0, language.c_str(), nullptr, &error), unum_close),
          dates(udat_open(UDAT_NONE, UDAT_FULL, language.c_str(), u"UTC", -1, nullptr, 0, &error), udat_close) {}

    std::string number(int64_t value) const {
        return written([&](char16_t* to, int32_t room, UErrorCode* failed) {
            return unum_formatInt64(numbers.get(), value, to, room, nullptr, failed);
        });
    }
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<UNumberFormat, decltype(&unum_close)> numbers;
    const std::unique_ptr<UDateFormat, decltype(&udat_close)> dates;
    mutable std::mutex mutex; ///< formatting keeps state
};

Speller::Speller(const std::string& language) : formats_(std::make_unique<Formats>(language)) {
    if (std::ranges::binary_search(languages(), language)) return;
    throw Error({.what = fmt::format("there are no words for numbers in the language \"{}\"", language),
                 .where = "languages",
                 .hint = fmt::format("choose from: {}", fmt::join(languages(), ", "))});
}

Speller::~Speller() = default;
Speller::Speller(Speller&&) noexcept = default;

std::string Speller::number(int64_t value) const {
    const std::lock_guard lock(formats_->mutex);
    return formats_->number(value);
}

std::string Speller::date(int64_t day) const {
    const std::lock_guard lock(formats_->mutex);
    return written([&](char16_t* to, int32_t room, UErrorCode* failed) {
        return udat_format(formats_->dates.get(), static_cast<double>(day) * kMillisecondsPerDay, to, room, nullptr,
                           failed);
    });
}

const std::vector<std::string>& Speller::languages() {
    static const std::vector<std::string> kLanguages = [] {
        std::vector<std::string> codes;
        for (int32_t i = 0; i < uloc_countAvailable(); ++i) {
            const std::string code = uloc_getAvailable(i); // "de", "de_AT"
            if (code.find('_') == std::string::npos && hasRules(code)) codes.push_back(code);
        }
        std::ranges::sort(codes);
        return codes;
    }();
    return kLanguages;
}

std::string Speller::nameOf(std::string_view language) {
    const std::string code(language);
    return written([&](char16_t* to, int32_t room, UErrorCode* failed) {
        return uloc_getDisplayLanguage(code.c_str(), "en", to, room, failed);
    });
}

} // namespace attn
