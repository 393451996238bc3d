#include "app/lab/shell/screenshot.h"

#include "app/figures/export_figure.h"
#include "app/lab/shell/main_window.h"

#include <QApplication>
#include <QTimer>

#include <cstdio>

namespace attn {
namespace {

constexpr int kSettleMs = 400; ///< for results that arrive after the first picture, such as the selected cell
constexpr int kTimeoutMs = 60'000;

void quitWithError(const QString& text) {
    std::fprintf(stderr, "attention-lab: %s\n", text.toLocal8Bit().constData());
    QApplication::exit(1);
}

} // namespace

bool hasPicture(const Snapshot& snapshot, const Workbench& bench) {
    const bool isIdle = snapshot.status.activity == Activity::Idle && snapshot.model;
    if (!snapshot.sequence) return snapshot.answer || (isIdle && !snapshot.picture);
    return snapshot.next && (snapshot.grid || (isIdle && (snapshot.sequence->tokens.empty() || !bench.wantsGrid())));
}

void takeScreenshotAndQuit(MainWindow& window, const QString& path) {
    auto* settle = new QTimer(&window);
    settle->setSingleShot(true);
    settle->setInterval(kSettleMs);
    QObject::connect(settle, &QTimer::timeout, &window, [&window, path] {
        if (const auto failure = writePng(window.grab().toImage(), path))
            return quitWithError(QString::fromStdString(failure->sentence()));
        QApplication::exit(0);
    });
    QObject::connect(&window.workbench(), &Workbench::snapshotShown, settle,
                     [&window, settle](const std::shared_ptr<const Snapshot>& snapshot) {
                         if (hasPicture(*snapshot, window.workbench()) && snapshot->status.activity == Activity::Idle)
                             settle->start();
                         else
                             settle->stop();
                     });
    // Another model may take the place of what was asked for: that is not its picture.
    QObject::connect(&window.notices(), &Notices::failureShown, settle, &quitWithError);
    QTimer::singleShot(kTimeoutMs, &window, [] { quitWithError("the window showed no picture within a minute"); });
}

} // namespace attn
