#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"
#include "engine/training/tasks/shape_drawing.h"

#include <fmt/format.h>

#include <array>

// Pictures that a decoder writes value by value, row by row, as the Image Transformer does.

namespace attn {
namespace {

constexpr std::array<Param, 4> kParams{{
    {"size", "Size", "Pixels per side of a picture", Param::Kind::Integer, 4, 32, 1, 12},
    {"levels", "Levels", "Number of levels of brightness of each channel", Param::Kind::Integer, 2, 64, 1, 4},
    {"colour", "Colour", "Writes red, green and blue of each pixel one after the other", Param::Kind::Toggle, 0, 1, 1,
     0},
    {"kinds", "Kinds", "Number of kinds of shapes: circle, square, triangle, cross, ring", Param::Kind::Integer, 2,
     kShapeKinds, 1, 4},
}};

WrittenPicture layoutOf(const TaskValues& values) {
    return {.rows = values.integer("size"),
            .columns = values.integer("size"),
            .channels = values.flag("colour") ? 3 : 1,
            .levels = values.integer("levels")};
}

/// The levels of all channels, "2" or "g2", then the kinds of shapes.
std::vector<std::string> symbolsOf(const WrittenPicture& layout, int64_t kinds) {
    std::vector<std::string> symbols;
    for (const char* channel : {"r", "g", "b"})
        for (int64_t level = 0; level < layout.levels && std::ssize(symbols) < layout.channels * layout.levels; ++level)
            symbols.push_back(fmt::format("{}{}", layout.channels == 1 ? "" : channel, level));
    symbols.insert(symbols.end(), kShapeNames.begin(), kShapeNames.begin() + kinds);
    return symbols;
}

/// The kind of a shape, then every value of a picture that shows it. The row ends one token later than its targets, so
/// that the model's context holds a whole picture.
class Pixels : public SequenceTask {
public:
    Pixels(const TaskValues& values, uint64_t seed)
        : SequenceTask(symbolsOf(layoutOf(values), values.integer("kinds")),
                       static_cast<int>(layoutOf(values).tokens() + 1), seed),
          layout_(layoutOf(values)), kinds_(values.integer("kinds")) {}

    std::optional<WrittenPicture> picture() const override { return layout_; }

protected:
    TaskSequence draw(Draws& draws) const override {
        const int kind = draws.below(kinds_);
        const Image image = drawn(draws, static_cast<ShapeKind>(kind));
        TaskSequence sequence;
        sequence.add(static_cast<int32_t>(layout_.channels * layout_.levels) + kind);
        std::vector<int32_t> levels;
        for (int64_t value = 0; value < layout_.values(); ++value) {
            const int64_t pixel = value / layout_.channels, channel = value % layout_.channels;
            levels.push_back(levelToken(layout_, channel, image.rgb[static_cast<size_t>(pixel * 3 + channel)]));
        }
        sequence.addAnswer(levels);
        sequence.identity = sequence.tokens; // equal pictures are in one split
        return sequence;
    }

private:
    Image drawn(Draws& draws, ShapeKind kind) const {
        const auto share = [&](double least, double most) { return least + (most - least) * draws.below(1001) / 1000; };
        Image image{.height = layout_.rows, .width = layout_.columns, .rgb = {}};
        const auto ground = static_cast<uint8_t>(draws.between(0, 90));
        image.rgb.assign(static_cast<size_t>(layout_.pixels() * 3), ground);
        const auto side = static_cast<double>(layout_.columns);
        Colour colour = draws.pick(std::span<const Colour>(kShapeColours));
        if (layout_.channels == 1) colour.fill(static_cast<uint8_t>(draws.between(150, 255)));
        drawShape(image, kind, side * share(0.42, 0.58), side * share(0.42, 0.58), side * share(0.3, 0.45),
                  share(-0.3, 0.3), colour);
        return image;
    }

    WrittenPicture layout_;
    int kinds_;
};

} // namespace

constinit const Task kPixelsTask{
    .id = "pixels",
    .title = "Pixels",
    .summary = "Writes a picture of a shape pixel by pixel, row by row, and with colour channel by channel: circle 0 0 "
               "1 3 ...",
    .hint = "Watch: a head looks at the pixel above the next one, another at the pixel before it. A head that looks at "
            "the first token asks which shape it is.",
    .citation = "Parmar et al. 2018, \"Image Transformer\", arXiv:1802.05751 (pixels and channels one by one, with the "
                "class first); the pictures are ours",
    .params = kParams,
    .metric = Task::Metric::Bits,
    .metricName = "bits per dimension",
    .successLevel = 0.4,
    .make = makeSeeded<Pixels>,
};

} // namespace attn
