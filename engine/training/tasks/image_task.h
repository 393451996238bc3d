#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/training/tasks/draws.h"
#include "engine/training/tasks/task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct LabelledImage {
    Image picture{};
    int32_t label = 0;
    bool operator==(const LabelledImage&) const = default;
};

/// How pictures that are trained on are changed, so that a model sees each in many ways.
struct Augmentation {
    bool flips = false; ///< half of them, left to right
    int shift = 0;      ///< most pixels, in both directions; what comes in from outside is the border's colour
    double crop = 1;    ///< least side of the part that is kept and enlarged again, as a share of the picture's
    bool operator==(const Augmentation&) const = default;
};

/// @param draws decides what happens to this picture
Image augmented(const Image& picture, const Augmentation& augmentation, Draws& draws);

/// Pictures of one size with a class each. Calls are const, depend on nothing but their arguments, and may come from
/// several threads.
class ImageTaskInstance {
public:
    virtual ~ImageTaskInstance() = default;

    const ImagePreprocessing& preprocessing() const { return preprocessing_; } ///< resizes to size(), normalises
    ImageSize size() const { return *preprocessing_.resize; }                  ///< of every picture
    int64_t channels() const { return preprocessing_.channels; }
    const std::vector<std::string>& labels() const { return labels_; }

    /// As it is. @param index below rowCount(), where that is known
    virtual LabelledImage example(Split split, uint64_t index) const = 0;
    /// How many there are in a split; none where they never end.
    virtual std::optional<uint64_t> rowCount(Split) const { return std::nullopt; }
    /// The n-th that is trained on, changed as the task's values say: a finite split is gone through in another order
    /// each time.
    LabelledImage trainingExample(uint64_t n) const;

protected:
    /// Call settle() once examples can be drawn.
    ImageTaskInstance(std::vector<std::string> labels, const ImageSize& size, int64_t channels,
                      const Augmentation& augmentation, uint64_t seed);
    /// Measures mean and deviation of each channel over examples that are trained on, to normalise by.
    void settle();

private:
    std::vector<std::string> labels_;
    ImagePreprocessing preprocessing_;
    Augmentation augmentation_;
    uint64_t seed_;
};

/// What tasks over a given set of pictures share: "flip", "shift" and "crop".
Augmentation augmentationOf(const TaskValues& values);

/// Where index comes to stand when 0 .. count - 1 are shuffled by this key; a bijection, computed without a table.
/// @source Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains": a Feistel network with cycle walking
uint64_t shuffledIndex(uint64_t index, uint64_t count, uint64_t key);

} // namespace attn
