#pragma once

#include "engine/io/image.h"
#include "engine/io/safetensors.h"
#include "engine/models/model_source.h"
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
class ChangedSource : public SameSource {
public:
    ChangedSource(const std::string& name, const std::function<void(ModelSpec&)>& change)
        : ChangedSource(openModelSource((kGoldenRoot / name).string()), change) {}
    const ModelSpec& config() const override { return config_; }

private:
    ChangedSource(std::unique_ptr<ModelSource> folder, const std::function<void(ModelSpec&)>& change)
        : SameSource(*folder), folder_(std::move(folder)), config_(folder_->config()) {
        change(config_);
    }

    std::unique_ptr<ModelSource> folder_;
    ModelSpec config_;
};

} // namespace attn::test
