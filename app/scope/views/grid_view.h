#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/view.h"
#include "engine/gpu/timeline.h"

#include <memory>
#include <optional>
#include <vector>

namespace attn::scope {

/// The patterns of all heads as small tiles in one device buffer, updated layer by layer. Rows of unchanged queries are
/// kept.
class GridTiles {
public:
    explicit GridTiles(ModelSubject& subject) : subject_(subject) {}

    /// Sets the size of the tiles. @param size pixels on a side, a power of two
    void setSize(int size);
    bool has(int size) const { return size == size_; }
    bool isCurrent() const;
    /// Updates layers for about this time, but at least one layer. No one else may read the tiles meanwhile.
    void work(double milliseconds);
    /// The tile of one head; without a buffer until its layer is first updated.
    DevicePixels tile(int layer, int head) const;

private:
    struct Layer {
        uint64_t version = 0; ///< version of the tokens that it shows; 0: none yet
        int cells = 0;        ///< tokens along a side of a pixel
    };
    int cellsOfPixel() const;
    void update(int layer);

    ModelSubject& subject_;
    int size_ = 0;
    gpu::Buffer pixels_; ///< [layers, heads, size, size]
    std::vector<Layer> layers_;
    gpu::CommandBuffer commands_;
    std::optional<gpu::Timeline> copied_; // destroyed first: waits for the copies
};

/// All layers (rows) and heads (columns) of a model. A click opens a head.
class GridView : public View {
public:
    explicit GridView(ModelSubject& subject) : subject_(subject), tiles_(subject) {}

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::span<const Picture> pictures() const override { return pictures_; }
    std::string facts() const override;
    void fit() override { zoom_ = 1; }
    bool looksAtHead() const override { return true; }
    bool looksAtTokens() const override { return true; }

    /// The place of a head's tile in the last frame, in Dear ImGui's units; empty if it is scrolled away.
    Area placeOf(int layer, int head) const;

private:
    void place(const Area& area, const Look& look);
    void drawTile(int layer, int head, const Area& at, const Area& clip, const Look& look, UserRequests& requests);

    ModelSubject& subject_;
    GridTiles tiles_;
    std::vector<Picture> pictures_; ///< by layer and head
    std::vector<Area> places_;      ///< by layer and head
    float side_ = 0, gap_ = 0;      ///< of a tile
    int tileSize_ = 0;              ///< pixels on a side of a tile
    float zoom_ = 1;                ///< relative to the size that fits
    int scrolledTo_ = -1;           ///< the layer and head that was last scrolled into view
};

std::unique_ptr<View> makeGridView(Subject& subject);

} // namespace attn::scope
