#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/pattern_source.h"
#include "app/scope/random_subject.h"

#include <memory>
#include <optional>

namespace attn::scope {

/// A pattern looked at through a lens, which never forms it: the picture is coarse at once and becomes exact.
class LensPattern : public PatternSource {
public:
    explicit LensPattern(RandomSubject& subject);
    /// Queries and keys as they lie in the model's caches.
    explicit LensPattern(ModelSubject& subject);

    bool isCausal() const override;
    int window() const override;
    const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    float probability(const Cell& cell) override;
    /// One pixel in two hundred is brighter: weights of thousands of keys are small, but for some.
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
    uint64_t version_ = 0; ///< of the model's tokens that the lens knows
    DevicePixels pixels_;
    bool isDrawn_ = false; ///< pixels_ shows what the lens has
    float largest_ = 1;
    CellReading reading_;
};

} // namespace attn::scope
