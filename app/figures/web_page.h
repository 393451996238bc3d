#pragma once

#include "app/figures/figure.h"

#include <QByteArray>
#include <QSize>
#include <QString>

#include <utility>
#include <vector>

namespace attn {

struct FigureTheme;

/// A web page in one file that shows a figure without a network, in the reader's light or dark theme. A heatmap is
/// drawn from its numbers, and the pointer or the arrow keys read its cells. Other figures are pictures. The page
/// contains the numbers as JSON, in the element "data".
/// @param about   names and values that are listed below the figure, such as the model
/// @param page    the size of a picture, in logical pixels
QByteArray webPage(const Figure& figure, const QString& title, const std::vector<std::pair<QString, QString>>& about,
                   const QSize& page);

} // namespace attn
