#pragma once

#include "engine/inference/pattern_views.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace attn {

class LanguageModel;
namespace gpu {
class Buffer;
}

/// A tile on the device, for viewers that draw it without a copy: floats [tile.rows, rowStride], of which the first
/// tile.columns of a row are valid. A finished compute shader has written it; it is not yet visible to other stages.
struct DevicePattern {
    const gpu::Buffer* buffer = nullptr;
    uint64_t byteOffset = 0, byteSize = 0;
    int rowStride = 0; ///< in floats
    PatternTile tile;  ///< description of the tile, without values
};

/// The patterns of the tokens that a model of text holds, for views. Needs LanguageModel::Options::inspects.
class Patterns {
public:
    explicit Patterns(LanguageModel& model) : model_(model) {}
    virtual ~Patterns() = default;
    Patterns(const Patterns&) = delete;
    Patterns& operator=(const Patterns&) = delete;

    /// Patterns of all heads. @param size largest side in pixels  @param hidesFirst see PatternTile::leavesOutFirst
    virtual PatternGrid grid(int size, bool hidesFirst = false) = 0;
    virtual PatternTile tile(const PatternRequest& view) = 0;
    // The same views, but with many tokens they are coarse at first, and refine() makes them exact.
    virtual PatternGrid beginGrid(int size, bool hidesFirst = false) { return grid(size, hidesFirst); }
    virtual PatternTile beginTile(const PatternRequest& view) { return tile(view); }
    /// Starts the profile of a head over all tokens. refine() completes it.
    virtual HeadProfile beginProfile(int site, int head) = 0;
    /// Continues the views that were started since the tokens changed for about this time, the tile first.
    /// @return whether a view is still incomplete
    virtual bool refine(double milliseconds);
    virtual std::optional<PatternTile> refinedTile() const { return {}; } ///< none if beginTile() was exact
    virtual std::optional<PatternGrid> refinedGrid() const { return {}; } ///< none if beginGrid() was exact
    virtual std::optional<HeadProfile> refinedProfile() const { return {}; }
    /// The attention weight of a cell. @return NaN if the site forms no pattern
    virtual float weight(const CellRequest& cell);
    /// The attention weights of the rows that the readout reads.
    ReadoutRows readoutRows() const;
    /// Draws a view. The pixels stay valid until the next call for the same site.
    /// @throws Error if the patterns of this model do not stay on the device
    virtual DevicePattern onDevice(const PatternRequest& view);

    virtual int64_t planBytes() const { return 0; } ///< device memory of the plans that draw
    virtual void tokensChange(size_t from);         ///< the model runs tokens from this one on
    virtual void changesChanged() {}                ///< patterns may differ from those before

protected:
    PatternRequest bounded(PatternRequest view) const; ///< limits the view to existing tokens and heads
    /// A tile of a bounded view, without values.
    PatternTile emptyTile(const PatternRequest& view, int rows, int columns) const;
    /// The row of a query, if it can be formed again. @return empty if it cannot
    virtual std::vector<float> formedRow(int site, int head, int query) const;
    bool hasChangedPattern(int site, int head) const; ///< whether a change that is not bypassed sets the head's pattern

    LanguageModel& model_;
};

/// The patterns of a model: from its cache, or formed by runs over the whole text.
std::unique_ptr<Patterns> makePatterns(LanguageModel& model);

} // namespace attn
