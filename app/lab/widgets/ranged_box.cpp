#include "app/lab/widgets/ranged_box.h"

#include "app/lab/widgets/widget_makers.h"

#include <QAccessible>
#include <QCoreApplication>
#include <QPointer>
#include <QTimer>

namespace attn {
namespace {

constexpr int kNoteMs = 6000;

/// Lies over the window, below its box or above it, until the box is typed in again or is hidden.
class RangeNote : public QObject {
public:
    explicit RangeNote(QAbstractSpinBox& box) : QObject(&box), box_(box), label_(plainLabel({}, box.window())) {
        label_->setObjectName("rangeNote");
        label_->setAutoFillBackground(true);
        label_->setBackgroundRole(QPalette::ToolTipBase);
        label_->setForegroundRole(QPalette::ToolTipText);
        label_->setFrameShape(QFrame::Box);
        label_->setMargin(spacing::kTight);
        label_->setWordWrap(true);
        label_->setAttribute(Qt::WA_TransparentForMouseEvents);
        box.installEventFilter(this);
        timer_.setSingleShot(true);
        connect(&timer_, &QTimer::timeout, label_, &QWidget::hide);
    }
    ~RangeNote() override { delete label_; }

    void show(const QString& text) {
        if (!label_ || label_->window() != box_.window()) return; // the box was moved to another window
        label_->setText(text);
        const QRect room = label_->parentWidget()->rect();
        const int width = std::min(label_->fontMetrics().horizontalAdvance(text) + 4 * spacing::kGap, room.width()),
                  height = label_->heightForWidth(width);
        const QPoint below = box_.mapTo(box_.window(), QPoint(0, box_.height() + 2));
        const int y = below.y() + height <= room.height() ? below.y() : below.y() - box_.height() - height - 4;
        label_->setGeometry(std::clamp(below.x(), 0, std::max(room.width() - width, 0)), y, width, height);
        label_->raise();
        label_->show();
        QAccessibleEvent alert(label_, QAccessible::Alert);
        QAccessible::updateAccessibility(&alert);
        timer_.start(kNoteMs);
    }

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        const bool ends = event->type() == QEvent::Hide || event->type() == QEvent::KeyPress;
        if (ends && label_) label_->hide();
        return false;
    }

private:
    QAbstractSpinBox& box_;
    QPointer<QLabel> label_;
    QTimer timer_;
};

} // namespace

void noteReplaced(const QAbstractSpinBox& box, const QString& typed, const QString& held, int side) {
    const auto text = [](const char* sentence) { return QCoreApplication::translate("attn::RangedBox", sentence); };
    const QString sentence = text(side > 0   ? "%1 is the largest number here; %2 is above it."
                                  : side < 0 ? "%1 is the smallest number here; %2 is below it."
                                             : "This box cannot hold %2; %1 is the nearest number that it can.")
                                 .arg(held, typed);
    auto* shown = const_cast<QAbstractSpinBox*>(&box); // QValidator asks constant boxes
    // After what the key or the click does besides, such as hiding the note.
    QTimer::singleShot(0, shown, [shown, sentence] {
        if (!shown->isVisible()) return;
        auto* note = dynamic_cast<RangeNote*>(shown->findChild<QObject*>("noteOfRange", Qt::FindDirectChildrenOnly));
        if (!note) {
            note = new RangeNote(*shown);
            note->setObjectName("noteOfRange");
        }
        note->show(sentence);
    });
}

} // namespace attn
