#include "app/lab/shell/quit_on_signals.h"

#include "engine/system/signals.h"

#include <QSocketNotifier>

#include <csignal>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace attn {
namespace {

int wakeUp = -1; // a signal handler can reach nothing else; set once, before there is a handler

void wake(int) { (void)!write(wakeUp, "", 1); }

} // namespace

void onQuitSignal(QObject* context, std::function<void()> quit) {
    std::signal(SIGXFSZ, SIG_IGN);
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) return; // without it the program ends at once, as other programs do
    for (const int end : ends) {
        fcntl(end, F_SETFD, FD_CLOEXEC);
        fcntl(end, F_SETFL, O_NONBLOCK);
    }
    wakeUp = ends[1];
    auto* notifier = new QSocketNotifier(ends[0], QSocketNotifier::Read, context);
    QObject::connect(notifier, &QSocketNotifier::activated, context, [notifier, quit = std::move(quit)] {
        notifier->setEnabled(false);
        quit();
    });
    handleSignals({SIGINT, SIGTERM, SIGHUP}, wake);
}

} // namespace attn
