#include "engine/text/aligned_text.h"

#include "engine/text/text_budget.h"

#include <algorithm>

namespace attn {

ByteRange AlignedText::origin(size_t begin, size_t end) const {
    if (isCopy_) return {start_ + begin, start_ + end};
    if (begin >= end) return {};
    ByteRange range = origins_[begin];
    for (size_t at = begin + 1; at < end; ++at) {
        range.begin = std::min(range.begin, origins_[at].begin);
        range.end = std::max(range.end, origins_[at].end);
    }
    return range;
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
    if (isCopy_) return AlignedText(std::string_view(text_).substr(begin, end - begin), start_ + begin);
    AlignedText piece;
    piece.append(*this, begin, end);
    return piece;
}

void AlignedText::listOrigins() {
    if (!isCopy_) return;
    origins_.reserve(text_.size());
    for (size_t at = 0; at < text_.size(); ++at) origins_.push_back(byteOrigin(at));
    isCopy_ = false;
}

void AlignedText::append(std::string_view bytes, ByteRange from) {
    listOrigins();
    text_.append(bytes);
    origins_.insert(origins_.end(), bytes.size(), from);
}

void AlignedText::append(const AlignedText& other, size_t begin, size_t end) {
    listOrigins();
    text_.append(other.text_, begin, end - begin);
    for (size_t at = begin; at < end; ++at) origins_.push_back(other.byteOrigin(at));
}

void AlignedText::prepend(std::string_view bytes) {
    const size_t place = empty() ? start_ : byteOrigin(0).begin;
    listOrigins();
    text_.insert(0, bytes);
    origins_.insert(origins_.begin(), bytes.size(), ByteRange{place, place});
}

void AlignedText::widenStart(size_t place) {
    listOrigins();
    if (!origins_.empty()) origins_.front().begin = std::min(origins_.front().begin, place);
}

AlignedText AlignedText::replaced(const std::vector<ByteRange>& matches, std::string_view content,
                                  TextBudget& budget) const {
    for (const ByteRange& match : matches)
        budget.grow(content.size() - std::min(content.size(), match.end - match.begin));
    AlignedText result;
    size_t done = 0;
    for (const ByteRange& match : matches) {
        result.append(*this, done, match.begin);
        result.append(content, origin(match.begin, match.end));
        done = match.end;
    }
    result.append(*this, done, text_.size());
    return result;
}

} // namespace attn
