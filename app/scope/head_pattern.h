#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/pattern_source.h"

#include <optional>

namespace attn::scope {

/// The pattern of the subject's selected head, cell by cell. Only the visible part of a long pattern is computed.
class HeadPattern : public PatternSource {
public:
    explicit HeadPattern(ModelSubject& subject) : subject_(subject) {}

    bool isCausal() const override;
    int window() const override;
    const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    float probability(const Cell& cell) override;
    std::string facts() const override;

private:
    PatternRequest viewOf(std::pair<int, int> queries, std::pair<int, int> keys) const;

    ModelSubject& subject_;
    DevicePixels pixels_;
    gpu::Buffer changedRows_; ///< pixels of a pattern that the user has changed
    std::optional<PatternRequest> pixelsOf_;
    uint64_t version_ = 0; ///< version of the tokens in pixels_
    CellReading reading_;
};

} // namespace attn::scope
