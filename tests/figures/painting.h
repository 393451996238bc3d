#pragma once

#include "app/figures/figure.h"
#include "tests/support/catch.h"
#include "tests/support/samples.h"

#include <QImage>

namespace attn {

/// The figure at one image pixel per logical pixel.
QImage painted(const Figure& figure, const FigureTheme& theme, const QSize& size);

} // namespace attn
