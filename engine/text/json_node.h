#pragma once

#include "engine/core/error.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A value in tokenizer.json with its path, so that every error names file and field. Accessors throw Error if the
/// value has another type.
class JsonNode {
public:
    /// @param file outlives the node
    JsonNode(const nlohmann::json& value, const std::string& file) : JsonNode(value, file, {}) {}

    /// @throws Error naming file and field
    [[noreturn]] void fail(const std::string& what, const std::string& hint = kHint) const;

    /// Runs an action. An Error without a place gets this node as its place. @param before precedes the error's
    /// sentence
    template <class Action> auto naming(const Action& action, const std::string& before = {}) const {
        try {
            return action();
        } catch (const Error& error) {
            if (!error.where().empty()) throw;
            fail(before + error.message(), error.hint());
        }
    }

    JsonNode at(const std::string& key) const;                  ///< @throws Error if it is missing or null
    std::optional<JsonNode> find(const std::string& key) const; ///< none if it is missing or null
    std::vector<JsonNode> items() const;                        ///< the elements of an array
    /// The members of an object as tokens with their ids, which are below a limit. They live as long as the JSON.
    std::vector<std::pair<std::string_view, int>> vocabulary(uint64_t limit) const;
    bool isText() const;
    bool isList() const;
    bool isZero() const;
    std::string text() const;
    std::string text(const std::string& key, const std::string& fallback) const;
    double number() const;
    int tokenId() const; ///< a whole number from 0 to 2^24 - 1
    bool flag(const std::string& key, bool fallback) const;
    size_t size(const std::string& key, size_t fallback) const;
    std::string type() const { return at("type").text(); }

    static constexpr const char* kHint = "copy the file again, it is damaged";

private:
    JsonNode(const nlohmann::json& value, const std::string& file, std::string path)
        : value_(value), file_(file), path_(std::move(path)) {}
    const nlohmann::json& object() const;
    JsonNode child(const nlohmann::json& value, const std::string& key) const;

    const nlohmann::json& value_;
    const std::string& file_;
    std::string path_; ///< e.g. model.merges[12]
};

} // namespace attn
