#include "app/lab/shell/banner_stack.h"

#include "app/lab/common/motion.h"
#include "app/lab/widgets/widget_makers.h"

#include <QEvent>
#include <QMainWindow>
#include <QMenuBar>
#include <QStatusBar>

#include <algorithm>

namespace attn {
namespace {

constexpr int kExpiryMs = 6'000, kFailureMs = 30'000;  ///< a failure says what to do, and takes longer to read
constexpr int kWidest = 720, kMargin = spacing::kWide; ///< pixels

} // namespace

BannerStack::BannerStack(QMainWindow& window) : QObject(&window), window_(window), status_(*window.statusBar()) {
    window_.installEventFilter(this);
    status_.installEventFilter(this);
    connect(&slide_, &QVariantAnimation::valueChanged, this, &BannerStack::place);
}

Banner* BannerStack::add(const char* name, const QString& title) {
    auto* holder = spoken(new QWidget(&window_), name, title);
    auto* banner = new Banner(holder);
    makeColumn(holder, 0, {banner});
    holder->hide();
    auto* expiry = new QTimer(holder);
    expiry->setSingleShot(true);
    connect(expiry, &QTimer::timeout, banner, [banner, expiry] {
        if (banner->underMouse()) return expiry->start(kExpiryMs);
        banner->dismiss();
    });
    const Entry entry{holder, banner, expiry};
    entries_.push_back(entry);
    connect(banner, &Banner::presented, this, [this, entry] { present(entry); });
    connect(banner, &Banner::dismissed, this, [this, holder, expiry] {
        expiry->stop();
        holder->hide();
        place();
    });
    return banner;
}

void BannerStack::present(const Entry& entry) {
    const bool isSuccess = entry.banner->kind() == Banner::Kind::Success;
    entry.expiry->stop();
    if (entry.banner->kind() != Banner::Kind::Offer) entry.expiry->start(isSuccess ? kExpiryMs : kFailureMs);
    for (const Entry& other : entries_) // what failed before is over
        if (isSuccess && other.banner->kind() == Banner::Kind::Failure && other.holder->isVisible())
            other.banner->dismiss();
    sliding_ = entry.holder;
    slide_.stop();
    slide_.setDuration(motionMs());
    slide_.setStartValue(24);
    slide_.setEndValue(0);
    entry.holder->show();
    slide_.start();
    place();
}

void BannerStack::place() {
    const int width = window_.width() - 2 * kMargin;
    int bottom = window_.height() - (status_.height() - status_.contentsMargins().top()) - spacing::kTight,
        reserved = 0;
    for (const Entry& entry : entries_) {
        if (entry.holder->isHidden() || isAtTop(entry)) continue;
        const int height = entry.banner->heightForWidth(width);
        const int offset = entry.holder == sliding_ ? slide_.currentValue().toInt() : 0;
        entry.holder->setGeometry(kMargin, bottom - height + offset, width, height);
        entry.holder->raise();
        bottom -= height + kMargin / 2;
        reserved += height + kMargin / 2;
    }
    reserve(reserved);
    placeSuccesses();
}

int BannerStack::beginOfTop() const {
    const QMenuBar* menus = window_.findChild<QMenuBar*>(QString(), Qt::FindDirectChildrenOnly);
    if (!menus || !menus->isVisible() || menus->actions().isEmpty()) return window_.width();
    return menus->actionGeometry(menus->actions().back()).right() + kMargin;
}

bool BannerStack::isAtTop(const Entry& entry) const {
    constexpr int kLeast = 320; ///< pixels; a narrower text would cover what is below the menus
    return entry.banner->kind() == Banner::Kind::Success && window_.width() - beginOfTop() - kMargin >= kLeast;
}

void BannerStack::placeSuccesses() {
    const int width = std::min(kWidest, window_.width() - beginOfTop() - kMargin);
    for (const Entry& entry : entries_) {
        if (entry.holder->isHidden() || !isAtTop(entry)) continue;
        const int offset = entry.holder == sliding_ ? slide_.currentValue().toInt() : 0;
        entry.holder->setGeometry(window_.width() - kMargin - width, spacing::kTight - offset, width,
                                  entry.banner->heightForWidth(width));
        entry.holder->raise();
    }
}

void BannerStack::reserve(int height) {
    if (status_.contentsMargins().top() == height) return;
    status_.setContentsMargins(0, height, 0, 0);
    status_.updateGeometry();
}

bool BannerStack::eventFilter(QObject* watched, QEvent* event) {
    static constexpr QEvent::Type kMoves[] = {QEvent::Resize, QEvent::LayoutRequest, QEvent::Move, QEvent::Show,
                                              QEvent::Hide};
    if (std::ranges::find(kMoves, event->type()) != std::end(kMoves)) place();
    return QObject::eventFilter(watched, event);
}

} // namespace attn
