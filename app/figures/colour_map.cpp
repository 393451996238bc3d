#include "app/figures/colour_map.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn {
namespace {

using Rgb = std::array<double, 3>;

constexpr ColourMapInfo kMaps[] = {
    {ColourMapId::Viridis, "viridis", QT_TRANSLATE_NOOP("attn::ColourMap", "Viridis"), "van der Walt and Smith 2015"},
    {ColourMapId::Cividis, "cividis", QT_TRANSLATE_NOOP("attn::ColourMap", "Cividis"),
     "Nuñez et al. 2018, arXiv:1712.01662"},
    {ColourMapId::Magma, "magma", QT_TRANSLATE_NOOP("attn::ColourMap", "Magma"), "van der Walt and Smith 2015"},
    {ColourMapId::Greys, "greys", QT_TRANSLATE_NOOP("attn::ColourMap", "Greys"),
     "ColorBrewer, Harrower and Brewer 2003"},
};

/// Coefficients of rising powers.
template <size_t N> Rgb polynomial(const std::array<Rgb, N>& coefficients, double t) {
    Rgb value{};
    for (size_t power = N; power-- > 0;)
        for (size_t c = 0; c < 3; ++c) value[c] = value[c] * t + coefficients[power][c];
    return value;
}

// Fits of degree 6 (least maximum error) to matplotlib's tables, by Matt Zucker (CC0, shadertoy.com/view/WlfXRN).
constexpr std::array<Rgb, 7> kViridis = {{{0.2777273272234177, 0.005407344544966578, 0.3340998053353061},
                                          {0.1050930431085774, 1.404613529898575, 1.384590162594685},
                                          {-0.3308618287255563, 0.214847559468213, 0.09509516302823659},
                                          {-4.634230498983486, -5.799100973351585, -19.33244095627987},
                                          {6.228269936347081, 14.17993336680509, 56.69055260068105},
                                          {4.776384997670288, -13.74514537774601, -65.35303263337234},
                                          {-5.435455855934631, 4.645852612178535, 26.3124352495832}}};
constexpr std::array<Rgb, 7> kMagma = {{{-0.002136485053939582, -0.000749655052795221, -0.005386127855323933},
                                        {0.2516605407371642, 0.6775232436837668, 2.494026599312351},
                                        {8.353717279216625, -3.577719514958484, 0.3144679030132573},
                                        {-27.66873308576866, 14.26473078096533, -13.64921318813922},
                                        {52.17613981234068, -27.94360607168351, 12.94416944238394},
                                        {-50.76852536473588, 29.04658282127291, 4.23415299384598},
                                        {18.65570506591883, -11.48977351997711, -5.601961508734096}}};
// The fit of d3-scale-chromatic's interpolateCividis, in 0..255.
constexpr std::array<Rgb, 6> kCividis = {{{-4.54, 32.49, 81.24},
                                          {-35.34, 170.73, 442.36},
                                          {2381.73, 52.82, -2482.43},
                                          {-6402.7, -131.46, 6167.24},
                                          {7024.72, 176.58, -6614.94},
                                          {-2710.57, -67.37, 2475.67}}};
// ColorBrewer's Greys (9 classes) and RdBu (11 classes, turned so that blue is negative).
constexpr std::array<QRgb, 9> kGreys = {0xffffff, 0xf0f0f0, 0xd9d9d9, 0xbdbdbd, 0x969696,
                                        0x737373, 0x525252, 0x252525, 0x000000};
constexpr std::array<QRgb, 11> kDiverging = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                             0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f};

Rgb between(std::span<const QRgb> anchors, double t) {
    const double place = t * static_cast<double>(anchors.size() - 1);
    const size_t low = std::min(static_cast<size_t>(place), anchors.size() - 2);
    const double part = place - static_cast<double>(low);
    const auto mix = [&](auto channel) {
        return (channel(anchors[low]) * (1 - part) + channel(anchors[low + 1]) * part) / 255;
    };
    return {mix([](QRgb c) { return qRed(c); }), mix([](QRgb c) { return qGreen(c); }),
            mix([](QRgb c) { return qBlue(c); })};
}

Rgb colourOf(ColourMapId id, double t) {
    switch (id) {
    case ColourMapId::Viridis:
        return polynomial(kViridis, t);
    case ColourMapId::Magma:
        return polynomial(kMagma, t);
    case ColourMapId::Cividis: {
        Rgb value = polynomial(kCividis, t);
        for (double& channel : value) channel /= 255;
        return value;
    }
    case ColourMapId::Greys:
        return between(kGreys, t);
    case ColourMapId::Diverging:
        break;
    }
    return between(kDiverging, t);
}

int toByte(double channel) { return static_cast<int>(std::lround(std::clamp(channel, 0.0, 1.0) * 255)); }

} // namespace

ColourMap::ColourMap(ColourMapId id) {
    for (size_t i = 0; i < table_.size(); ++i) {
        const Rgb colour = colourOf(id, static_cast<double>(i) / 255);
        table_[i] = qRgb(toByte(colour[0]), toByte(colour[1]), toByte(colour[2]));
    }
}

const ColourMap& ColourMap::of(ColourMapId id) {
    static const ColourMap maps[] = {ColourMap(ColourMapId::Viridis), ColourMap(ColourMapId::Cividis),
                                     ColourMap(ColourMapId::Magma), ColourMap(ColourMapId::Greys),
                                     ColourMap(ColourMapId::Diverging)};
    return maps[static_cast<size_t>(id)];
}

QRgb ColourMap::at(float level) const {
    return table_[static_cast<size_t>(std::lround(std::clamp(level, 0.0f, 1.0f) * 255))];
}

std::span<const ColourMapInfo> colourMaps() { return kMaps; }

QString colourMapKey(ColourMapId id) {
    for (const ColourMapInfo& map : kMaps)
        if (map.id == id) return QString::fromLatin1(map.key);
    return QStringLiteral("diverging");
}

ColourMapId colourMapFromKey(const QString& key) {
    for (const ColourMapInfo& map : kMaps)
        if (key == QLatin1String(map.key)) return map.id;
    return ColourMapId::Viridis;
}

QColor inkOn(QRgb colour) {
    const auto linear = [](int byte) {
        const double c = byte / 255.0;
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double luminance =
        0.2126 * linear(qRed(colour)) + 0.7152 * linear(qGreen(colour)) + 0.0722 * linear(qBlue(colour));
    return luminance > 0.179 ? QColor(Qt::black) : QColor(Qt::white); // 0.179: where both have the same contrast
}

} // namespace attn
