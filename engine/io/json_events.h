#pragma once

#include "engine/io/json_file.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Takes a JSON text apart in one pass, in time and memory that are linear in its length, and refuses what is nested
/// too deep. Derived classes keep what they need of it.
class JsonEvents : private nlohmann::json_sax<nlohmann::json> {
public:
    /// @param file name for messages  @param subject the part of the file that the text is, for messages
    /// @param firstLine of the text in the file, for messages
    JsonEvents(std::string file, std::string subject, size_t firstLine = 1)
        : file_(std::move(file)), subject_(std::move(subject)), firstLine_(firstLine) {}

    /// @throws Error naming the file and the position of the mistake
    void parse(std::string_view text);

protected:
    virtual void onBegin(bool isObject) = 0; ///< of an object or a list
    virtual void onEnd() = 0;
    virtual void onKey(std::string& key) = 0;
    virtual void onValue(nlohmann::json value) = 0; ///< neither object nor list

    /// The number of objects and lists around the present event; inside onBegin() with the one that begins.
    int depth() const { return depth_; }
    [[noreturn]] void refuse(const std::string& what, const std::string& hint = "fetch the file again") const;
    const std::string& file() const { return file_; }
    const std::string& subject() const { return subject_; }

private:
    bool give(nlohmann::json value);
    bool begin(bool isObject);
    bool end();

    bool null() final { return give(nullptr); }
    bool boolean(bool value) final { return give(value); }
    bool number_integer(number_integer_t value) final { return give(value); }
    bool number_unsigned(number_unsigned_t value) final { return give(value); }
    bool number_float(number_float_t value, const string_t&) final { return give(value); }
    bool string(string_t& value) final { return give(std::move(value)); }
    bool binary(binary_t&) final { return false; } // JSON text has none
    bool start_object(size_t) final { return begin(true); }
    bool end_object() final { return end(); }
    bool start_array(size_t) final { return begin(false); }
    bool end_array() final { return end(); }
    bool key(string_t& value) final;
    bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& error) final;

    std::string file_, subject_;
    size_t firstLine_;
    std::string_view text_;
    int depth_ = 0;
};

} // namespace attn
