#include "app/figures/picture_run.h"

#include "app/figures/read_image.h"

#include <QPainter>

namespace attn {

AxisDisplay PictureRun::axis() const {
    QImage picture = toQImage(*seen).convertToFormat(QImage::Format_RGB32);
    QPainter painter(&picture);
    for (const int patch : hidden) {
        const auto columns = static_cast<int>(model->grid.width);
        painter.fillRect(patch % columns * model->patch, patch / columns * model->patch, model->patch, model->patch,
                         QColor(127, 127, 127));
    }
    painter.end();
    return patchAxis(*model, std::move(picture));
}

} // namespace attn
