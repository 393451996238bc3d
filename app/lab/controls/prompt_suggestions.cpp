#include "app/lab/controls/prompt_suggestions.h"

#include "app/lab/widgets/widget_makers.h"
#include "engine/system/assets.h"

#include <QEvent>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QToolButton>

namespace attn {
namespace {

std::vector<std::pair<QString, QString>> promptsOf(const QString& path) {
    const QString prefix = QStringLiteral("builtin:");
    if (!path.startsWith(prefix)) return {};
    const QString folder =
        QString::fromStdString((assetsFolder("models") / path.mid(prefix.size()).toStdString()).string());
    QFile file(folder + "/prompts.json");
    if (!file.open(QFile::ReadOnly)) return {};
    std::vector<std::pair<QString, QString>> prompts;
    const QJsonArray entries = QJsonDocument::fromJson(file.readAll()).array();
    for (const QJsonValue& each : entries) prompts.emplace_back(each["title"].toString(), each["prompt"].toString());
    return prompts;
}

} // namespace

PromptSuggestions::PromptSuggestions(QWidget* parent) : QWidget(parent), rest_(new QToolButton) {
    named(rest_, "suggestion.rest", tr("More prompts to try"));
    rest_->setText(tr("More"));
    rest_->setProperty("chip", true);
    rest_->setFocusPolicy(Qt::TabFocus);
    rest_->setPopupMode(QToolButton::InstantPopup);
    rest_->setMenu(new QMenu(rest_));
    row_ = makeRow(this, 0, {rest_, room()});
    row_->setSpacing(spacing::kTight);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    hide();
}

void PromptSuggestions::showFor(const QString& path) {
    for (QToolButton* old : buttons_) delete old;
    buttons_.clear();
    prompts_ = promptsOf(path);
    for (const auto& [title, prompt] : prompts_) {
        auto* button = helped(new QToolButton, "suggestion." + title, tr("Try this prompt: %1").arg(prompt));
        button->setText(title);
        button->setProperty("chip", true);
        button->setFocusPolicy(Qt::TabFocus);
        connect(button, &QToolButton::clicked, this, [this, prompt = prompt] { emit chosen(prompt); });
        row_->insertWidget(static_cast<int>(buttons_.size()), button);
        buttons_.push_back(button);
    }
    setVisible(!prompts_.empty());
    fit();
}

/// Shows the buttons that fit beside the menu of the rest.
void PromptSuggestions::fit() {
    const auto widthOf = [](QWidget* button) {
        button->ensurePolished(); // a style sheet changes its size
        return button->sizeHint().width() + spacing::kTight;
    };
    int all = 0;
    for (QToolButton* button : buttons_) all += widthOf(button);
    int left = width() + spacing::kTight;
    const bool hasRest = all > left;
    if (hasRest) left -= widthOf(rest_);
    rest_->menu()->clear();
    for (size_t i = 0; i < buttons_.size(); ++i) {
        left -= widthOf(buttons_[i]);
        buttons_[i]->setVisible(left >= 0);
        if (left < 0) rest_->menu()->addAction(prompts_[i].first, this, [this, i] { emit chosen(prompts_[i].second); });
    }
    rest_->setVisible(hasRest);
}

void PromptSuggestions::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void PromptSuggestions::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit();
}

} // namespace attn
