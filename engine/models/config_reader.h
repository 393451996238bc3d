#pragma once

#include "engine/io/field_log.h"
#include "engine/ops/ops.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Reads fields of config.json. Errors name the file, the field, its value and the expected value.
class ConfigReader {
public:
    /// @param log notes each field that is asked for; it must outlive the reader
    ConfigReader(const nlohmann::json& json, std::string file, FieldLog* log = nullptr, std::string path = {})
        : json_(json), file_(std::move(file)), log_(log), path_(std::move(path)) {}

    bool has(const char* field) const;    ///< present and not null
    bool isNull(const char* field) const; ///< present and null
    /// The field as it is, of any type. Null if it is missing or null.
    const nlohmann::json* value(const char* field) const;
    /// Notes that a field needs no reading: it restates others.
    void pass(const char* field) const { value(field); }
    void passOver(const char* field) const; ///< notes that another field counts in place of this one
    int64_t size(const char* field) const;  ///< required whole number, from 1 to a limit for the field
    int64_t size(const char* field, int64_t fallback) const;
    /// A whole number in a range of its own. @throws Error if it is missing and has no fallback
    int64_t wholeNumber(const char* field, std::optional<int64_t> fallback, int64_t least, int64_t most) const;
    /// A number. What is added to a variance (*_eps, *_epsilon) must be from 0 to below 1.
    double number(const char* field, double fallback) const;
    bool flag(const char* field, bool fallback) const;
    std::string text(const char* field, const std::string& fallback) const;
    std::optional<std::string> optionalText(const char* field) const; ///< none if it is missing or something else
    Activation activation(const char* field, const std::string& fallback) const;
    /// The activation of a name that the field contains.
    Activation activationNamed(const char* field, const std::string& name) const;
    /// The id of a token, from 0 to below the vocabulary.
    int64_t token(const char* field, int64_t fallback, int64_t vocabulary) const;
    /// A required number of heads. @throws Error also if it does not divide the width, which `widthField` holds
    int64_t heads(const char* field, int64_t width, const char* widthField) const;
    ConfigReader object(const char* field) const; ///< a nested object; @throws Error if it is not one
    const nlohmann::json& json() const { return json_; }
    const std::string& file() const { return file_; } ///< for messages

    bool hasObject(const char* field) const;
    /// A list of whole numbers; none if the field is missing or something else.
    std::optional<std::vector<int64_t>> wholeNumbers(const char* field) const;
    /// A list of texts; empty if the field is missing. @throws Error if it is something else
    std::vector<std::string> texts(const char* field) const;
    /// Refuses fields of a wrong type that only some readers of the file look at: flags, and ids of tokens.
    void checkTypes() const;

    [[noreturn]] void fail(const char* field, const std::string& what,
                           const std::string& hint = "copy the config.json that belongs to the weights") const;

private:
    void failUnless(bool isRight, const char* field, const nlohmann::json& value, const std::string& expected) const;
    const nlohmann::json& json_; ///< must outlive the reader
    std::string file_;
    FieldLog* log_;
    std::string path_; ///< of the object in the file, ending in a point
};

/// The activation of a name in config.json, if there is one.
std::optional<Activation> findActivation(std::string_view name);
/// The name of an activation in config.json, which ConfigReader::activation() reads. @pre it is not None
std::string activationName(Activation activation);

} // namespace attn
