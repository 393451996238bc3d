#pragma once

#include "engine/inference/pattern_views.h"

#include <QString>

#include <limits>
#include <span>
#include <vector>

namespace attn {

enum class ScaleKind { Linear, Log, RowMaximum };

/// How attention weights become colours. Reset returns to the default.
struct Scale {
    ScaleKind kind = ScaleKind::Linear;
    /// Hides the first token, which receives much surplus weight from many heads ("attention sink", Xiao et al. 2023,
    /// arXiv:2309.17453), and divides the rest of each row by its sum. Exact if a pixel is one cell or the tile already
    /// excludes the first token (PatternTile::leavesOutFirst). Otherwise the first pixel column stands for the first
    /// token, and a tile that does not start at key 0 is shown unchanged.
    bool hidesFirst = false;

    bool operator==(const Scale&) const = default;
    bool isPlain() const { return *this == Scale{}; }
};

struct ScaleInfo {
    ScaleKind kind;
    const char* key;     ///< for session files and the command line
    const char* title;   ///< marked for translation
    const char* toolTip; ///< marked for translation
};
std::span<const ScaleInfo> scaleKinds();
QString scaleKey(ScaleKind kind);
/// @return Linear for an unknown key
ScaleKind scaleFromKey(const QString& key);

/// The lower end of the log scale. Smaller weights get the same colour.
inline constexpr float kLogFloor = 1e-4f;

/// The level of a cell without colour: masked (a key after its query, with weight 0) or hidden.
inline constexpr float kNoLevel = -1.0f;

/// A tile after a scale is applied.
struct ScaledTile {
    std::vector<float> values; ///< [rows, columns] weights as shown; NaN if hidden
    std::vector<float> levels; ///< [rows, columns] place in the colour map 0..1, or kNoLevel
    float range = 0;           ///< for a difference: the value that has the full colour
};
ScaledTile scaleTile(const PatternTile& tile, const Scale& scale);

/// The weights of a tile for a plain matrix. Masked cells are NaN, so that they look as in a heatmap.
std::vector<float> visibleWeights(const PatternTile& tile);
/// The visible weights of a whole pattern. @param weights [tokens, tokens]
std::vector<float> visibleWeights(std::vector<float> weights, int tokens);

/// tilePixel is the tile pixel that shows a token; tileToken is the first token of a pixel.
int tilePixel(int token, int begin, int end, int pixels);
int tileToken(int pixel, int begin, int end, int pixels);

} // namespace attn
