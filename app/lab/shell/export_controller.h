#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/shell/widget_export.h"
#include "app/lab/shell/window_parts.h"

#include <QObject>

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

class Panel;
struct Snapshot;

/// Saves and copies the current figure, its numbers, what a training run does to it, and activations. The current
/// figure is that of the panel that was used last, else the first with numbers.
class ExportController : public QObject {
    Q_OBJECT

public:
    explicit ExportController(const WindowParts& parts);

    /// @param path its suffix says in which format
    void exportFigure(const QString& path, const ExportSheet& sheet = {});
    void chooseSheet(); ///< asks for the format, the page and a caption
    /// Exports the current figure at every checkpoint of the active training run: a .gif, or numbered .png files.
    void exportRun(const QString& path);
    void chooseFigure(const QString& suffix); ///< asks for the path, as the next two
    void chooseRun();
    void chooseCapture(); ///< of activations
    void copyFigure();
    void tellSaved(const Snapshot& snapshot); ///< what the session has written since it was last called
    bool cancel();                            ///< @return whether anything was being written

private:
    /// Says so if another export is running. @param path of the export that has to wait
    bool isExporting(const QString& path);
    void exportRun(const QString& run, const std::vector<std::filesystem::path>& all, const QString& path);
    Panel& currentPanel() const;
    QString caption(const Panel& panel) const;          ///< that is suggested
    QString suggestedName(const QString& suffix) const; ///< for the file of the current figure
    Provenance provenance(const Panel& panel) const;

    WindowParts parts_;
    Workbench& bench_ = parts_.bench;
    PanelDocks& panels_ = parts_.panels;
    Notices& notices_ = parts_.notices;
    BackgroundTask exporting_;
    std::string told_; ///< the last path of tellSaved()
};

} // namespace attn
