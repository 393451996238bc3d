#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/pattern_source.h"
#include "app/scope/random_subject.h"

#include <memory>
#include <optional>

namespace attn::scope {

/// The long-pattern view of one head. It never forms the whole pattern: the view is coarse at first and becomes exact.
class LongPattern : public PatternSource {
public:
    explicit LongPattern(RandomSubject& subject);
    /// Reads the queries and keys from the model's caches.
    explicit LongPattern(ModelSubject& subject);

    bool isCausal() const override;
    int window() const override;
    const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) override;
    float probability(const Cell& cell) override;
    /// Only one pixel in two hundred is brighter, because most weights among thousands of keys are small.
    float largest() const override { return largest_; }
    std::string facts() const override;
    const LongPatternPicture& picture() const { return longPattern_->picture(); }

private:
    void follow();
    LongPatternRegion viewOf(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const;

    Subject& subject_;
    ModelSubject* model_ = nullptr;
    std::unique_ptr<LongPatternView> own_; ///< of the model's layer `layer_`
    LongPatternView* longPattern_ = nullptr;
    int layer_ = -1;
    uint64_t room_ = 0;    ///< LanguageModel::roomChanges() of `own_`
    uint64_t version_ = 0; ///< version of the model's tokens in the view
    DevicePixels pixels_;
    bool isDrawn_ = false; ///< pixels_ shows the newest result
    float largest_ = 1;
    CellReading reading_;
};

} // namespace attn::scope
