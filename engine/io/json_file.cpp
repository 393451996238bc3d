#include "engine/io/json_file.h"

#include "engine/core/globs.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/json_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace attn {
namespace {

/// Builds the tree of all values.
class TreeBuilder : public JsonEvents {
public:
    TreeBuilder(const std::string& file, size_t firstLine) : JsonEvents(file, "the file", firstLine) {}
    nlohmann::json take() { return std::move(root_); }
    const std::vector<std::string>& repeated() const { return repeated_; }

private:
    void onBegin(bool isObject) override {
        open_.push_back(&add(isObject ? nlohmann::json::object() : nlohmann::json::array()));
    }
    void onEnd() override { open_.pop_back(); }
    void onKey(std::string& key) override { key_ = std::move(key); }
    void onValue(nlohmann::json value) override { add(std::move(value)); }

    nlohmann::json& add(nlohmann::json value) {
        if (++count_ > kMostJsonValues)
            refuse(fmt::format("the file holds more than {} values", kMostJsonValues), "choose a smaller file");
        if (!open_.empty() && open_.back()->is_object() && open_.back()->contains(key_) &&
            repeated_.size() < kMostRepeated && std::ranges::find(repeated_, key_) == repeated_.end())
            repeated_.push_back(key_);
        nlohmann::json& place = open_.empty()              ? root_
                                : open_.back()->is_array() ? open_.back()->emplace_back()
                                                           : (*open_.back())[key_];
        return place = std::move(value);
    }

    static constexpr size_t kMostRepeated = 8; ///< repeated keys that are remembered
    nlohmann::json root_;
    std::vector<nlohmann::json*> open_; ///< from the root to the list or object that is being read
    std::string key_;
    std::vector<std::string> repeated_;
    size_t count_ = 0;
};

std::string listed(std::vector<std::string> names) {
    constexpr size_t kMostNames = 12;
    const size_t more = names.size() - std::min(names.size(), kMostNames);
    names.resize(names.size() - more);
    return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

} // namespace

bool isGitLfsPointer(std::string_view text) { return text.starts_with("version https://git-lfs"); }

nlohmann::json parseJson(std::string_view text, const std::string& file, std::vector<std::string>* repeated,
                         size_t firstLine) {
    TreeBuilder tree(file, firstLine);
    tree.parse(text);
    if (repeated != nullptr) *repeated = tree.repeated();
    return tree.take();
}

nlohmann::json readJsonFile(const std::filesystem::path& path) {
    return parseJson(readTextFile(path, kMostJsonBytes), path.string());
}

nlohmann::json readJsonFile(const std::filesystem::path& path, std::vector<std::string>& warnings) {
    std::vector<std::string> repeated;
    nlohmann::json json = parseJson(readTextFile(path, kMostJsonBytes), path.string(), &repeated);
    for (std::string& key : repeated) key = inQuotes(key);
    if (!repeated.empty())
        warnings.push_back(fmt::format("{} gives {} more than once; the last value counts", path.filename().string(),
                                       fmt::join(repeated, ", ")));
    return json;
}

std::string shownJson(const nlohmann::json& value) {
    constexpr size_t kMost = 60;
    // Escapes leave only ASCII, which can be cut anywhere.
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
    return text;
}

bool isOff(const nlohmann::json& value) {
    if (value.is_null() || value == false) return true;
    return (value.is_array() || value.is_object() || value.is_string()) && (value.empty() || value == "");
}

std::string UnreadSettings::sentenceOn(const nlohmann::json& unread) const {
    std::vector<std::string> notObeyed, notKnown;
    for (const auto& [field, value] : unread.items()) {
        const std::string_view name = field;
        const auto found = std::ranges::find(known, name, &Known::field);
        if (isOff(value)) continue;
        if (found != known.end()) {
            if (value != parseJson(found->usual, "the usual value")) notObeyed.push_back(printable(name));
        } else if (namesUnknown &&
                   std::ranges::none_of(silent, [&](std::string_view glob) { return matchesGlob(glob, name); })) {
            notKnown.push_back(printable(name));
        }
    }
    std::vector<std::string> parts;
    if (!notObeyed.empty()) parts.push_back("does not obey " + listed(notObeyed));
    if (!notKnown.empty()) parts.push_back("does not know " + listed(notKnown));
    return parts.empty() ? std::string() : fmt::format("{}: this program {}", file, fmt::join(parts, " and "));
}

} // namespace attn
