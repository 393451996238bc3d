#pragma once

#include "app/lab/common/theme.h"
#include "app/lab/workbench/workbench.h"

namespace attn {

/// Draws figures in the theme of the application, now and whenever it changes.
template <class... View> void followTheme(Workbench& bench, View*... views) {
    const auto follow = [&bench](auto* view) {
        const auto use = [view](ThemeId theme) { view->setTheme(figureTheme(theme)); };
        QObject::connect(&bench, &Workbench::themeChanged, view, use);
        use(bench.theme());
    };
    (follow(views), ...);
}

} // namespace attn
