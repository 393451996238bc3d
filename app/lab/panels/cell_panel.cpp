#include "app/lab/panels/cell_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/widgets/cell_view.h"
#include "app/lab/widgets/flow_layout.h"

#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

namespace attn {

CellPanel::CellPanel(PanelContext& context, QWidget* parent)
    : Panel(parent), context_(context), query_(new QSpinBox), key_(new QSpinBox), view_(new CellView(this)) {
    auto* column = new QVBoxLayout(this);
    auto* row = new FlowLayout;
    const auto addSpin = [&](QSpinBox* spin, const char* name, const QString& title, const QString& toolTip) {
        auto* label = new QLabel(title);
        label->setBuddy(spin);
        spin->setObjectName(QString::fromLatin1(name));
        spin->setRange(0, 0);
        spin->setEnabled(false);
        spin->setAccessibleName(toolTip);
        spin->setToolTip(toolTip);
        row->addWidget(label);
        row->addWidget(spin);
        connect(spin, &QSpinBox::valueChanged, this, [this] { ask(); });
    };
    addSpin(query_, "cellQuery", tr("&Query"), tr("Position of the token that looks"));
    addSpin(key_, "cellKey", tr("&Key"), tr("Position of the token that is looked at"));
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(row);
    column->addWidget(view_, 1);

    connect(&context_, &PanelContext::headSelected, this, [this](int layer, int head) {
        layer_ = layer;
        head_ = head;
    });
    connect(&context_, &PanelContext::themeChanged, this,
            [this](ThemeId theme) { view_->setTheme(figureTheme(theme)); });
    connect(&context_, &PanelContext::shownRunChanged, this, &CellPanel::showExplanation);
    view_->setTheme(figureTheme(context_.theme()));
}

void CellPanel::ask() {
    context_.post(CellRequest{.site = layer_, .head = head_, .query = query_->value(), .key = key_->value()});
}

void CellPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewSequence = !snapshot_ || snapshot_->sequence != snapshot->sequence;
    snapshot_ = snapshot;
    const QSignalBlocker quietQuery(query_), quietKey(key_);
    if (isNewSequence) {
        view_->setLabels(tokenLabels(snapshot->sequence.get()));
        const int count = snapshot->sequence ? static_cast<int>(snapshot->sequence->tokens.size()) : 0;
        for (QSpinBox* spin : {query_, key_}) {
            spin->setRange(0, std::max(0, count - 1));
            spin->setEnabled(count > 0);
        }
    }
    showExplanation();
    if (snapshot->explanation == explanation_) return;
    explanation_ = snapshot->explanation;
    if (!explanation_) return;
    layer_ = explanation_->site;
    head_ = explanation_->head;
    if (!query_->hasFocus()) query_->setValue(explanation_->query);
    if (!key_->hasFocus()) key_->setValue(explanation_->key);
}

void CellPanel::showExplanation() {
    if (!snapshot_) return;
    const UneditedViews* compared = context_.compared(*snapshot_);
    view_->setExplanation(snapshot_->explanation, compared ? compared->explanation : nullptr);
}

QWidget* CellPanel::figure() { return view_; }

ExportNumbers CellPanel::numbers() const { return numbersOf(view_->figure()); }

} // namespace attn
