#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/generation_rules.h"
#include "engine/models/left_out.h"
#include "engine/models/model_spec.h"
#include "engine/models/weight_recipe.h"
#include "engine/text/tokenizer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class TensorStore;

/// A model that can be loaded, from a folder or by construction: its description, what prepares its input, and its
/// weights. What a model of its kind does not have is empty.
class ModelSource {
public:
    virtual ~ModelSource() = default;

    /// Of pictures: at the size at which the model will run.
    virtual const ModelSpec& config() const = 0;
    virtual const std::string& configText() const; ///< JSON for display
    virtual std::string familyTitle() const = 0;
    virtual std::string dtype() const { return "F32"; } ///< dtype of most parameters: "F32", "F16", "BF16"
    /// The name in the file; empty if constructed.
    virtual std::string sourceName(const std::string&) const { return {}; }
    /// Reads a parameter.
    /// @return the number of values that are NaN or infinite
    /// @throws Error naming the file and the tensor if it is missing or has another shape
    virtual int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const = 0;
    /// The parameters as floats on a device, by the engine's names, to copy in place of read(). Null: not there.
    virtual const TensorStore* stored() const { return nullptr; }

    // Of texts.
    virtual const Tokenizer* tokenizer() const { return nullptr; } ///< null if the folder has none
    /// The tokenizer of the source, for a model with an encoder.
    virtual const Tokenizer* sourceTokenizer() const { return tokenizer(); }
    virtual std::string example() const { return {}; }  ///< prompt to start with
    virtual const std::vector<int>& stopTokens() const; ///< tokens that end generation
    virtual const GenerationRules& generation() const;  ///< the rules by which the model writes
    /// Why the tokenizer of the folder cannot be read; empty: it can, or there is none.
    virtual std::string tokenizerProblem() const { return {}; }

    // Of pictures.
    virtual const ImagePreprocessing& preprocessing() const;

    /// Warnings about the numbers, in sentences: assumptions, and contents that were left out.
    virtual const std::vector<std::string>& warnings() const;
    /// The contents of the files that nothing reads; empty for a constructed model. warnings() names them too.
    virtual const LeftOut& leftOut() const;
};

/// The source of an open model for a second model.
class SameSource : public ModelSource {
public:
    explicit SameSource(const ModelSource& source) : source_(source) {} ///< @param source must outlive this one
    const ModelSpec& config() const override { return source_.config(); }
    const std::string& configText() const override { return source_.configText(); }
    std::string familyTitle() const override { return source_.familyTitle(); }
    std::string dtype() const override { return source_.dtype(); }
    std::string sourceName(const std::string& parameter) const override { return source_.sourceName(parameter); }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return source_.read(parameter, shape, write);
    }
    const Tokenizer* tokenizer() const override { return source_.tokenizer(); }
    const Tokenizer* sourceTokenizer() const override { return source_.sourceTokenizer(); }
    std::string example() const override { return source_.example(); }
    const std::vector<int>& stopTokens() const override { return source_.stopTokens(); }
    const GenerationRules& generation() const override { return source_.generation(); }
    const ImagePreprocessing& preprocessing() const override { return source_.preprocessing(); }
    const std::vector<std::string>& warnings() const override { return source_.warnings(); }
    const LeftOut& leftOut() const override { return source_.leftOut(); }

private:
    const ModelSource& source_;
};

/// Opens a folder in the format of Hugging Face or timm, a .safetensors file inside one, or "builtin:induction".
/// @param size of pictures, to which positions are interpolated; empty: the size after preprocessing
/// @throws Error naming the file, the problem and the remedy
std::unique_ptr<ModelSource> openModelSource(const std::string& path, std::optional<ImageSize> size = {});

/// The axis of what the model in a folder reads. @return none if it cannot be told: opening the folder says why
std::optional<AxisKind> axisOfModel(const std::string& path);

/// The example pictures in the folder of a model, by name; empty if it has none.
/// @param path as for openModelSource()
std::vector<std::filesystem::path> examplePictures(const std::string& path);

} // namespace attn
