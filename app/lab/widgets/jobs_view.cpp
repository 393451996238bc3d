#include "app/lab/widgets/jobs_view.h"

#include "app/lab/widgets/elided_label.h"
#include "app/lab/widgets/widget_makers.h"

#include <QProgressBar>
#include <QToolButton>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace attn {
namespace {

constexpr int kProgressSteps = 1000;

struct ButtonText {
    const char *id, *text, *help;
};
constexpr std::array<ButtonText, 4> kButtons{
    {{"pause", QT_TRANSLATE_NOOP("attn::JobsView", "Pause"), QT_TRANSLATE_NOOP("attn::JobsView", "Pause: %1")},
     {"continue", QT_TRANSLATE_NOOP("attn::JobsView", "Continue"), QT_TRANSLATE_NOOP("attn::JobsView", "Continue: %1")},
     {"stop", QT_TRANSLATE_NOOP("attn::JobsView", "Stop"), QT_TRANSLATE_NOOP("attn::JobsView", "Stop: %1")},
     {"show", QT_TRANSLATE_NOOP("attn::JobsView", "Show"),
      QT_TRANSLATE_NOOP("attn::JobsView", "Show where it can be seen: %1")}}};

} // namespace

class JobsView::Row : public QWidget {
public:
    explicit Row(JobsView& view) : QWidget(&view), progress_(new QProgressBar) {
        title_ = identified(new ElidedLabel, "jobTitle");
        detail_ = identified(new ElidedLabel, "jobDetail");
        detail_->setProperty("hint", true);
        progress_->setRange(0, kProgressSteps);
        progress_->setTextVisible(false);
        progress_->setAccessibleName(JobsView::tr("Progress"));
        auto* row = makeRow({{title_, 1}});
        for (size_t at = 0; at < kButtons.size(); ++at) {
            buttons_[at] = new QToolButton;
            buttons_[at]->setText(JobsView::tr(kButtons[at].text));
            buttons_[at]->setFocusPolicy(Qt::StrongFocus);
            connect(buttons_[at], &QToolButton::clicked, this,
                    [this, &view, at] { emit view.pressed(shown_->key, static_cast<JobButton>(at)); });
            row->addWidget(buttons_[at]);
        }
        makeColumn(this, 0, {row, progress_, detail_});
    }

    void setJob(const JobRow& row) {
        if (std::exchange(shown_, row) == row) return;
        title_->setText(row.title);
        detail_->setText(row.detail);
        setAccessibleName(row.title);
        setAccessibleDescription(row.detail);
        progress_->setVisible(row.fraction >= 0);
        progress_->setValue(static_cast<int>(std::lround(kProgressSteps * std::clamp(row.fraction, 0.0, 1.0))));
        bool losesFocus = false;
        for (size_t at = 0; at < kButtons.size(); ++at) {
            const auto button = static_cast<JobButton>(at);
            QToolButton* widget = buttons_[at];
            const bool isOffered = std::ranges::find(row.buttons, button) != row.buttons.end();
            named(widget, QStringLiteral("job.%1.%2").arg(kButtons[at].id, row.key),
                  JobsView::tr(kButtons[at].help).arg(row.title));
            losesFocus = losesFocus || (widget->hasFocus() && !isOffered);
            widget->setEnabled(!row.isLocked || button == JobButton::Show);
            widget->setVisible(isOffered);
        }
        if (losesFocus) focusAnyButton(); // Pause has become Continue
    }

private:
    void focusAnyButton() {
        for (QToolButton* button : buttons_)
            if (button->isVisibleTo(this) && button->isEnabled()) return button->setFocus();
    }

    std::optional<JobRow> shown_;
    QLabel *title_, *detail_;
    QProgressBar* progress_;
    std::array<QToolButton*, kButtons.size()> buttons_{};
};

JobsView::JobsView(QWidget* parent) : QWidget(parent) {
    remark_ = makeHintLabel("jobsRemark");
    column_ = makeColumn(this, spacing::kGap, {remark_});
    column_->setSpacing(spacing::kWide);
    column_->addStretch(1);
}

void JobsView::setRemark(const QString& remark) {
    remark_->setText(remark);
    remark_->setVisible(!remark.isEmpty());
}

void JobsView::setRows(const std::vector<JobRow>& rows) {
    for (auto each = rows_.begin(); each != rows_.end();) {
        if (std::ranges::find(rows, each->first, &JobRow::key) != rows.end()) {
            ++each;
            continue;
        }
        each->second->hide();
        each->second->deleteLater(); // one of its buttons may have asked for this
        each = rows_.erase(each);
    }
    for (int place = 1; const JobRow& row : rows) { // below the remark
        Row*& widget = rows_[row.key];
        if (!widget) widget = new Row(*this);
        if (column_->indexOf(widget) != place) column_->insertWidget(place, widget);
        widget->setJob(row);
        widget->setVisible(true);
        ++place;
    }
}

} // namespace attn
