#pragma once

#include "engine/data/draws.h"
#include "engine/io/image_preprocessing.h"
#include "engine/training/tasks/task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A picture and its class, or its several labels or numbers.
struct LabelledImage {
    Image picture{};
    int32_t label = 0;
    std::vector<float> numbers{}; ///< in place of the class: 1 or 0, or a number, for each label
    bool operator==(const LabelledImage&) const = default;
};

/// Random changes to training pictures, which show each picture in many variants.
struct Augmentation {
    bool flips = false; ///< mirrors half of the pictures left to right
    int shift = 0;      ///< largest shift in pixels, in both directions; new pixels have the colour of the border
    double crop = 1;    ///< smallest side of the crop that is enlarged again, as a share of the picture's
    bool operator==(const Augmentation&) const = default;
};

/// A random variant of a picture. @param draws random numbers for this picture
Image augmented(const Image& picture, const Augmentation& augmentation, Draws& draws);

/// A task with pictures of one size and their classes. Results of calls depend only on their arguments. Calls are const
/// and thread-safe.
class ImageTaskInstance {
public:
    virtual ~ImageTaskInstance() = default;

    const ImagePreprocessing& preprocessing() const { return preprocessing_; } ///< resizes to size(), normalises
    ImageSize size() const { return *preprocessing_.resize; }                  ///< size of every picture
    int64_t channels() const { return preprocessing_.channels; }
    const std::vector<std::string>& labels() const { return labels_; }

    /// A picture without augmentation. @param index below rowCount(), if that has a value
    virtual LabelledImage example(Split split, uint64_t index) const = 0;
    /// The number of pictures in a split; none: endless.
    virtual std::optional<uint64_t> rowCount(Split) const { return std::nullopt; }
    /// The files that were read.
    virtual std::vector<std::filesystem::path> files() const { return {}; }
    /// Training picture n, augmented with the settings of the task. Each pass over a finite split has another order.
    LabelledImage trainingExample(uint64_t n) const;

protected:
    /// Subclasses call settle() as soon as examples can be drawn.
    ImageTaskInstance(std::vector<std::string> labels, const ImageSize& size, int64_t channels,
                      const Augmentation& augmentation, uint64_t seed);
    /// Measures mean and deviation of each channel over training pictures, for normalisation.
    void settle();

private:
    std::vector<std::string> labels_;
    ImagePreprocessing preprocessing_;
    Augmentation augmentation_;
    uint64_t seed_;
};

/// The parameters "flip", "shift" and "crop" of tasks with a data set.
Augmentation augmentationOf(const TaskValues& values);

/// The place of an index in a random permutation of 0 to count - 1, computed without a table. @param key the seed
/// @source Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains": a Feistel network with cycle walking
uint64_t shuffledIndex(uint64_t index, uint64_t count, uint64_t key);

} // namespace attn
