#include "app/lab/shell/scope_controller.h"

#include "app/lab/shell/notices.h"

#include <QCoreApplication>

#include <utility>

namespace attn {

ScopeController::ScopeController(Workbench& bench, Notices& notices, QString device, ScopeStarter starter)
    : bench_(bench), notices_(notices), device_(std::move(device)), starter_(std::move(starter)) {
    if (!starter_)
        starter_ = [this](const QStringList& arguments) {
            return startScope(QCoreApplication::applicationDirPath(), arguments, this,
                              [this](const Failure& ended) { notices_.fail(ended); });
        };
    connect(&bench_, &Workbench::headSelected, this, &ScopeController::show);
}

void ScopeController::open() {
    if (bench_.snapshot()->model->readsSource)
        return notices_.fail({.what = "the second window shows models with one stack of layers, not yet an encoder "
                                      "with a decoder",
                              .where = bench_.snapshot()->model->name,
                              .hint = "look at the model in this window"});
    if (const auto failure =
            starter_(scopeArguments(*bench_.snapshot(), bench_.selection(), device_, mirror_.socketPath())))
        notices_.fail(*failure);
}

void ScopeController::show() {
    if (bench_.snapshot()) mirror_.show(*bench_.snapshot(), bench_.selection(), bench_.theme() != ThemeId::Dark);
}

} // namespace attn
