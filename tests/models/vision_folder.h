#pragma once

#include "engine/io/image.h"
#include "engine/io/safetensors.h"
#include "engine/models/vision_source.h"
#include "tests/io/files.h"

namespace attn::test {

inline const fs::path kGoldenRoot = fs::path(ATTN_TEST_DIR) / "golden";

/// What PyTorch computes from one of the small models of tests/golden.
class Golden {
public:
    explicit Golden(const std::string& name, const char* file = "golden.safetensors")
        : file_(kGoldenRoot / name / file) {}

    bool contains(const std::string& name) const { return file_.tensors().contains(name); }
    std::vector<int64_t> shape(const std::string& name) const { return file_.tensors().at(name).shape; }
    std::vector<float> values(const std::string& name) const {
        const StoredTensor& tensor = file_.tensors().at(name);
        std::vector<float> values(static_cast<size_t>(tensor.elements()));
        file_.read(tensor, 0, values);
        return values;
    }
    std::vector<int> integers(const std::string& name) const { return file_.readIntegers(file_.tensors().at(name)); }
    /// The picture that it was given.
    Image image() const {
        const std::vector<float> pixels = values("image");
        return {.height = shape("image")[0], .width = shape("image")[1], .rgb = {pixels.begin(), pixels.end()}};
    }
    int hookCount() const { return static_cast<int>(file_.tensors().size()) - 2; } ///< all but the two inputs

private:
    SafetensorsFile file_;
};

/// A model of the goldens whose description is changed where its weights still fit.
class ChangedSource : public VisionSource {
public:
    ChangedSource(const std::string& name, const std::function<void(VisionConfig&)>& change)
        : folder_(openVisionSource((kGoldenRoot / name).string())), config_(folder_->config()) {
        change(config_);
    }
    const VisionConfig& config() const override { return config_; }
    const ImagePreprocessing& preprocessing() const override { return folder_->preprocessing(); }
    const std::vector<std::string>& labels() const override { return folder_->labels(); }
    const std::vector<std::string>& warnings() const override { return folder_->warnings(); }
    const std::string& configText() const override { return folder_->configText(); }
    std::string familyTitle() const override { return folder_->familyTitle(); }
    std::string dtype() const override { return folder_->dtype(); }
    std::string sourceName(const std::string& parameter) const override { return folder_->sourceName(parameter); }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return folder_->read(parameter, shape, write);
    }

private:
    std::unique_ptr<VisionSource> folder_;
    VisionConfig config_;
};

} // namespace attn::test
