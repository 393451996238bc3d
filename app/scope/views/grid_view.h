#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/view.h"
#include "engine/gpu/timeline.h"

#include <memory>
#include <optional>
#include <vector>

namespace attn::scope {

/// Patterns of all heads as small pictures in one device buffer, brought up to date layer by layer: rows of queries
/// that stayed are kept.
class GridTiles {
public:
    explicit GridTiles(ModelSubject& subject) : subject_(subject) {}

    /// @param size pixels on a side that tiles have room for: a power of two
    void setSize(int size);
    bool has(int size) const { return size == size_; }
    bool isCurrent() const;
    /// Brings layers up to date for about so long, at least one. Nothing may be reading the tiles.
    void work(double milliseconds);
    /// One head's; without a buffer before its layer was first worked on.
    DevicePixels tile(int layer, int head) const;

private:
    struct Layer {
        uint64_t version = 0; ///< of the tokens that it shows; 0: none yet
        int cells = 0;        ///< tokens on a side of a pixel
    };
    int cellsOfPixel() const;
    void update(int layer);

    ModelSubject& subject_;
    int size_ = 0;
    gpu::Buffer pixels_; ///< [layers, heads, size, size]
    std::vector<Layer> layers_;
    gpu::CommandBuffer commands_;
    std::optional<gpu::Timeline> copied_; // ends first: waits
};

/// All layers (rows) and heads (columns) of a model. A click opens a head.
class GridView : public View {
public:
    explicit GridView(ModelSubject& subject) : subject_(subject), tiles_(subject) {}

    void draw(const Area& area, const Look& look, Wishes& wishes) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::span<const Picture> pictures() const override { return pictures_; }
    std::string facts() const override;
    void fit() override { zoom_ = 1; }
    bool looksAtHead() const override { return true; }
    bool looksAtTokens() const override { return true; }

    /// Where a head's picture stood in the last frame, in Dear ImGui's units; empty if it is scrolled away.
    Area placeOf(int layer, int head) const;

private:
    void place(const Area& area, const Look& look);
    void drawTile(int layer, int head, const Area& at, const Area& clip, const Look& look, Wishes& wishes);

    ModelSubject& subject_;
    GridTiles tiles_;
    std::vector<Picture> pictures_; ///< by layer and head
    std::vector<Area> places_;      ///< likewise
    float side_ = 0, gap_ = 0;      ///< of a tile
    int tileSize_ = 0;              ///< pixels that it is computed in
    float zoom_ = 1;                ///< of the side that fits
    int scrolledTo_ = -1;           ///< layer and head that was brought into sight last
};

std::unique_ptr<View> makeGridView(Subject& subject);

} // namespace attn::scope
