#pragma once

#include <stdexcept>
#include <string>

namespace attn {

/// An error that says what went wrong, where (a file, a node, a field) and what to do about it. The engine throws it;
/// the session turns it into a Failure value. Its texts are printable and have a bounded length, whatever they quote.
class Error : public std::runtime_error {
public:
    struct Fields {
        std::string what{};  ///< one sentence without a full stop, with the numbers
        std::string where{}; ///< file path, graph path or field; may be empty
        std::string hint{};  ///< the remedy; may be empty
    };

    explicit Error(Fields fields);
    explicit Error(std::string what) : Error(Fields{std::move(what), {}, {}}) {}

    const std::string& message() const noexcept { return fields_.what; }
    const std::string& where() const noexcept { return fields_.where; }
    const std::string& hint() const noexcept { return fields_.hint; }

private:
    Fields fields_;
};

} // namespace attn
