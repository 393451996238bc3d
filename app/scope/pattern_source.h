#pragma once

#include "app/scope/pattern_view.h"
#include "app/scope/picture_pipeline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace attn::scope {

/// Where a plot takes one head's pattern from: pixels on the device, computed when they are not yet.
class PatternSource {
public:
    virtual ~PatternSource() = default;

    virtual bool isCausal() const = 0;
    virtual int window() const = 0; ///< keys that a query sees back; 0: all
    bool isMasked(const Cell& cell) const {
        return (isCausal() && cell.key > cell.query) || (window() > 0 && cell.query - cell.key >= window());
    }

    /// The pattern on the device, or a better one than before. Ranges as in PatternView. The last frame that read it
    /// must have finished.
    /// @param cellPixels size of a cell on the screen
    virtual const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) = 0;
    /// Whether pixels() would change nothing.
    virtual bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) = 0;
    /// Read back from the device by itself, and kept while the pointer rests.
    virtual float probability(const Cell& cell) = 0;
    virtual float largest() const { return 1; }      ///< what the brightest colour stands for; above 0
    virtual std::string facts() const { return {}; } ///< for the line below
};

/// The value of the cell that was read last.
class CellReading {
public:
    struct Place {
        Cell cell;
        int layer = 0, head = 0;
        uint64_t version = 0; ///< of the tokens
        bool operator==(const Place&) const = default;
    };
    /// @param read gives the value, where it is not the same place as before
    template <typename Read> float at(const Place& place, const Read& read) {
        if (!last_ || last_->first != place) last_ = {place, read()};
        return last_->second;
    }

private:
    std::optional<std::pair<Place, float>> last_;
};

} // namespace attn::scope
