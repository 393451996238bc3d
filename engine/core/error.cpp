#include "engine/core/error.h"

#include "engine/core/quoting.h"

#include <utility>

namespace attn {
namespace {

/// The fields may quote a file of any content and length.
Error::Fields& makePrintable(Error::Fields& fields) {
    constexpr size_t kMostBytes = 4000; // more than the longest list of names that a hint gives
    fields.where = printable(shortened(fields.where), kMostBytes);
    for (std::string* text : {&fields.what, &fields.hint}) *text = printable(withShortQuotes(*text), kMostBytes);
    return fields;
}

std::string compose(const Error::Fields& fields) {
    std::string text;
    if (!fields.where.empty()) text += fields.where + ": ";
    text += fields.what;
    if (!fields.hint.empty()) text += "; " + fields.hint;
    return text;
}

} // namespace

Error::Error(Fields fields) : std::runtime_error(compose(makePrintable(fields))), fields_(std::move(fields)) {}

} // namespace attn
