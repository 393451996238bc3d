#pragma once

#include "app/lab/widgets/widget_makers.h"

#include <QEvent>
#include <QLabel>

namespace attn {

/// A sentence in the place of a widget that only locks hide, while it is hidden.
class LockNote : public QObject {
public:
    /// @param name of the label
    static QLabel* make(const QString& name, const QString& text, QWidget* content) {
        QLabel* label = makeHintLabel(name, text);
        label->hide();
        content->installEventFilter(new LockNote(label, content));
        return label;
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::HideToParent || event->type() == QEvent::ShowToParent)
            label_->setVisible(content_->isHidden());
        return QObject::eventFilter(watched, event);
    }

private:
    LockNote(QLabel* label, QWidget* content) : QObject(label), label_(label), content_(content) {}

    QLabel* label_;
    QWidget* content_;
};

} // namespace attn
