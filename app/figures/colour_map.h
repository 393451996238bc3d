#pragma once

#include <QColor>
#include <QString>

#include <array>
#include <span>

namespace attn {

enum class ColourMapId { Viridis, Cividis, Magma, Greys, Diverging };

/// 256 perceptually ordered colours for values from 0 to 1. All maps except Diverging are for unsigned values.
class ColourMap {
public:
    /// The shared instance of a map.
    static const ColourMap& of(ColourMapId id);

    /// @param level clamped to 0..1
    QRgb at(float level) const;
    const std::array<QRgb, 256>& table() const { return table_; }

private:
    explicit ColourMap(ColourMapId id);
    std::array<QRgb, 256> table_{};
};

struct ColourMapInfo {
    ColourMapId id;
    const char* key;    ///< for session files and the command line
    const char* title;  ///< marked for translation
    const char* source; ///< who designed it
};

/// The maps for attention patterns, in menu order. Diverging is not one of them.
std::span<const ColourMapInfo> colourMaps();
QString colourMapKey(ColourMapId id);
/// @return Viridis for an unknown key
ColourMapId colourMapFromKey(const QString& key);

/// Black or white, whichever reads better on the colour (WCAG 2.1 relative luminance).
QColor inkOn(QRgb colour);

} // namespace attn
