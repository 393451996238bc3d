#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/json_events.h"
#include "engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace attn {
namespace {

/// Reads the header's JSON event by event: an object for each tensor, with a dtype, a shape and data_offsets. It
/// ignores everything else except the pairs of texts in "__metadata__".
class HeaderEvents : public JsonEvents {
public:
    /// @param dataBytes the size of the file behind the header
    HeaderEvents(const std::string& file, uint64_t dataBytes) : JsonEvents(file, "the header"), dataBytes_(dataBytes) {}

    std::map<std::string, StoredTensor> take() { return std::move(tensors_); }
    std::map<std::string, std::string> takeMetadata() { return std::move(metadata_); }

private:
    enum class Field : uint8_t { Other, DType, Shape, Offsets };
    static constexpr int kInHeader = 1, kInTensor = 2, kInList = 3; ///< numbers of objects and lists around an event
    static constexpr size_t kMostNumbers = 64;                      ///< in a list; tensors have fewer axes

    [[noreturn]] void refuseTensor(const std::string& what, const std::string& hint = "fetch the file again") const {
        refuse(fmt::format("tensor {} {}", inQuotes(name_), what), hint);
    }
    [[noreturn]] void refuseField() const {
        refuseTensor(field_ == Field::DType     ? "has no dtype"
                     : field_ == Field::Offsets ? "has no data_offsets"
                                                : "has no shape");
    }
    bool isPassedOver() const { return name_ == "__metadata__" || (depth() >= kInTensor && field_ == Field::Other); }

    void onBegin(bool isObject) override {
        if (depth() == kInHeader && !isObject) refuse("the header is not a JSON object");
        if (depth() <= kInHeader || name_ == "__metadata__") return;
        if (depth() == kInTensor && !isObject) refuseTensor("is not described by an object");
        if (depth() == kInTensor || field_ == Field::Other) return;
        if (depth() > kInList || isObject || field_ == Field::DType) refuseField();
        (field_ == Field::Shape ? shape_ : offsets_) = nlohmann::json::array();
    }

    void onEnd() override {
        if (depth() == kInList) field_ = Field::Other;
        if (depth() == kInTensor && name_ != "__metadata__") finishTensor();
    }

    void onKey(std::string& key) override {
        if (depth() == kInHeader) {
            name_ = std::move(key);
            dtype_.clear();
            shape_ = offsets_ = nullptr;
            const bool isMetadata = name_ == "__metadata__";
            if (isMetadata ? std::exchange(hasMetadata_, true) : tensors_.contains(name_))
                refuseTensor("is listed twice");
            if (tensors_.size() == kMostStoredTensors)
                refuse(fmt::format("the header lists more than {} tensors", kMostStoredTensors),
                       "split the weights into several files");
        } else if (depth() == kInTensor && name_ == "__metadata__") {
            metadataKey_ = std::move(key);
        } else if (depth() == kInTensor) {
            field_ = key == "dtype"          ? Field::DType
                     : key == "shape"        ? Field::Shape
                     : key == "data_offsets" ? Field::Offsets
                                             : Field::Other;
            const bool isRepeated = (field_ == Field::DType && !dtype_.empty()) ||
                                    (field_ == Field::Shape && !shape_.is_null()) ||
                                    (field_ == Field::Offsets && !offsets_.is_null());
            if (isRepeated) refuseTensor(fmt::format("gives its {} twice", key));
        }
    }

    void onValue(nlohmann::json value) override {
        if (depth() < kInHeader) refuse("the header is not a JSON object");
        if (depth() == kInHeader && name_ != "__metadata__") refuseTensor("is not described by an object");
        if (depth() == kInTensor && name_ == "__metadata__" && value.is_string() &&
            metadata_.size() < kMostStoredTensors)
            metadata_.emplace(std::move(metadataKey_), value.get<std::string>());
        if (isPassedOver() || depth() == kInHeader) return;
        if (depth() == kInTensor) {
            if (field_ != Field::DType || !value.is_string()) refuseField();
            dtype_ = value.get<std::string>();
            return;
        }
        nlohmann::json& list = field_ == Field::Shape ? shape_ : offsets_;
        list.push_back(std::move(value));
        if (list.size() > kMostNumbers) refuseField();
    }

    std::vector<int64_t> shape() const {
        constexpr uint64_t kMost = uint64_t{1} << 40;
        if (!shape_.is_array()) refuseTensor("has no shape");
        std::vector<int64_t> extents;
        uint64_t elements = 1;
        for (const nlohmann::json& extent : shape_) {
            if (!extent.is_number_unsigned() || extent.get<uint64_t>() > kMost)
                refuseTensor(fmt::format("has the shape {}", shownJson(shape_)));
            extents.push_back(extent.get<int64_t>());
            const auto count = std::max<uint64_t>(extent.get<uint64_t>(), 1); // a zero is checked against the bytes
            if (elements > kMost / count) refuseTensor(fmt::format("has the impossible shape {}", shownJson(shape_)));
            elements *= count;
        }
        return extents;
    }

    void finishTensor() {
        if (dtype_.empty()) refuseTensor("has no dtype");
        const auto dtype = dtypeNamed(dtype_);
        if (!dtype)
            refuseTensor(fmt::format("has the unknown dtype {}", inQuotes(dtype_)),
                         "convert the weights to F32, F16 or BF16");
        if (!offsets_.is_array() || offsets_.size() != 2 || !offsets_[0].is_number_unsigned() ||
            !offsets_[1].is_number_unsigned())
            refuseTensor("has no data_offsets");
        StoredTensor tensor{.name = name_, .dtype = *dtype, .shape = shape(), .begin = offsets_[0], .end = offsets_[1]};
        if (tensor.begin > tensor.end || tensor.end > dataBytes_)
            refuseTensor(
                fmt::format("lies at bytes {} to {} but the file holds {} bytes of data: it is truncated or damaged",
                            tensor.begin, tensor.end, dataBytes_));
        const auto expected = static_cast<uint64_t>(tensor.elements() * dtypeSize(tensor.dtype));
        if (tensor.end - tensor.begin != expected)
            refuseTensor(
                fmt::format("has {} bytes but its shape and dtype need {}", tensor.end - tensor.begin, expected));
        tensors_.emplace(name_, std::move(tensor));
    }

    uint64_t dataBytes_;
    std::map<std::string, StoredTensor> tensors_;
    bool hasMetadata_ = false;
    std::string metadataKey_;
    std::map<std::string, std::string> metadata_;
    std::string name_; ///< of the tensor that is being read, as are the next fields
    Field field_ = Field::Other;
    std::string dtype_;
    nlohmann::json shape_, offsets_;
};

} // namespace

SafetensorsHeader parseSafetensorsHeader(std::span<const std::byte> bytes, uint64_t fileSize, const std::string& file) {
    const auto refuse = [&](const std::string& what, const std::string& hint = "fetch the file again") {
        throw Error({.what = what, .where = file, .hint = hint});
    };
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (fileSize == 0) refuse("the file is empty");
    if (isGitLfsPointer(text))
        refuse("this is a Git-LFS pointer, not the weights",
               "run `git lfs pull` in the model's folder, or fetch the file itself");
    if (bytes.size() < 8) refuse(fmt::format("the file has only {} bytes", fileSize));
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    if (length > kMostSafetensorsHeaderBytes || length < 2)
        refuse(
            fmt::format("the file begins with the size of its header, {} bytes, but headers have from 2 to {}: this is "
                        "no safetensors file",
                        length, kMostSafetensorsHeaderBytes));
    if (length > fileSize - 8 || length > bytes.size() - 8)
        refuse(fmt::format("the header should have {} bytes but the file has {}: it is truncated or no safetensors "
                           "file",
                           length, fileSize));
    std::string_view header = text.substr(8, length);
    while (!header.empty() && (header.back() == '\0' || header.back() == ' ')) header.remove_suffix(1);

    SafetensorsHeader result{.dataBegin = 8 + length, .tensors = {}, .aliases = {}};
    HeaderEvents events(file, fileSize - result.dataBegin);
    events.parse(header);
    result.tensors = events.take();
    result.aliases = events.takeMetadata();
    std::erase_if(result.aliases, [&](const auto& each) {
        return result.tensors.contains(each.first) || !result.tensors.contains(each.second);
    });
    std::vector<const StoredTensor*> inOrder;
    for (const auto& [name, tensor] : result.tensors) inOrder.push_back(&tensor);
    std::ranges::sort(inOrder, {}, [](const StoredTensor* tensor) { return std::pair(tensor->begin, tensor->end); });
    const StoredTensor* before = nullptr;
    uint64_t described = 0; // bytes of data from the first on, each of which belongs to one tensor
    for (const StoredTensor* tensor : inOrder) {
        if (tensor->begin < described)
            refuse(fmt::format("tensor {} at bytes {} to {} overlaps {} at bytes {} to {}", inQuotes(tensor->name),
                               tensor->begin, tensor->end, inQuotes(before->name), before->begin, before->end));
        if (tensor->begin > described)
            refuse(fmt::format("no tensor lies at bytes {} to {}, before tensor {}: it is damaged", described,
                               tensor->begin, inQuotes(tensor->name)),
                   "fetch the file again, or write it again with safetensors");
        described = tensor->end;
        before = tensor;
    }
    if (const uint64_t held = fileSize - result.dataBegin; held != described)
        refuse(fmt::format("the header describes {} bytes of data but the file holds {}: {} bytes at its end belong to "
                           "no tensor",
                           described, held, held - described),
               "fetch the file again, or write it again with safetensors");
    return result;
}

} // namespace attn
