#pragma once

#include "app/scope/pattern_view.h"
#include "app/scope/picture_pipeline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace attn::scope {

/// The source of one head's pattern for a plot: pixels on the device, computed on demand.
class PatternSource {
public:
    virtual ~PatternSource() = default;

    virtual bool isCausal() const = 0;
    virtual int window() const = 0; ///< number of previous keys that a query sees; 0: all
    bool isMasked(const Cell& cell) const {
        return (isCausal() && cell.key > cell.query) || (window() > 0 && cell.query - cell.key >= window());
    }

    /// The pattern on the device, or a better approximation than before. The last frame that read it must have
    /// finished.
    /// @param queries, keys half-open ranges, as in PatternView
    /// @param cellPixels size of a cell on the screen
    virtual const DevicePixels& pixels(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) = 0;
    /// Whether pixels() would return the same pixels.
    virtual bool isReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) = 0;
    /// The weight of one cell, read from the device and cached while the pointer rests.
    virtual float probability(const Cell& cell) = 0;
    virtual float largest() const { return 1; }      ///< value of the brightest colour; above 0
    virtual std::string facts() const { return {}; } ///< for the line below
};

/// Caches the value of the last cell that was read.
class CellReading {
public:
    struct Place {
        Cell cell;
        int site = 0, head = 0;
        uint64_t version = 0; ///< of the tokens
        bool operator==(const Place&) const = default;
    };
    /// @param read returns the value; called only if the place is new
    template <typename Read> float at(const Place& place, const Read& read) {
        if (!last_ || last_->first != place) last_ = {place, read()};
        return last_->second;
    }

private:
    std::optional<std::pair<Place, float>> last_;
};

} // namespace attn::scope
