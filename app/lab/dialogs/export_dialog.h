#pragma once

#include "app/figures/figure.h"

#include <QDialog>
#include <QSize>

#include <memory>
#include <optional>

class QComboBox;
class QLabel;
class QPlainTextEdit;
class QSpinBox;

namespace attn {

/// What an export draws: the page and the text below the figure.
struct ExportSheet {
    std::optional<QSize> page{}; ///< in logical pixels; a picture has twice as many. None: as on screen
    QString caption{};           ///< empty: none
};

/// Chooses how to save a figure: the format, the size of the page and a caption, with a preview of the page.
class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// @param figure null: the panel is saved as it is on screen
    /// @param title of the panel
    /// @param onScreen the size of the view in pixels
    /// @param formats suffixes of the formats in which the panel can be saved, such as "png"
    ExportDialog(std::shared_ptr<const Figure> figure, const FigureTheme& theme, const QSize& onScreen,
                 const QStringList& formats, const QString& title, const QString& caption, QWidget* parent);

    QString suffix() const;
    ExportSheet sheet() const;

private:
    void addSizes();
    void showSize();        ///< in the fields for the size of one's own
    void showPreview();     ///< and what the format can hold
    bool drawsPage() const; ///< else the format holds numbers

    std::shared_ptr<const Figure> figure_;
    FigureTheme theme_;
    QSize onScreen_;
    QComboBox *format_, *size_;
    QSpinBox *width_, *height_;
    QPlainTextEdit* caption_;
    QLabel *preview_, *explanation_;
};

} // namespace attn
