#include "engine/core/error.h"
#include "engine/data/image_data.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/image_task.h"

#include <array>

// Tasks with a data set of pictures.

namespace attn {
namespace {

constexpr Param kFlip{"flip", "Flip", "Mirrors half of the pictures", Param::Kind::Toggle, 0, 1, 1, 0};
constexpr Param kShift{
    "shift", "Shift", "Largest random shift of a picture in both directions, in pixels", Param::Kind::Integer, 0, 16,
    1,       0};
constexpr Param kCrop{"crop",
                      "Crop",
                      "Smallest side of a random crop that is enlarged again, as a share of the picture's",
                      Param::Kind::Real,
                      0.3,
                      1,
                      0.05,
                      1};

constexpr Param withInitial(Param param, double initial) {
    param.initial = initial;
    return param;
}

constexpr std::array kFashionParams{withInitial(kFlip, 1), kShift, kCrop};
constexpr std::array kImagesParams{
    Param{"size", "Size", "Pixels per side to which pictures are resized", Param::Kind::Integer, 8, 512, 8, 32}, kFlip,
    kShift, kCrop};

class StoredImages : public ImageTaskInstance {
public:
    StoredImages(ImageData data, const Augmentation& augmentation, uint64_t seed)
        : ImageTaskInstance(data.names, data.size, data.channels, augmentation, seed), data_(std::move(data)) {
        settle();
    }

    LabelledImage example(Split split, uint64_t index) const override {
        const uint32_t at = data_.splits[static_cast<size_t>(split)].at(index);
        const auto width = data_.targets.size() / data_.classes.size();
        const auto first = data_.targets.begin() + static_cast<std::ptrdiff_t>(at * width);
        return {.picture = data_.picture(at),
                .label = data_.classes[at],
                .numbers = {first, first + static_cast<std::ptrdiff_t>(width)}};
    }
    std::optional<uint64_t> rowCount(Split split) const override {
        return data_.splits[static_cast<size_t>(split)].size();
    }
    std::vector<std::filesystem::path> files() const override { return data_.files; }

private:
    ImageData data_;
};

std::unique_ptr<ImageTaskInstance> makeFashion(const TaskValues& values, const TaskSettings& settings) {
    constexpr const char* kPackaged = "/usr/share/datasets/fashion-mnist"; // of Debian's dataset-fashion-mnist
    std::error_code error;
    if (settings.data.pictures.empty() && !std::filesystem::is_directory(kPackaged, error))
        throw Error({.what = "the pictures of Fashion-MNIST are missing",
                     .where = kPackaged,
                     .hint = "install the package dataset-fashion-mnist, or choose the folder with its four files"});
    ImageData data = readImageData(settings.data.pictures.empty() ? kPackaged : settings.data.pictures, {});
    const std::vector<std::string> names{"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                         "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};
    if (data.names.size() != names.size() || data.channels != 1)
        throw Error({.what = "does not contain the ten classes of Fashion-MNIST",
                     .where = settings.data.pictures.string(),
                     .hint = "use the task 'images' for other pictures"});
    data.names = names;
    return std::make_unique<StoredImages>(std::move(data), augmentationOf(values), settings.seed);
}

std::unique_ptr<ImageTaskInstance> makeImages(const TaskValues& values, const TaskSettings& settings) {
    if (settings.data.pictures.empty())
        throw Error(
            {.what = "no folder of pictures is given",
             .where = "task images",
             .hint = "choose a folder with IDX files (MNIST), CIFAR-10's binary batches, or one folder per class"});
    const int64_t size = values.integer("size");
    return std::make_unique<StoredImages>(
        readImageData(settings.data.pictures, {size, size}, settings.data.modelPictures), augmentationOf(values),
        settings.seed);
}

template <const Task& task>
std::unique_ptr<ImageTaskInstance> makeLabelled(const TaskValues& values, const TaskSettings& settings) {
    const DataSettings& data = settings.data;
    if (data.pictures.empty())
        failParameter(task.id, "data", "no folder of pictures is given",
                      "choose a folder with pictures and metadata.csv, which has the columns file_name and labels");
    const int64_t size = values.integer("size");
    return std::make_unique<StoredImages>(readLabelledPictures(data.pictures, data.modelLabels,
                                                               labelKindOf(task.activation), {size, size},
                                                               data.modelPictures),
                                          augmentationOf(values), settings.seed);
}

constexpr std::string_view kHint =
    "Watch: in early layers, patches attend to nearby patches or to patches of similar "
    "brightness. In the last layers, CLS attends to the parts that distinguish the classes.";

} // namespace

constinit const Task kFashionMnistTask{
    .id = "fashion-mnist",
    .title = "Fashion-MNIST",
    .summary =
        "Recognises ten kinds of clothing: 28 x 28 grey pixels, 55,000 pictures for training and 10,000 for testing",
    .hint = kHint,
    .citation = "Xiao, Rasul and Vollgraf 2017, \"Fashion-MNIST\", arXiv:1708.07747",
    .params = kFashionParams,
    .metric = Task::Metric::ExactMatch,
    .metricName = "accuracy",
    .successLevel = 0.87,
    .withoutData = "where the package installs it",
    .makeImages = makeFashion,
    .suggest =
        [](Recipe& recipe) {
            // large patches allow many epochs in the same time
            recipe.architecture.layers = 3;
            recipe.architecture.patch = 7;
            recipe.schedule.steps = 6500;
        },
};

constinit const Task kImagesTask{
    .id = "images",
    .title = "Pictures in a folder",
    .summary = "Recognises classes of pictures: MNIST, CIFAR-10, or one folder of pictures per class",
    .hint = kHint,
    .params = kImagesParams,
    .metric = Task::Metric::ExactMatch,
    .metricName = "accuracy",
    .successLevel = 0.9,
    .readsData = true,
    .makeImages = makeImages,
};

constinit const Task kPictureLabelsTask{
    .id = "picture-labels",
    .title = "Labels of pictures",
    .summary = "Learns any number of labels of a picture from a folder with metadata.csv, .jsonl or .tsv: the column "
               "file_name, and the column labels with several separated by | ; or a comma, as in a;b, or a column of 1 "
               "and 0 for each label",
    .hint = kHint,
    .params = kImagesParams,
    .metric = Task::Metric::ExactMatch,
    .metricName = "exact match",
    .successLevel = 0.8,
    .activation = ClassActivation::Sigmoid,
    .readsData = true,
    .makeImages = makeLabelled<kPictureLabelsTask>,
};

constinit const Task kPictureNumbersTask{
    .id = "picture-numbers",
    .title = "Numbers of pictures",
    .summary =
        "Learns a number of a picture, such as a count or an age, from a folder of pictures with the table "
        "metadata.csv: the columns file_name and score, or a column for each number; numbers have a decimal point, "
        "as in 1.5",
    .hint = kHint,
    .params = kImagesParams,
    .metric = Task::Metric::Loss,
    .metricName = "mean squared error",
    .successLevel = 0.1,
    .activation = ClassActivation::None,
    .readsData = true,
    .makeImages = makeLabelled<kPictureNumbersTask>,
};

} // namespace attn
