#include "app/lab/common/fit_screen.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

TEST_CASE("fit screen: a window from a larger screen fits, and one that fits stays as it is", "[lab]") {
    const QRect room(100, 50, 1024, 700);
    QWidget window;
    window.setGeometry(400, 300, 1280, 800);
    fitInto(window, room);
    CHECK(room.contains(window.geometry()));
    CHECK(window.width() == room.width());
    CHECK(window.height() < room.height()); // its title has room, too
    const QRect before(300, 200, 400, 300);
    window.setGeometry(before);
    fitInto(window, room);
    CHECK(window.geometry() == before);
    window.setGeometry(1700, 1000, 400, 300); // on a screen that is gone
    fitInto(window, room);
    CHECK(room.contains(window.geometry()));
}
