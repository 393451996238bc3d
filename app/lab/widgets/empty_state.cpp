#include "app/lab/widgets/empty_state.h"

#include "app/lab/widgets/widget_makers.h"

#include <QAction>

#include <utility>

namespace attn {

EmptyState::EmptyState(const QString& id, const QString& text, QWidget* parent)
    : QWidget(parent), text_(makeTextLabel(id, text)), buttons_(new QVBoxLayout) {
    text_->setAlignment(Qt::AlignCenter);
    makeColumn(this, spacing::kWide, {room(), text_, buttons_, room()})->setSpacing(spacing::kWide);
}

void EmptyState::setText(const QString& text) { text_->setText(text); }

QPushButton* EmptyState::offer(const QString& text, const QString& help, std::function<void()> act) {
    auto* button = helped(new QPushButton(text),
                          QStringLiteral("%1.%2").arg(text_->objectName(), QString::number(buttons_->count() + 1)),
                          help.isEmpty() ? text : help);
    button->setAccessibleName(text);
    connect(button, &QPushButton::clicked, this, std::move(act));
    buttons_->addWidget(button, 0, Qt::AlignHCenter);
    return button;
}

void EmptyState::offerAction(const char* action, const QString& text) {
    offer(text, {}, [this, action] {
        if (auto* found = window()->findChild<QAction*>(QString::fromLatin1(action))) found->trigger();
    });
}

} // namespace attn
