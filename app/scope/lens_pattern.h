#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/pattern_source.h"
#include "app/scope/random_subject.h"

#include <memory>
#include <optional>

namespace attn::scope {

/// The long-pattern view of one head. It never forms the whole pattern: the view is coarse at first and becomes exact.
class LensPattern : public PatternSource {
public:
    explicit LensPattern(RandomSubject& subject);
    /// Reads the queries and keys from the model's caches.
    explicit LensPattern(ModelSubject& subject);

    bool isCausal() const override;
    int window() const override;
    const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    float probability(const Cell& cell) override;
    /// Only one pixel in two hundred is brighter. Among thousands of keys, most weights are small.
    float largest() const override { return largest_; }
    std::string facts() const override;
    const LensPicture& picture() const { return lens_->picture(); }

private:
    void follow();
    LensView viewOf(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const;

    Subject& subject_;
    ModelSubject* model_ = nullptr;
    std::unique_ptr<AttentionLens> own_; ///< of the model's layer `layer_`
    AttentionLens* lens_ = nullptr;
    int layer_ = -1;
    uint64_t version_ = 0; ///< version of the model's tokens in the lens
    DevicePixels pixels_;
    bool isDrawn_ = false; ///< pixels_ shows the lens's newest result
    float largest_ = 1;
    CellReading reading_;
};

} // namespace attn::scope
