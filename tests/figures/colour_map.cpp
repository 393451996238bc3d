#include "app/figures/colour_map.h"

#include "tests/support/catch.h"

using namespace attn;

namespace {

int difference(QRgb a, QRgb b) {
    return std::max({std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))});
}

double luminance(QRgb c) { return 0.2126 * qRed(c) + 0.7152 * qGreen(c) + 0.0722 * qBlue(c); }

} // namespace

TEST_CASE("colour maps: follow the published tables at their quarters", "[figures]") {
    struct Row {
        ColourMapId id;
        QRgb colours[5];
    };
    // Entries 0, 64, 128, 191, 255 of matplotlib's tables.
    const Row rows[] = {{ColourMapId::Viridis, {0x440154, 0x3b528b, 0x21918c, 0x5ec962, 0xfde725}},
                        {ColourMapId::Cividis, {0x00224e, 0x434e6c, 0x7d7c78, 0xbcae6c, 0xfee838}},
                        {ColourMapId::Magma, {0x000004, 0x51127c, 0xb73779, 0xfc8961, 0xfcfdbf}}};
    for (const Row& row : rows)
        for (size_t i = 0; i < 5; ++i) {
            INFO(colourMapKey(row.id).toStdString() << " at quarter " << i);
            CHECK(difference(ColourMap::of(row.id).at(static_cast<float>(i) / 4), row.colours[i]) <=
                  13); // the fits are within 5 %
        }
}

TEST_CASE("colour maps: grow in brightness, or fall for greys", "[figures]") {
    for (const ColourMapInfo& info : colourMaps()) {
        const auto& table = ColourMap::of(info.id).table();
        const double sign = info.id == ColourMapId::Greys ? -1 : 1;
        for (size_t i = 1; i < table.size(); ++i)
            CHECK(sign * (luminance(table[i]) - luminance(table[i - 1])) > -1.5); // 1.5: rounding of bytes
    }
}

TEST_CASE("colour maps: the diverging one is neutral in the middle and clamps outside", "[figures]") {
    const ColourMap& map = ColourMap::of(ColourMapId::Diverging);
    CHECK(difference(map.at(0.5f), 0xf7f7f7) <= 2);
    CHECK(qBlue(map.at(0.1f)) > qRed(map.at(0.1f)));
    CHECK(qRed(map.at(0.9f)) > qBlue(map.at(0.9f)));
    CHECK(map.at(-3) == map.at(0));
    CHECK(map.at(7) == map.at(1));
}

TEST_CASE("colour maps: keys name their maps, unknown ones fall back to viridis", "[figures]") {
    for (const ColourMapInfo& info : colourMaps()) CHECK(colourMapFromKey(colourMapKey(info.id)) == info.id);
    CHECK(colourMapFromKey("rainbow") == ColourMapId::Viridis);
}

TEST_CASE("colour maps: ink is readable on every colour", "[figures]") {
    CHECK(inkOn(qRgb(255, 255, 255)) == QColor(Qt::black));
    CHECK(inkOn(qRgb(0, 0, 0)) == QColor(Qt::white));
    CHECK(inkOn(ColourMap::of(ColourMapId::Viridis).at(1)) == QColor(Qt::black));
    CHECK(inkOn(ColourMap::of(ColourMapId::Viridis).at(0)) == QColor(Qt::white));
}
