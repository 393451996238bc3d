#pragma once

#include "app/figures/figure.h"
#include "app/lab/dialogs/export_dialog.h"
#include "engine/core/failure.h"

#include <QImage>
#include <QStringList>

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

class QWidget;

namespace attn {

/// Draws a widget as it is on screen, at twice the resolution.
QImage pictureOf(QWidget& widget);

/// The rest of an export, for another thread. It writes nothing if `isStopped` is true before it begins to write.
/// @return why the file could not be written
using Export = std::function<std::optional<Failure>(const std::atomic<bool>& isStopped)>;

/// Draws a figure on the page that was chosen, or else on one that shows all of it; or another widget as it is on
/// screen. The export encodes and writes it. .png files hold pixels, .svg and .pdf files hold vector graphics.
Export pictureExport(QWidget& widget, const QString& path, const ExportSheet& sheet = {});

/// A run of a model that numbers come from.
struct RunOrigin {
    std::vector<QString> tokens{}; ///< of the input, or of the target; empty for a picture
    std::vector<QString> source{}; ///< tokens of the text that an encoder reads
    QString model{}, modelPath{};
    QString run{};     ///< "as opened", "changed", "original" or "difference"
    QString changes{}; ///< to the model, as the JSON of session files
};

/// Where numbers come from. A NumPy archive holds it beside them, so that they can be understood and made again.
struct Provenance {
    RunOrigin run{};
    std::optional<RunOrigin> second{};  ///< that it is compared with
    std::optional<int> layer{}, head{}; ///< whose numbers they are
    QString site{};                     ///< of this head, as in the names of hooks
    QString program{};                  ///< "Attention Lab 0.3.0"
    QString device{};
};

/// Draws a figure as a web page that holds its numbers and where they come from.
/// @return null if the widget shows no figure
Export webPageExport(const QWidget& widget, const QString& title, const Provenance& from, const QString& path);

/// Forms and writes numbers, through a temporary file: as text (.csv), or else as a NumPy archive (.npz) with the
/// arrays `tokens`, `source_tokens`, `layer`, `site`, `head`, `model`, `model_path`, `program`, `device`, `run` and
/// `changes` besides; those of the second run are named `second_tokens` and so on.
Export numbersExport(ExportNumbers numbers, Provenance from, const QString& path);

/// A name for a file without a folder: parts joined by hyphens, without characters that file systems refuse.
QString fileNameOf(const QStringList& parts, const QString& suffix);

/// Asks for the path of a file to write without blocking the window.
void choosePath(QWidget& parent, const QString& title, const QString& filter, const QString& suffix,
                std::function<void(const QString&)> chosen, const QString& suggested = {});

} // namespace attn
