#include "engine/data/image_data.h"

#include "engine/core/error.h"
#include "engine/data/draws.h"
#include "engine/io/decode_image.h"
#include "engine/io/idx.h"
#include "engine/io/input_file.h"
#include "engine/io/picture_count.h"
#include "engine/io/refuse_file.h"
#include "engine/io/resample.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <numeric>

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostForValidation = 5000;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr int kMostClasses = 1000;

std::vector<uint32_t>& splitOf(ImageData& data, Split split) { return data.splits[static_cast<size_t>(split)]; }

/// The first of these names that exists; empty if none does.
fs::path fileOf(const fs::path& folder, const std::vector<std::string>& names) {
    std::error_code ignored;
    for (const std::string& name : names)
        if (fs::exists(folder / name, ignored)) return folder / name;
    return {};
}

/// Splits pictures in order: those for training, of which the last tenth is for validation, then those for testing.
void splitInOrder(ImageData& data, size_t trained) {
    const size_t validation = std::min(trained / 10, kMostForValidation);
    for (size_t i = 0; i < data.classes.size(); ++i)
        splitOf(data, i >= trained                ? Split::Test
                      : i >= trained - validation ? Split::Validation
                                                  : Split::Train)
            .push_back(static_cast<uint32_t>(i));
}

void requireSplits(const ImageData& data, const fs::path& folder) {
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        if (data.splits[static_cast<size_t>(split)].empty())
            refuseFile(folder, fmt::format("has only {} pictures, which leaves a split empty", data.classes.size()),
                       "add more pictures of each class");
}

// ---- IDX ----------------------------------------------------------------------------------------------------------

fs::path idxFile(const fs::path& folder, const std::string& part, const std::string& kind) {
    return fileOf(folder, {part + "-" + kind + "-ubyte.gz", part + "-" + kind + "-ubyte",
                           part + "." + kind + "-ubyte.gz", part + "." + kind + "-ubyte"});
}

void addIdx(ImageData& data, const fs::path& folder, const std::string& part) {
    const fs::path imageFile = idxFile(folder, part + "-images", "idx3"),
                   labelFile = idxFile(folder, part + "-labels", "idx1");
    for (const auto& [file, kind] : {std::pair{imageFile, "images-idx3"}, std::pair{labelFile, "labels-idx1"}})
        if (file.empty())
            refuseFile(folder, fmt::format("has no file {}-{}-ubyte, plain or gzipped", part, kind),
                       "a folder of MNIST needs four files: images and labels of train and t10k");
    const IdxArray images = readIdx(imageFile), labels = readIdx(labelFile);
    if (images.extents.size() != 3)
        refuseFile(imageFile, fmt::format("has {} axes instead of three (count, rows, columns)", images.extents.size()),
                   "choose a file of pictures (idx3)");
    const ImageSize size{images.extents[1], images.extents[2]};
    if (data.pixels.empty()) data.size = size;
    if (size != data.size)
        refuseFile(imageFile,
                   fmt::format("has pictures of {} x {} pixels, but the other file has {} x {}", size.width,
                               size.height, data.size.width, data.size.height),
                   "take both files from the same data set");
    if (labels.extents.size() != 1 || labels.extents[0] != images.extents[0])
        refuseFile(labelFile,
                   fmt::format("has labels for {} pictures but there are {}", labels.extents[0], images.extents[0]),
                   "take both files from the same data set");
    data.files.insert(data.files.end(), {imageFile, labelFile});
    data.pixels.insert(data.pixels.end(), images.values.begin(), images.values.end());
    data.classes.insert(data.classes.end(), labels.values.begin(), labels.values.end());
}

ImageData readIdxFolder(const fs::path& folder) {
    ImageData data{.channels = 1};
    addIdx(data, folder, "train");
    const size_t trained = data.classes.size();
    addIdx(data, folder, "t10k");
    splitInOrder(data, trained);
    requireSplits(data, folder);
    const int32_t most = *std::ranges::max_element(data.classes);
    for (int32_t label = 0; label <= most; ++label) data.names.push_back(std::to_string(label));
    return data;
}

// ---- CIFAR-10 -----------------------------------------------------------------------------------------------------

constexpr int kCifarBatches = 5;
std::string cifarBatch(int number) { return fmt::format("data_batch_{}.bin", number); }

/// A folder with the files of CIFAR-10: this one, or the one that its archive makes. Empty: neither is.
fs::path cifarFolder(const fs::path& folder) {
    std::error_code error;
    if (!fileOf(folder, {cifarBatch(1)}).empty()) return folder;
    const fs::path inner = folder / "cifar-10-batches-bin";
    return fs::is_directory(inner, error) ? inner : fs::path();
}

/// A record is a class, then 32 x 32 values each of red, green and blue.
/// @source Krizhevsky 2009, "The CIFAR-10 dataset", binary version
void addCifar(ImageData& data, const fs::path& file) {
    constexpr size_t kArea = 32 * 32, kRecord = 1 + 3 * kArea;
    const std::vector<uint8_t> bytes = readMaybeGzipped(file);
    data.files.push_back(file);
    if (bytes.empty() || bytes.size() % kRecord != 0)
        refuseFile(file, fmt::format("has {} bytes instead of whole records of {} bytes", bytes.size(), kRecord),
                   "fetch the binary version of CIFAR-10 again");
    for (size_t at = 0; at < bytes.size(); at += kRecord) {
        if (bytes[at] > 9)
            refuseFile(file, fmt::format("contains class {}; CIFAR-10 has 0 to 9", bytes[at]),
                       "fetch the binary version of CIFAR-10 again");
        data.classes.push_back(bytes[at]);
        for (size_t i = 0; i < kArea; ++i)
            for (size_t channel = 0; channel < 3; ++channel) data.pixels.push_back(bytes[at + 1 + channel * kArea + i]);
    }
}

ImageData readCifar(const fs::path& folder) {
    ImageData data{.size = {32, 32},
                   .names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}};
    for (int batch = 1; batch <= kCifarBatches; ++batch)
        if (const fs::path file = fileOf(folder, {cifarBatch(batch)}); !file.empty()) addCifar(data, file);
    const size_t trained = data.classes.size();
    if (const fs::path file = fileOf(folder, {"test_batch.bin"}); !file.empty())
        addCifar(data, file);
    else
        refuseFile(folder, "has no test_batch.bin", "fetch the binary version of CIFAR-10 again");
    splitInOrder(data, trained);
    requireSplits(data, folder);
    return data;
}

// ---- a folder for each class --------------------------------------------------------------------------------------

std::vector<fs::path> sortedEntries(const fs::path& folder, bool folders) {
    std::error_code error, ignored;
    std::vector<fs::path> found = entriesOf(folder, error);
    if (error) refuseFile(folder, fmt::format("cannot be read: {}", error.message()), "check its permissions");
    std::erase_if(found, [&](const fs::path& entry) {
        return !(folders ? fs::is_directory(entry, ignored) : fs::is_regular_file(entry, ignored)) ||
               entry.filename().string().starts_with(".");
    });
    std::ranges::sort(found);
    return found;
}

/// @param folder of the pictures, for messages
void addPixels(ImageData& data, const fs::path& file, const std::optional<ImagePreprocessing>& preparation,
               const fs::path& folder) {
    Image picture = decodeImage(file);
    data.files.push_back(file);
    if (preparation) picture = fitted(picture, *preparation);
    if (!preparation || picture.size() != data.size) picture = resampled(picture, data.size, ResampleFilter::Bilinear);
    data.pixels.insert(data.pixels.end(), picture.rgb.begin(), picture.rgb.end());
    if (data.pixels.size() > kMostBytes)
        refuseFile(folder, "contains more than 1 GiB of pictures at this size",
                   "choose a smaller size or fewer pictures");
}

/// @param isTest every picture is for testing; otherwise the hash of its name decides
/// @param hasTest there is a folder for testing, so no other picture is
void addPictures(ImageData& data, const fs::path& folder, const std::optional<ImagePreprocessing>& preparation,
                 int32_t label, bool isTest, bool hasTest) {
    const std::string& name = data.names[static_cast<size_t>(label)];
    for (const fs::path& file : sortedEntries(folder, false)) {
        addPixels(data, file, preparation, folder);
        const auto index = static_cast<uint32_t>(data.classes.size());
        data.classes.push_back(label);
        Split split = isTest ? Split::Test : attn::splitOf(hashOf(name + "/" + file.filename().string()));
        if (!isTest && hasTest && split == Split::Test) split = Split::Train;
        splitOf(data, split).push_back(index);
    }
}

void addClassFolders(ImageData& data, const fs::path& folder, const std::optional<ImagePreprocessing>& preparation,
                     bool isTest, bool hasTest) {
    for (const fs::path& each : sortedEntries(folder, true)) {
        const std::string name = each.filename().string();
        auto found = std::ranges::find(data.names, name);
        if (found == data.names.end()) {
            if (isTest) refuseFile(each, "is a class without training pictures", "add pictures of it to train");
            found = data.names.insert(data.names.end(), name);
        }
        if (data.names.size() > kMostClasses)
            refuseFile(folder, fmt::format("has more than {} folders", kMostClasses),
                       "choose a folder with one folder per class");
        addPictures(data, each, preparation, static_cast<int32_t>(found - data.names.begin()), isTest, hasTest);
    }
}

ImageData readClassFolders(const fs::path& folder, const ImageSize& size,
                           const std::optional<ImagePreprocessing>& preparation) {
    ImageData data{.size = size};
    const fs::path train = fileOf(folder, {"train", "training"}), test = fileOf(folder, {"test", "val", "validation"});
    const bool hasTest = !train.empty() && !test.empty();
    addClassFolders(data, hasTest ? train : folder, preparation, false, hasTest);
    if (hasTest) addClassFolders(data, test, preparation, true, true);
    if (data.names.size() < 2)
        refuseFile(
            folder, "contains no training pictures",
            "choose a folder with IDX files (MNIST), CIFAR-10's binary batches, or one folder of pictures for each of "
            "at least two classes");
    requireSplits(data, folder);
    return data;
}

/// Whether a folder holds the files of MNIST or of CIFAR-10, or folders.
bool hasKnownForm(const fs::path& folder) {
    return !idxFile(folder, "train-images", "idx3").empty() || !cifarFolder(folder).empty() ||
           !sortedEntries(folder, true).empty();
}

} // namespace

Image ImageData::picture(size_t index) const {
    const auto area = static_cast<size_t>(size.area());
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(index * area * static_cast<size_t>(channels));
    Image image{.height = size.height, .width = size.width, .rgb = {}};
    if (channels == 3) {
        image.rgb.assign(begin, begin + static_cast<std::ptrdiff_t>(area * 3));
        return image;
    }
    image.rgb.reserve(area * 3);
    for (auto grey = begin; grey != begin + static_cast<std::ptrdiff_t>(area); ++grey)
        image.rgb.insert(image.rgb.end(), 3, *grey);
    return image;
}

ImageData readImageData(const fs::path& folder, const ImageSize& size,
                        const std::optional<ImagePreprocessing>& preparation) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
        refuseFile(folder, fs::exists(folder, error) ? "is not a folder" : "there is no such folder",
                   "choose the folder of the data set");
    if (!idxFile(folder, "train-images", "idx3").empty()) return readIdxFolder(folder);
    if (const fs::path cifar = cifarFolder(folder); !cifar.empty()) return readCifar(cifar);
    return readClassFolders(folder, size, preparation);
}

ImageData readLabelledPictures(const fs::path& path, const std::vector<std::string>& known, LabelKind kind,
                               const ImageSize& size, const std::optional<ImagePreprocessing>& preparation) {
    LabelledTable table = readLabelledTable(path, known, kind, true);
    ImageData data{.size = size, .names = std::move(table.labels)};
    if (!table.file.empty()) data.files.push_back(table.file);
    for (const LabelledRow& row : table.rows) {
        addPixels(data, row.picture, preparation, path);
        splitOf(data, attn::splitOf(hashOf(row.picture.filename().string())))
            .push_back(static_cast<uint32_t>(data.classes.size()));
        data.classes.push_back(-1);
        for (const double target : row.targets) data.targets.push_back(static_cast<float>(target));
    }
    requireSplits(data, path);
    return data;
}

ImageData readPictures(const fs::path& folder, const ImageSize& size) {
    std::error_code error;
    if (!fs::is_directory(folder, error) || hasKnownForm(folder)) return readImageData(folder, size);
    ImageData data{.size = size, .names = {"picture"}};
    addPictures(data, folder, {}, 0, false, false);
    requireSplits(data, folder);
    return data;
}

std::string picturesWarning(const fs::path& folder) {
    constexpr uint64_t kBeginning = 4096; // the header of a PNG file lies before its pixels
    size_t all = 0, animated = 0, transparent = 0;
    const auto look = [&](const fs::path& each) {
        for (const fs::path& path : sortedEntries(each, false)) {
            const InputFile file(path);
            std::vector<std::byte> head(std::min(file.sizeBytes(), kBeginning));
            file.read(0, head);
            ++all;
            animated += picturesIn(head) > 1 ? 1 : 0;
            transparent += mayBeTransparent(head) ? 1 : 0;
        }
    };
    std::error_code error;
    if (!fs::is_directory(folder, error)) return {};
    look(folder);
    for (const fs::path& part : sortedEntries(folder, true)) {
        look(part);
        for (const fs::path& inner : sortedEntries(part, true)) look(inner);
    }
    std::string text;
    const auto add = [&](size_t count, const char* what) {
        if (count > 0) text += fmt::format("{}{} of {} files {}.", text.empty() ? "" : " ", count, all, what);
    };
    add(animated, "are animations: training reads the first picture of each");
    add(transparent, "may have transparent pixels: training reads the colours that they store");
    const fs::path cifar = idxFile(folder, "train-images", "idx3").empty() ? cifarFolder(folder) : fs::path();
    std::vector<std::string> missing;
    for (int batch = 1; batch <= kCifarBatches && !cifar.empty(); ++batch)
        if (fileOf(cifar, {cifarBatch(batch)}).empty()) missing.push_back(cifarBatch(batch));
    if (!missing.empty())
        text += fmt::format("{}Of the {} batches of CIFAR-10, these are missing, and training does without them: {}.",
                            text.empty() ? "" : " ", kCifarBatches, fmt::join(missing, ", "));
    return text;
}

} // namespace attn
