#include "engine/core/error.h"
#include "engine/data/image_data.h"
#include "engine/io/resample.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/sequence_task.h"
#include "engine/training/tasks/shape_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

// Pictures that a decoder writes value by value, row by row or block by block, as the Image Transformer does.

namespace attn {
namespace {

constexpr std::array<Param, 6> kParams{{
    {"size", "Size", "Pixels per side of a picture", Param::Kind::Integer, 4, 32, 1, 12},
    {"levels", "Levels", "Number of levels of brightness of each channel", Param::Kind::Integer, 2, 64, 1, 4},
    {"colour", "Colour", "Writes red, green and blue of each pixel one after the other", Param::Kind::Toggle, 0, 1, 1,
     0},
    {"kinds", "Kinds", "Number of kinds of drawn shapes: circle, square, triangle, cross, ring", Param::Kind::Integer,
     2, kShapeKinds, 1, 4},
    {"block_height", "Block height",
     "Rows of the blocks that are written one after the other; with 1 the picture is written row by row",
     Param::Kind::Integer, 1, 32, 1, 1},
    {"block_width", "Block width", "Columns of the blocks that are written one after the other", Param::Kind::Integer,
     1, 32, 1, 1},
}};

/// @throws Error if blocks do not fill the picture
WrittenPicture layoutOf(const TaskValues& values) {
    const WrittenPicture layout{.rows = values.integer("size"),
                                .columns = values.integer("size"),
                                .channels = values.flag("colour") ? 3 : 1,
                                .levels = values.integer("levels"),
                                .blockHeight = values.integer("block_height"),
                                .blockWidth = values.integer("block_width")};
    if (layout.rows % layout.blockHeight != 0 || layout.columns % layout.blockWidth != 0)
        throw Error({.what = fmt::format("blocks of {} x {} pixels do not fill a picture of {} x {}",
                                         layout.blockHeight, layout.blockWidth, layout.rows, layout.columns),
                     .where = "task pixels",
                     .hint = "choose a block height and a block width that divide the size"});
    return layout;
}

/// The levels of all channels, "2" or "g2", then the classes: one word each, and none that is another symbol.
std::vector<std::string> symbolsOf(const WrittenPicture& layout, std::span<const std::string> classes) {
    std::vector<std::string> symbols;
    for (const char* channel : {"r", "g", "b"})
        for (int64_t level = 0; level < layout.levels && std::ssize(symbols) < layout.channels * layout.levels; ++level)
            symbols.push_back(fmt::format("{}{}", layout.channels == 1 ? "" : channel, level));
    for (std::string name : classes) {
        std::ranges::replace_if(
            name, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }, '_');
        while (std::ranges::find(symbols, name) != symbols.end()) name = "class_" + name;
        symbols.push_back(std::move(name));
    }
    return symbols;
}

std::vector<std::string> namesOfShapes(int64_t kinds) { return {kShapeNames.begin(), kShapeNames.begin() + kinds}; }

/// The class of a picture, then every value of the picture. The row ends one token later than its targets, so
/// that the model's context holds a whole picture.
class Pixels : public SequenceTask {
public:
    std::optional<WrittenPicture> picture() const override { return layout_; }

protected:
    Pixels(const WrittenPicture& layout, std::span<const std::string> classes, uint64_t seed)
        : SequenceTask(symbolsOf(layout, classes), static_cast<int>(layout.tokens() + 1), seed), layout_(layout) {}

    TaskSequence sequenceOf(int32_t label, const Image& image) const {
        std::vector<int32_t> rowByRow;
        for (int64_t value = 0; value < layout_.values(); ++value) {
            const int64_t pixel = value / layout_.channels, channel = value % layout_.channels;
            rowByRow.push_back(
                levelToken(layout_, channel, intensity(&image.rgb[static_cast<size_t>(pixel * 3)], channel)));
        }
        std::vector<int32_t> levels;
        for (int64_t nth = 0; nth < layout_.pixels(); ++nth) {
            const auto first = rowByRow.begin() + layout_.pixelOf(nth) * layout_.channels;
            levels.insert(levels.end(), first, first + layout_.channels);
        }
        TaskSequence sequence;
        sequence.add(static_cast<int32_t>(layout_.channels * layout_.levels) + label);
        sequence.identity = sequence.tokens; // equal pictures are in one split, in whatever order they are written
        sequence.identity.insert(sequence.identity.end(), rowByRow.begin(), rowByRow.end());
        sequence.addAnswer(levels);
        return sequence;
    }
    const WrittenPicture& layout() const { return layout_; }

private:
    /// Of a channel; of grey pictures, 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), rounded as Pillow does.
    uint8_t intensity(const uint8_t* rgb, int64_t channel) const {
        if (layout_.channels == 3) return rgb[channel];
        return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
    }

    WrittenPicture layout_;
};

class ShapePixels : public Pixels {
public:
    ShapePixels(const TaskValues& values, uint64_t seed)
        : Pixels(layoutOf(values), namesOfShapes(values.integer("kinds")), seed), kinds_(values.integer("kinds")) {}

protected:
    TaskSequence draw(Draws& draws) const override {
        const int kind = draws.below(kinds_);
        return sequenceOf(kind, drawn(draws, static_cast<ShapeKind>(kind)));
    }

private:
    Image drawn(Draws& draws, ShapeKind kind) const {
        const auto share = [&](double least, double most) { return least + (most - least) * draws.below(1001) / 1000; };
        Image image{.height = layout().rows, .width = layout().columns, .rgb = {}};
        const auto ground = static_cast<uint8_t>(draws.between(0, 90));
        image.rgb.assign(static_cast<size_t>(layout().pixels() * 3), ground);
        const auto side = static_cast<double>(layout().columns);
        Colour colour = draws.pick(std::span<const Colour>(kShapeColours));
        if (layout().channels == 1) colour.fill(static_cast<uint8_t>(draws.between(150, 255)));
        drawShape(image, kind, side * share(0.42, 0.58), side * share(0.42, 0.58), side * share(0.3, 0.45),
                  share(-0.3, 0.3), colour);
        return image;
    }

    int kinds_;
};

/// Pictures of a data set, resized to the size that is written.
class StoredPixels : public Pixels {
public:
    StoredPixels(const TaskValues& values, ImageData data, uint64_t seed)
        : Pixels(layoutOf(values), data.names, seed), data_(std::move(data)), splits_(data_.classes.size()) {
        for (const Split split : {Split::Train, Split::Validation, Split::Test})
            for (const uint32_t index : data_.splits[static_cast<size_t>(split)]) splits_[index] = split;
    }

    std::vector<std::filesystem::path> files() const override { return data_.files; }

protected:
    TaskSequence draw(Draws& draws) const override {
        const auto index = static_cast<size_t>(draws.below(static_cast<int>(splits_.size())));
        const Image image =
            resampled(data_.picture(index), {layout().rows, layout().columns}, ResampleFilter::Bilinear);
        TaskSequence sequence = sequenceOf(data_.classes[index], image);
        sequence.split = splits_[index];
        return sequence;
    }

private:
    ImageData data_;
    std::vector<Split> splits_;
};

std::unique_ptr<TaskInstance> makePixels(const TaskValues& values, const TaskSettings& settings) {
    if (settings.data.pictures.empty()) return std::make_unique<ShapePixels>(values, settings.seed);
    const int64_t size = values.integer("size");
    return std::make_unique<StoredPixels>(values, readPictures(settings.data.pictures, {size, size}), settings.seed);
}

} // namespace

constinit const Task kPixelsTask{
    .id = "pixels",
    .title = "Pixels",
    .summary = "Writes a picture pixel by pixel, row by row or block by block, and with colour channel by channel: "
               "circle 0 0 1 "
               "3 ... The pictures are drawn shapes, or those of a folder",
    .hint = "Watch: a head looks at the pixel above the next one, another at the pixel before it. A head that looks at "
            "the first token asks which shape it is.",
    .citation = "Parmar et al. 2018, \"Image Transformer\", arXiv:1802.05751 (pixels and channels one by one, with the "
                "class first); the pictures are ours",
    .params = kParams,
    .metric = Task::Metric::Bits,
    .metricName = "bits per dimension",
    .successLevel = 0.4,
    .withoutData = "drawn shapes",
    .make = makePixels,
    .suggest =
        [](Recipe& recipe) {
            recipe.batch = 16;
            recipe.schedule.finalRate = 1e-4;
        },
};

} // namespace attn
