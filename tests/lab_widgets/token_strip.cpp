#include "app/lab/widgets/token_strip.h"

#include "tests/lab_widgets/windows.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

std::vector<QString> manyLabels(int count) {
    std::vector<QString> labels;
    for (int i = 0; i < count; ++i) labels.push_back(QStringLiteral("␣w%1").arg(i));
    return labels;
}

} // namespace

TEST_CASE("token strip: tokens wrap inside and never overlap", "[lab]") {
    TokenStrip strip;
    strip.setLabels({"<s>", "世界", "שלום", "😀", "␣antidisestablishmentarianism-and-more-than-fits-on-one-line", "↵",
                     "␣a", "مرحبا"});
    for (int width : {120, 300, 900}) {
        present(strip, {width, 200});
        for (int i = 0; i < strip.count(); ++i) {
            const QRect rect = strip.tokenRect(i);
            CHECK(rect.left() >= 0);
            CHECK(rect.right() < strip.viewport()->width());
            CHECK(strip.tokenAt(rect.center()) == i);
            for (int j = 0; j < i; ++j) CHECK_FALSE(rect.intersects(strip.tokenRect(j)));
        }
    }
}

TEST_CASE("token strip: hovering and clicking name the token", "[lab]") {
    TokenStrip strip;
    strip.setLabels(manyLabels(20));
    present(strip, {400, 120});
    QSignalSpy hovered(&strip, &TokenStrip::tokenHovered), clicked(&strip, &TokenStrip::tokenClicked);
    hover(*strip.viewport(), strip.tokenRect(7).center());
    REQUIRE(QTest::qWaitFor([&] { return hovered.count() > 0; }, 60'000));
    CHECK(hovered.last()[0] == 7);
    QTest::mouseClick(strip.viewport(), Qt::LeftButton, {}, strip.tokenRect(3).center());
    REQUIRE(clicked.count() == 1);
    CHECK(clicked[0][0] == 3);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(strip.viewport(), &leave);
    CHECK(hovered.last()[0] == -1);
}

TEST_CASE("token strip: keys move along the text, bring it into sight and click", "[lab]") {
    TokenStrip strip;
    strip.setLabels(manyLabels(300));
    present(strip, {300, 80});
    strip.verticalScrollBar()->setValue(0);
    QSignalSpy hovered(&strip, &TokenStrip::tokenHovered), clicked(&strip, &TokenStrip::tokenClicked);
    for (int i = 0; i < 60; ++i) QTest::keyClick(&strip, Qt::Key_Right);
    CHECK(hovered.last()[0] == 59);
    CHECK(strip.viewport()->rect().contains(strip.tokenRect(59)));
    QTest::keyClick(&strip, Qt::Key_Return);
    REQUIRE(clicked.count() == 1);
    CHECK(clicked[0][0] == 59);
}

TEST_CASE("token strip: marks and shades are drawn in the roles' colours", "[lab]") {
    TokenStrip strip;
    const FigureTheme theme = FigureTheme::light();
    strip.setLabels(manyLabels(5));
    present(strip, {500, 60});
    strip.setMarks(1, 3);
    strip.setShades({0, 0, 1, 0, 0});
    const QImage image = strip.viewport()->grab().toImage();
    CHECK(colourAt(image, QPointF(strip.tokenRect(1).left() + 1, strip.tokenRect(1).center().y())) ==
          theme.query.rgb());
    CHECK(colourAt(image, QPointF(strip.tokenRect(3).left() + 1, strip.tokenRect(3).center().y())) == theme.key.rgb());
    CHECK(colourAt(image, QPointF(strip.tokenRect(2).left() + 2, strip.tokenRect(2).center().y())) == theme.key.rgb());
}

TEST_CASE("token strip: takes the lines it needs, at most three", "[lab]") {
    TokenStrip strip;
    strip.setLabels(manyLabels(2));
    present(strip, {300, 60});
    const int one = strip.sizeHint().height();
    strip.setLabels(manyLabels(200));
    CHECK(strip.sizeHint().height() > 2 * one);
    CHECK(strip.sizeHint().height() < 4 * one);
    strip.setLabels({});
    CHECK(strip.sizeHint().height() == one);
}
