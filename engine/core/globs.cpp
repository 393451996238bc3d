#include "engine/core/globs.h"

#include <algorithm>

namespace attn {

bool matchesGlob(std::string_view glob, std::string_view name) {
    const size_t star = glob.find('*');
    if (star == std::string_view::npos) return glob == name;
    if (name.substr(0, star) != glob.substr(0, star)) return false;
    for (size_t at = star; at <= name.size(); ++at)
        if (matchesGlob(glob.substr(star + 1), name.substr(at))) return true;
    return false;
}

std::vector<std::string> splitAtCommas(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        std::string part = text.substr(begin, end - begin);
        while (!part.empty() && part.front() == ' ') part.erase(part.begin());
        while (!part.empty() && part.back() == ' ') part.pop_back();
        if (!part.empty()) parts.push_back(std::move(part));
        begin = end + 1;
    }
    return parts;
}

} // namespace attn
