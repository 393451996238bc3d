#include "app/figures/formula.h"
#include "app/figures/figure_theme.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/part.h"
#include "tests/support/catch.h"

#include <QImage>

using namespace attn;

namespace {

QString html(const char* text) { return Formula(QString::fromUtf8(text)).html(); }

QFont font() { return FigureTheme::light(20).textFont(); }

/// The dark pixels of a drawn formula, by column.
std::vector<int> inkOf(const QString& text) {
    const Formula formula(text);
    const QSizeF size = formula.sizeFor(2000, font());
    QImage image(static_cast<int>(size.width()) + 8, static_cast<int>(size.height()) + 8, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    formula.paint(painter, QRectF(QPointF(2, 2), image.size()), font(), Qt::black);
    painter.end();
    std::vector<int> ink(static_cast<size_t>(image.width()), 0);
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (qGray(image.pixel(x, y)) < 128) ++ink[static_cast<size_t>(x)];
    return ink;
}

} // namespace

TEST_CASE("formula: subscripts, powers, roots and fractions are read from plain text", "[figures]") {
    CHECK(html("q_i . k_j") == "<b>q</b><sub><i>i</i></sub> · <b>k</b><sub><i>j</i></sub>");
    CHECK(html("x_{l+1}") == "<b>x</b><sub><i>l</i>+1</sub>");
    CHECK(html("z_i^h") == "<b>z</b><sub><i>i</i></sub><sup><i>h</i></sup>");
    CHECK(html("2^(-8h/H)") == "2<sup>−8<i>h</i>/<i>H</i></sup>");
    CHECK(html("2^(-8(h+1)/H)") == "2<sup>−8(<i>h</i>+1)/<i>H</i></sup>");
    CHECK(html("sum_{j<=i} a") == "Σ<sub><i>j</i>≤<i>i</i></sub>  <i>a</i>");
    CHECK(html("a = b c / sqrt(D) + 1") == "<i>a</i> = (<i>b</i> <i>c</i>) / √<i>D</i> + 1");
    CHECK(html("g x / |x|") == "(<i>g</i> <b>x</b>) / |<b>x</b>|");
    CHECK(html("sigma(W_G q_i)") == "<i>σ</i>(<b>W</b><sub><i>G</i></sub> <b>q</b><sub><i>i</i></sub>)");
    CHECK(html("1e5") == "10<sup>5</sup>");
    CHECK(html("S_i / (p . n), t") == "<i>S</i><sub><i>i</i></sub> / (<i>p</i> · <i>n</i>), <i>t</i>");
    CHECK(html("the block's row") == "the block’s row");
    CHECK(Formula("q < g or q_i", false).html() == "<i>q</i> &lt; <i>g</i> or <b>q</b><sub><i>i</i></sub>");
}

TEST_CASE("formula: a fraction is taller than its line, and has a bar", "[figures]") {
    const double line = Formula("a b").sizeFor(2000, font()).height();
    CHECK(Formula("a / b").sizeFor(2000, font()).height() > 1.6 * line);
    CHECK(Formula("a / b").sizeFor(2000, font()).width() < Formula("a = b").sizeFor(2000, font()).width());
    // Every column below the root's line and the fraction's bar has ink.
    const std::vector<int> ink = inkOf("a / sqrt(D D D D)");
    CHECK(std::ranges::count_if(ink, [](int pixels) { return pixels > 1; }) > static_cast<int>(ink.size()) - 24);
}

TEST_CASE("formula: a long one is broken into lines that fit", "[figures]") {
    const Formula formula(
        QStringLiteral("y = (1 - z) x + z h, z = sigma(W_z u + U_z x - b_g), u = max(0, f(norm(x)))"));
    const QSizeF whole = formula.sizeFor(5000, font()), broken = formula.sizeFor(300, font());
    CHECK(broken.width() <= 300);
    CHECK(broken.height() > 1.5 * whole.height());
}

TEST_CASE("formula: those of all parts are set without signs of plain text", "[figures]") {
    std::vector<const Part*> parts(partCatalogue().begin(), partCatalogue().end());
    CHECK(parts.size() > 60);
    for (const Part* part : parts) {
        INFO(part->id);
        const auto text = QString::fromStdString(std::string(part->formula));
        const QString set = Formula(text, part->slot != Slot::Mask).html();
        CHECK_FALSE(set.contains("sqrt"));
        CHECK_FALSE(set.contains("sum_"));
        CHECK_FALSE(set.contains('_'));
        CHECK_FALSE(set.contains('^'));
        CHECK_FALSE(set.contains("sigma"));
        CHECK(set.count("(") == set.count(")"));
        CHECK(Formula(text).sizeFor(400, font()).width() <= 400);
    }
}
