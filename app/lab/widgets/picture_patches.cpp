#include "app/lab/widgets/picture_patches.h"

#include <QCoreApplication>
#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

constexpr int kSize = 256;
constexpr int kSamples = 4; ///< samples across and down a patch

QImage blank(const QColor& colour) {
    QImage image(kSize, kSize, QImage::Format_RGB32);
    image.fill(colour);
    return image;
}

QImage drawLandscape() {
    QImage image = blank(Qt::white);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    QLinearGradient sky(0, 0, 0, 180);
    sky.setColorAt(0, QColor(70, 130, 200));
    sky.setColorAt(1, QColor(190, 220, 240));
    painter.fillRect(0, 0, kSize, kSize, sky);
    painter.setBrush(QColor(250, 210, 80));
    painter.drawEllipse(QPointF(190, 60), 30, 30);
    painter.setBrush(QColor(90, 110, 130));
    painter.drawPolygon(QPolygonF({{0, 180}, {70, 80}, {130, 180}}));
    painter.drawPolygon(QPolygonF({{80, 180}, {150, 105}, {220, 180}}));
    painter.setBrush(QColor(80, 150, 70));
    painter.drawRect(0, 170, kSize, kSize - 170);
    painter.setBrush(QColor(180, 60, 50));
    painter.drawRect(50, 180, 50, 45);
    painter.setBrush(QColor(100, 40, 30));
    painter.drawPolygon(QPolygonF({{42, 182}, {75, 150}, {108, 182}}));
    return image;
}

QImage drawShapes() {
    QImage image = blank(QColor(240, 240, 235));
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0, 114, 178));
    painter.drawEllipse(QPointF(75, 75), 50, 50);
    painter.setBrush(QColor(213, 94, 0));
    painter.drawRect(150, 30, 80, 80);
    painter.setBrush(QColor(0, 158, 115));
    painter.drawPolygon(QPolygonF({{25, 225}, {75, 140}, {125, 225}}));
    painter.setBrush(QColor(0, 114, 178));
    painter.drawEllipse(QPointF(190, 185), 40, 40);
    return image;
}

QImage drawStripes() {
    QImage image = blank(QColor(250, 250, 250));
    QPainter painter(&image);
    for (int x = 0; x < kSize; x += 64) painter.fillRect(x, 0, 32, kSize / 2, QColor(20, 20, 20));
    for (int y = kSize / 2; y < kSize; y += 32) painter.fillRect(0, y, kSize, 16, QColor(204, 121, 167));
    return image;
}

constexpr std::array kPictures{
    BuiltInPicture{"landscape", QT_TRANSLATE_NOOP("attn::Picture", "Landscape"), drawLandscape},
    BuiltInPicture{"shapes", QT_TRANSLATE_NOOP("attn::Picture", "Shapes, with two blue circles"), drawShapes},
    BuiltInPicture{"stripes", QT_TRANSLATE_NOOP("attn::Picture", "Stripes"), drawStripes}};

} // namespace

std::span<const BuiltInPicture> builtInPictures() { return kPictures; }

std::optional<QImage> builtInPicture(const QString& name) {
    for (const BuiltInPicture& picture : kPictures)
        if (name == QLatin1String(picture.id)) return picture.draw();
    return {};
}

std::shared_ptr<const TokenFeatures> patchFeatures(const QImage& picture, int rows, int columns) {
    const QImage small =
        picture.convertToFormat(QImage::Format_RGB32)
            .scaled(columns * kSamples, rows * kSamples, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    auto features = std::make_shared<TokenFeatures>(
        TokenFeatures{.tokens = rows * columns, .width = kSamples * kSamples * 3, .values = {}});
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
            for (int y = 0; y < kSamples; ++y)
                for (int x = 0; x < kSamples; ++x) {
                    const QRgb pixel = small.pixel(column * kSamples + x, row * kSamples + y);
                    for (const int channel : {qRed(pixel), qGreen(pixel), qBlue(pixel)})
                        features->values.push_back(static_cast<float>(channel) / 255);
                }
    double mean = 0, squares = 0;
    const auto count = static_cast<double>(features->values.size());
    for (const float value : features->values) mean += static_cast<double>(value) / count;
    for (const float value : features->values) squares += std::pow(static_cast<double>(value) - mean, 2) / count;
    const double deviation = squares > 0 ? std::sqrt(squares) : 1; // 0 for a picture of one colour
    for (float& value : features->values) value = static_cast<float>((static_cast<double>(value) - mean) / deviation);
    return features;
}

} // namespace attn
