#include "app/lab/widgets/banner.h"

#include "app/lab/common/icons.h"
#include "app/lab/widgets/widget_makers.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>

namespace attn {

Banner::Banner(QWidget* parent)
    : QFrame(parent), row_(new QHBoxLayout(this)), symbol_(plainLabel({}, this)), label_(plainLabel({}, this)) {
    setObjectName("banner");
    row_->setContentsMargins(spacing::kWide, spacing::kGap, spacing::kGap, spacing::kGap);
    label_->setWordWrap(true);
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    row_->addWidget(symbol_);
    row_->addWidget(label_, 1);
    copy_ = addButton(tr("Copy"), tr("Copy this message to the clipboard"));
    connect(copy_, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(label_->text()); });
    copy_->setIcon(themedIcon("copy"));
    copy_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    auto* close = addButton({}, tr("Dismiss this message"));
    close->setIcon(themedIcon("close"));
    connect(close, &QToolButton::clicked, this, &Banner::dismiss);
}

QToolButton* Banner::addButton(const QString& text, const QString& toolTip) {
    auto* button = new QToolButton(this);
    button->setText(text);
    button->setToolTip(toolTip);
    button->setAccessibleName(toolTip);
    button->setAutoRaise(true);
    row_->addWidget(button);
    return button;
}

void Banner::present(Kind kind, const QString& text, const QList<Choice>& choices) {
    kind_ = kind;
    setProperty("kind", kind == Kind::Failure ? "failure" : kind == Kind::Offer ? "offer" : "success");
    style()->unpolish(this);
    style()->polish(this);
    symbol_->setText(kind == Kind::Failure ? QStringLiteral("⚠")
                     : kind == Kind::Offer ? QStringLiteral("↺")
                                           : QStringLiteral("✓"));
    symbol_->setAccessibleName(kind == Kind::Failure ? tr("Failure")
                               : kind == Kind::Offer ? tr("Offer")
                                                     : tr("Success"));
    label_->setText(text);
    copy_->setVisible(kind == Kind::Failure);
    // Deleted later, because a choice may present the next message inside its own click.
    for (QToolButton* button : choices_) {
        button->hide();
        button->deleteLater();
    }
    choices_.clear();
    for (const Choice& choice : choices) {
        auto* button = addButton(choice.text, choice.toolTip);
        button->setAutoRaise(false);
        row_->removeWidget(button);
        row_->insertWidget(2 + static_cast<int>(choices_.size()), button);
        choices_ << button;
        connect(button, &QToolButton::clicked, this, [this, action = choice.action] {
            dismiss();
            action();
        });
    }
    emit presented();
}

void Banner::dismiss() { emit dismissed(); }

void Banner::withdraw(const QString& text) {
    if (text == this->text()) dismiss();
}

int Banner::heightForWidth(int width) const { return layout()->totalHeightForWidth(width); }

QString Banner::text() const { return label_->text(); }

} // namespace attn
