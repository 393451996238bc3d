#include "engine/io/json_file.h"

#include "engine/io/input_file.h"
#include "engine/io/json_events.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace attn {
namespace {

/// Builds the tree of all values.
class TreeBuilder : public JsonEvents {
public:
    explicit TreeBuilder(const std::string& file) : JsonEvents(file, "the file") {}
    nlohmann::json take() { return std::move(root_); }

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
        nlohmann::json& place = open_.empty()              ? root_
                                : open_.back()->is_array() ? open_.back()->emplace_back()
                                                           : (*open_.back())[key_];
        return place = std::move(value);
    }

    nlohmann::json root_;
    std::vector<nlohmann::json*> open_; ///< from the root to the list or object that is being read
    std::string key_;
    size_t count_ = 0;
};

} // namespace

bool isGitLfsPointer(std::string_view text) { return text.starts_with("version https://git-lfs"); }

nlohmann::json parseJson(std::string_view text, const std::string& file) {
    TreeBuilder tree(file);
    tree.parse(text);
    return tree.take();
}

nlohmann::json readJsonFile(const std::filesystem::path& path) {
    return parseJson(readTextFile(path, kMostJsonBytes), path.string());
}

std::string shownJson(const nlohmann::json& value) {
    constexpr size_t kMost = 60;
    // Escapes leave only ASCII, which can be cut anywhere.
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
    return text;
}

} // namespace attn
