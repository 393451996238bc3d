#include "app/figures/tree_figure.h"
#include "tests/figures/painting.h"

using namespace attn;

namespace {

TreeFigure shortTree() {
    TreeFigure figure;
    figure.title = "Tree";
    figure.labels = {"[CLS]", "trees", "grow", "slowly"};
    figure.parents = {0, 2, 2, 2};
    figure.leading = 1;
    return figure;
}

} // namespace

TEST_CASE("tree: its numbers are those of CoNLL-U, and words before the tree have none", "[figures]") {
    const TreeFigure figure = shortTree();
    CHECK(figure.csv() == "number,word,head\r\n1,\"trees\",2\r\n2,\"grow\",0\r\n3,\"slowly\",2\r\n");
    REQUIRE(figure.numbers().size() == 1);
    CHECK(figure.numbers().front().values == std::vector<float>{2, 0, 2});
    CHECK(figure.summary() == "“trees” depends on “grow”, “grow” is the root, “slowly” depends on “grow”.");
    CHECK_FALSE(TreeFigure().hasNumbers());
}

TEST_CASE("tree: an arrow reaches each word from above, the root's from the top, and no other word", "[figures]") {
    const TreeFigure figure = shortTree();
    for (const FigureTheme& theme : {FigureTheme::light(), FigureTheme::dark()}) {
        const QSize size(420, 220);
        const QImage image = painted(figure, theme, size);
        const double step = std::min(size.width() - 8.0, figure.widthNeeded(theme) * 1.5) / 4;
        // The number of pixels of a colour above the words, in the column of a word.
        const auto count = [&](int word, const QColor& colour) {
            const int middle = static_cast<int>(4 + (word + 0.5) * step);
            int found = 0;
            for (int x = middle - 1; x <= middle + 1; ++x)
                for (int y = 40; y < size.height() - 40; ++y) {
                    const QColor at = image.pixelColor(x, y);
                    found += std::abs(at.red() - colour.red()) + std::abs(at.green() - colour.green()) +
                                         std::abs(at.blue() - colour.blue()) <
                                     60
                                 ? 1
                                 : 0;
                }
            return found;
        };
        CHECK(count(0, theme.query) == 0);
        CHECK(count(1, theme.query) > 10);
        CHECK(count(2, theme.accent) > 60); // from the top
        CHECK(count(3, theme.query) > 10);
    }
}
