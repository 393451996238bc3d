#include "app/figures/written_picture_figure.h"

#include "app/figures/read_image.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <limits>
#include <vector>

namespace attn {
namespace {

struct WrittenPictureText {
    Q_DECLARE_TR_FUNCTIONS(attn::WrittenPictureFigure)
};

constexpr int kEnlargement = 8; ///< large enough that smoothing leaves the pixels sharp

/// The number of pixels that have a value.
int64_t pixelsIn(const WrittenPicture& layout, std::span<const TokenInfo> tokens) {
    const int64_t values = std::clamp<int64_t>(std::ssize(tokens) - WrittenPicture::kLeading, 0, layout.values());
    return (values + layout.channels - 1) / layout.channels;
}

/// The picture, with faint checks where nothing is written.
QImage imageOf(const WrittenPicture& layout, std::span<const TokenInfo> tokens) {
    std::vector<int> ids;
    for (const TokenInfo& token : tokens) ids.push_back(token.id);
    const QImage pixels = toQImage(pictureIn(layout, ids)).convertToFormat(QImage::Format_ARGB32);
    QImage image = pixels.scaled(pixels.size() * kEnlargement);
    QPainter painter(&image);
    painter.setCompositionMode(QPainter::CompositionMode_Source);
    constexpr int kCheck = kEnlargement / 2;
    for (int64_t nth = pixelsIn(layout, tokens); nth < layout.pixels(); ++nth) {
        const int64_t pixel = layout.pixelOf(nth);
        for (int check = 0; check < 4; ++check)
            painter.fillRect(static_cast<int>(pixel % layout.columns) * kEnlargement + check % 2 * kCheck,
                             static_cast<int>(pixel / layout.columns) * kEnlargement + check / 2 * kCheck, kCheck,
                             kCheck, QColor(128, 128, 128, check % 2 == check / 2 ? 70 : 35));
    }
    return image;
}

/// The name of a value: "pixel 2, 5", with its channel if it has colours.
QString nameOf(const WrittenPicture& layout, int64_t value) {
    const int64_t pixel = layout.pixelOf(value / layout.channels);
    const QString place =
        WrittenPictureText::tr("pixel %1, %2").arg(pixel / layout.columns).arg(pixel % layout.columns);
    if (layout.channels == 1) return place;
    const QString channels[] = {WrittenPictureText::tr("red"), WrittenPictureText::tr("green"),
                                WrittenPictureText::tr("blue")};
    return WrittenPictureText::tr("%1 of %2").arg(channels[value % layout.channels], place);
}

} // namespace

PatchOverlayFigure writtenPictureFigure(const WrittenPicture& layout, std::span<const TokenInfo> tokens, int query,
                                        std::span<const float> weights) {
    PatchOverlayFigure figure;
    figure.image = imageOf(layout, tokens);
    std::vector<float> sums(static_cast<size_t>(layout.pixels()), 0);
    double elsewhere = 0;
    for (int64_t token = 0; token < std::ssize(weights); ++token) {
        const int64_t value = token - WrittenPicture::kLeading;
        const float weight = weights[static_cast<size_t>(token)];
        if (value < 0 || value >= layout.values())
            elsewhere += static_cast<double>(weight);
        else
            sums[static_cast<size_t>(layout.pixelOf(value / layout.channels))] += weight;
    }
    for (int64_t nth = pixelsIn(layout, tokens); nth < layout.pixels(); ++nth)
        sums[static_cast<size_t>(layout.pixelOf(nth))] = std::numeric_limits<float>::quiet_NaN();
    figure.setValues(static_cast<int>(layout.rows), static_cast<int>(layout.columns), std::move(sums));
    const bool writes = query >= 0 && query < layout.values(); // the last token of a picture writes nothing
    if (writes) figure.marked = static_cast<int>(layout.pixelOf(query / layout.channels));
    figure.title = writes ? WrittenPictureText::tr("Where the model looks to write %1").arg(nameOf(layout, query))
                          : WrittenPictureText::tr("The picture is complete.");
    if (weights.empty())
        figure.note = WrittenPictureText::tr("The attention is being computed.");
    else if (writes)
        figure.note = WrittenPictureText::tr("%1 % of attention goes to the first token, which names the picture")
                          .arg(elsewhere * 100, 0, 'f', 1);
    return figure;
}

int queryOfPixel(const WrittenPicture& layout, int pixel) {
    return static_cast<int>(layout.nthOf(pixel) * layout.channels);
}

} // namespace attn
