#pragma once

#include <QDialog>
#include <QImage>
#include <QList>
#include <QWidget>

class QPushButton;

namespace attn {

/// A square to draw on. A drag draws a line. Arrow keys move the pen, and Space puts it on the paper or lifts it.
class DrawingCanvas : public QWidget {
    Q_OBJECT

public:
    explicit DrawingCanvas(const QColor& paper, QWidget* parent = nullptr);

    const QImage& drawing() const { return drawing_; }
    void setDrawing(const QImage& drawing); ///< adds no undo step
    void setPenWidth(int pixels) { penWidth_ = pixels; }
    void setPenColour(const QColor& colour) { colour_ = colour; }
    void clear();
    void undo();
    bool canUndo() const { return !former_.isEmpty(); }

signals:
    void changed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QRectF page() const; ///< where the drawing is on the widget
    QPointF toDrawing(const QPointF& position) const;
    void begin(); ///< begins an undo step
    void lineTo(const QPointF& end);
    void say(); ///< tells screen readers the position of the pen

    QColor paper_, colour_;
    QImage drawing_;
    QList<QImage> former_; ///< drawings before the last undo steps
    QPointF pen_;          ///< in pixels of the drawing
    int penWidth_ = 1;
    bool isDown_ = false; ///< whether arrow keys draw
};

/// Draws a picture for a model.
class DrawingPad : public QDialog {
    Q_OBJECT

public:
    struct Options {
        bool isDark = false;  ///< whether the paper is black
        bool isColour = true; ///< whether the model sees colours
        QImage first{};       ///< the picture to begin with; null: a blank one
    };
    explicit DrawingPad(const Options& options, QWidget* parent = nullptr);

signals:
    void drawn(const QImage& picture); ///< the user accepted this picture
};

} // namespace attn
