#include "app/lab/widgets/drawing_pad.h"

#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSpinBox>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr int kPixels = 256; ///< per side of a drawing: as many as most models read
constexpr int kShown = 320;  ///< smallest side of the paper on screen
constexpr int kStep = 8;     ///< pixels of a drawing that an arrow key moves the pen
constexpr qsizetype kMostSteps = 50;

QIcon swatch(const QColor& colour) {
    QPixmap pixmap(16, 16);
    pixmap.fill(Qt::gray); // a border, in case the colour equals the list's background
    QPainter(&pixmap).fillRect(1, 1, 14, 14, colour);
    return pixmap;
}

} // namespace

DrawingCanvas::DrawingCanvas(const QColor& paper, QWidget* parent)
    : QWidget(parent), paper_(paper), drawing_(kPixels, kPixels, QImage::Format_RGB32),
      pen_(kPixels / 2.0, kPixels / 2.0) {
    drawing_.fill(paper_);
    setMinimumSize(kShown, kShown);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::CrossCursor);
    say();
}

void DrawingCanvas::setDrawing(const QImage& drawing) {
    drawing_ = drawing.scaled(kPixels, kPixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
                   .convertToFormat(QImage::Format_RGB32);
    update();
}

void DrawingCanvas::clear() {
    begin();
    drawing_.fill(paper_);
    update();
    emit changed();
}

void DrawingCanvas::undo() {
    if (former_.isEmpty()) return;
    drawing_ = former_.takeLast();
    update();
    emit changed();
}

QRectF DrawingCanvas::page() const {
    const double side = std::min(width(), height());
    return {(width() - side) / 2, (height() - side) / 2, side, side};
}

QPointF DrawingCanvas::toDrawing(const QPointF& position) const {
    return (position - page().topLeft()) * (kPixels / page().width());
}

void DrawingCanvas::begin() {
    former_.append(drawing_);
    if (former_.size() > kMostSteps) former_.removeFirst();
}

void DrawingCanvas::lineTo(const QPointF& end) {
    QPainter painter(&drawing_);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour_, penWidth_, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    if (end == pen_)
        painter.drawPoint(end);
    else
        painter.drawLine(pen_, end);
    pen_ = end;
    update();
    emit changed();
}

void DrawingCanvas::say() {
    setAccessibleDescription(tr("The pen is %1, %2 % from the left and %3 % from the top.")
                                 .arg(isDown_ ? tr("on the paper") : tr("above the paper"),
                                      QString::number(qRound(100 * pen_.x() / kPixels)),
                                      QString::number(qRound(100 * pen_.y() / kPixels))));
}

void DrawingCanvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHints(QPainter::SmoothPixmapTransform | QPainter::Antialiasing);
    painter.drawImage(page(), drawing_);
    painter.setPen(hasFocus() ? palette().color(QPalette::Highlight) : palette().color(QPalette::Mid));
    painter.drawRect(page().adjusted(0.5, 0.5, -0.5, -0.5));
    if (!hasFocus()) return;
    // The pen of the arrow keys: a ring, filled while it draws.
    const double scale = page().width() / kPixels, radius = std::max(3.0, penWidth_ * scale / 2);
    if (isDown_) painter.setBrush(palette().color(QPalette::Highlight));
    painter.drawEllipse(page().topLeft() + pen_ * scale, radius, radius);
}

void DrawingCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    isDown_ = false;
    begin();
    pen_ = toDrawing(event->position());
    lineTo(pen_);
}

void DrawingCanvas::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) lineTo(toDrawing(event->position()));
}

void DrawingCanvas::keyPressEvent(QKeyEvent* event) {
    const auto isKey = [&](Qt::Key key) { return event->key() == key ? kStep : 0; };
    const QPointF move(isKey(Qt::Key_Right) - isKey(Qt::Key_Left), isKey(Qt::Key_Down) - isKey(Qt::Key_Up));
    if (event->key() == Qt::Key_Space) {
        isDown_ = !isDown_;
        if (isDown_) begin();
        if (isDown_) lineTo(pen_);
    } else if (!move.isNull()) {
        const QPointF end(std::clamp<double>(pen_.x() + move.x(), 0, kPixels),
                          std::clamp<double>(pen_.y() + move.y(), 0, kPixels));
        if (isDown_) lineTo(end);
        pen_ = end;
    } else {
        return QWidget::keyPressEvent(event);
    }
    say();
    update();
}

void DrawingCanvas::focusInEvent(QFocusEvent*) { update(); }

void DrawingCanvas::focusOutEvent(QFocusEvent*) {
    isDown_ = false;
    say();
    update();
}

DrawingPad::DrawingPad(const Options& options, QWidget* parent) : QDialog(parent) {
    setObjectName("drawingPad");
    setWindowTitle(tr("Draw a picture"));
    const QColor paper = options.isDark ? Qt::black : Qt::white, ink = options.isDark ? Qt::white : Qt::black;
    auto* canvas = named(new DrawingCanvas(paper), "drawing", tr("Drawing"),
                         tr("Drag to draw. With the keyboard, arrow keys move the pen; Space puts it on the paper or "
                            "lifts it"));
    if (!options.first.isNull()) canvas->setDrawing(options.first);
    canvas->setPenColour(ink);
    auto* width =
        named(new WholeBox, "penWidth", tr("Pen width"), tr("The width of the pen, in pixels of the drawing"));
    width->setRange(2, 64);
    connect(width, &QSpinBox::valueChanged, canvas, &DrawingCanvas::setPenWidth);
    width->setValue(20); // of 256: like the strokes of the digits that models are trained on
    auto* colour = named(new QComboBox, "penColour", tr("Colour"), tr("The colour of the pen"));
    const std::pair<QString, QColor> colours[]{{tr("white"), Qt::white},
                                               {tr("black"), Qt::black},
                                               {tr("red"), QColor(220, 40, 40)},
                                               {tr("orange"), QColor(240, 140, 30)},
                                               {tr("yellow"), QColor(240, 220, 40)},
                                               {tr("green"), QColor(40, 170, 70)},
                                               {tr("blue"), QColor(40, 90, 220)},
                                               {tr("brown"), QColor(130, 80, 40)}};
    const qsizetype shades = options.isColour ? std::ssize(colours) : 2; // a grey model does not distinguish colours
    for (qsizetype at = 0; at < shades; ++at)
        colour->addItem(swatch(colours[at].second), colours[at].first, colours[at].second);
    colour->setCurrentIndex(colour->findData(ink));
    connect(colour, &QComboBox::currentIndexChanged, canvas,
            [canvas, colour] { canvas->setPenColour(colour->currentData().value<QColor>()); });
    auto* undo = helped(new QPushButton(tr("Undo")), "drawingUndo", tr("Take back the last line"));
    undo->setShortcut(QKeySequence::Undo);
    undo->setEnabled(false);
    auto* clear =
        helped(new QPushButton(tr("Clear")), "drawingClear", tr("Take a blank sheet. Undo brings back this one"));
    connect(undo, &QPushButton::clicked, canvas, &DrawingCanvas::undo);
    connect(clear, &QPushButton::clicked, canvas, &DrawingCanvas::clear);
    connect(canvas, &DrawingCanvas::changed, undo, [undo, canvas] { undo->setEnabled(canvas->canUndo()); });
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    auto* use = helped(buttons->addButton(tr("Use this picture"), QDialogButtonBox::AcceptRole), "drawingUse",
                       tr("Give the drawing to the model"));
    for (QPushButton* button : {undo, clear}) button->setAutoDefault(false);
    use->setDefault(true);
    connect(buttons, &QDialogButtonBox::accepted, this, [this, canvas] {
        emit drawn(canvas->drawing());
        accept();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    makeColumn(this, spacing::kWide,
               {{canvas, 1},
                makeRow({labelFor(width, tr("Pen width")), width, labelFor(colour, tr("Colour")), colour, room(), undo,
                         clear}),
                buttons});
    canvas->setFocus();
}

} // namespace attn
