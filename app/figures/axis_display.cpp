#include "app/figures/axis_display.h"

#include "app/figures/read_image.h"

#include <QCoreApplication>
#include <QPainter>

#include <utility>

namespace attn {
namespace {

struct AxisText {
    Q_DECLARE_TR_FUNCTIONS(attn::AxisDisplay)
};

} // namespace

QString AxisDisplay::nameOf(int row) const {
    const auto at = static_cast<size_t>(row);
    return at < names.size() ? names[at] : QString::number(row);
}

PatchOverlayFigure AxisDisplay::overlay(std::vector<float> patches, const LayerLayout* layout) const {
    PatchOverlayFigure figure;
    if (picture.isNull()) return figure;
    figure.image = picture;
    figure.setValues(gridRows, gridColumns, std::move(patches));
    if (layout && layout->tokens < std::ssize(names)) figure.tokens = layout->tokenOf;
    return figure;
}

AxisDisplay inputAxis(const ModelInfo& model, std::vector<QString> tokens, QImage picture) {
    if (model.inputAxis() != AxisKind::Patches) return {.names = std::move(tokens), .picture = {}};
    AxisDisplay axis{.names = {},
                     .picture = std::move(picture),
                     .gridRows = static_cast<int>(model.grid.height),
                     .gridColumns = static_cast<int>(model.grid.width)};
    for (const std::string& token : model.prefix) axis.names.push_back(QString::fromStdString(token));
    for (int row = 0; row < axis.gridRows; ++row)
        for (int column = 0; column < axis.gridColumns; ++column)
            axis.names.push_back(AxisText::tr("patch %1, %2").arg(row).arg(column));
    return axis;
}

AxisDisplay PictureRun::axis() const {
    QImage picture = toQImage(*seen).convertToFormat(QImage::Format_RGB32);
    QPainter painter(&picture);
    for (const int patch : hidden) {
        const auto columns = static_cast<int>(model->grid.width);
        painter.fillRect(patch % columns * model->patch, patch / columns * model->patch, model->patch, model->patch,
                         QColor(127, 127, 127));
    }
    painter.end();
    return inputAxis(*model, {}, std::move(picture));
}

} // namespace attn
