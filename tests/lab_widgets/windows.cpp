#include "tests/lab_widgets/windows.h"

namespace attn {
namespace {

/// Makes the application object; needs a display, as CTest's run_gui.sh gives.
struct WidgetApplication : CatchListener {
    using CatchListener::CatchListener;
    void testRunStarting(const Catch::TestRunInfo&) override {
        static int argc = 1;
        static char name[] = "test_lab_widgets";
        static char* argv[] = {name, nullptr};
        // Lives until the process ends: Qt's own statics may still need it.
        static auto* application = new QApplication(argc, argv);
        Q_UNUSED(application)
    }
};
CATCH_REGISTER_LISTENER(WidgetApplication)

} // namespace
} // namespace attn
