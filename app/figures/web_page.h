#pragma once

#include "app/figures/figure.h"

#include <QByteArray>
#include <QSize>
#include <QString>

#include <utility>
#include <vector>

namespace attn {

struct FigureTheme;

/// A web page of one file that shows a figure without a network, light or dark as the reader prefers. A heatmap is
/// drawn from its numbers, and the pointer or the arrow keys read its cells; other figures are pictures. The numbers
/// lie in the page as JSON, in the element "data".
/// @param about   names and values that are listed below the figure, such as the model
/// @param page    the size of a picture, in logical pixels
QByteArray webPage(const Figure& figure, const QString& title, const std::vector<std::pair<QString, QString>>& about,
                   const QSize& page);

} // namespace attn
