#include "engine/core/error.h"

namespace attn {
namespace {

std::string compose(const Error::Fields& fields) {
    std::string text;
    if (!fields.where.empty()) text += fields.where + ": ";
    text += fields.what;
    if (!fields.hint.empty()) text += "; " + fields.hint;
    return text;
}

} // namespace

Error::Error(Fields fields) : std::runtime_error(compose(fields)), fields_(std::move(fields)) {}

} // namespace attn
