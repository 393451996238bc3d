#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/core/storage.h"
#include "engine/inference/model_settings.h"
#include "engine/io/image.h"
#include "engine/models/class_activation.h"
#include "engine/models/generation_rules.h"
#include "engine/models/left_out.h"
#include "engine/models/structure.h"
#include "engine/models/written_picture.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class ModelSource;

/// One named parameter of the loaded model, as stored by the engine (linear weights are [out, in]).
struct ParameterInfo {
    std::string name;       ///< engine name, e.g. "blocks.0.attn.W_Q"
    std::string sourceName; ///< name in the file, empty for constructed models
    std::vector<int64_t> shape;
    int64_t count = 0;
    bool mayBar = false; ///< whether minus infinity bars a token or class: the bias of a readout before a softmax
};

/// The description of a model, known without running it. Immutable once published.
struct ModelInfo {
    std::string name;        ///< folder name or "induction"
    std::string family;      ///< "gpt2", "llama", "vit", "swin", "induction" ...
    std::string familyTitle; ///< "Llama"
    std::string configJson;  ///< pretty-printed config as found in the folder
    std::string dtype;       ///< dtype in the file: "F32", "F16", "BF16"
    ModelStructure structure;
    int layers = 0;
    int heads = 0;      ///< largest number of heads in a site
    int modelWidth = 0; ///< C of the first layer
    int feedForwardWidth = 0;
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0;     ///< on the device
    Storage storage = Storage::F32; ///< of most weights on the device; norms and biases are always f32
    /// E.g. "rotary: 8 of 8 features turn in pairs, one of each half", "learned", "none", or the title of the first
    /// layer's position part.
    std::string positions;
    /// The attention of each site. Its position part is "none" if positions are added to the tokens.
    std::vector<AttentionSpec> attentions;
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;     ///< names of all hooks, in execution order
    std::vector<std::string> warnings;  ///< e.g. "2 NaN in blocks.0.mlp.W_in"
    std::vector<ModelSetting> settings; ///< settings that its configuration asks for, and those in force
    LeftOut leftOut;                    ///< contents of the files that are not used; warnings name them too

    // Models of text.
    int vocabulary = 0;          ///< V, rows of the embedding; 0 for models of pictures
    int contextLength = 0;       ///< the largest number of tokens that the program runs this model on
    int64_t cacheTokenBytes = 0; ///< device memory that each token takes in the cache; 0: there is none
    int64_t ownContext = 0;      ///< the largest number of tokens that its configuration allows
    bool hasTokenizer = false;
    std::string tokenizerSummary;        ///< e.g. "BPE with byte fallback, 512 tokens"
    std::string tokenizerProblem;        ///< why the folder's tokenizer cannot be read; empty: it can, or there is none
    GenerationRules rules{};             ///< by which the folder says that it writes
    std::vector<std::string> tokenTexts; ///< display piece of every id; empty without a tokenizer
    std::optional<int> maskToken;        ///< stands for a hidden word, in a model that fills them in
    bool readsPairs = false;             ///< whether it reads a second text after the first
    bool readsTrees = false;             ///< whether a text may bring its dependency tree
    bool readsSource = false;            ///< whether it reads a source with an encoder and writes a target
    std::optional<WrittenPicture> writtenPicture{}; ///< set if the model writes pictures value by value

    // Models that say to which class a picture or a whole text belongs.
    int classes = 0;                 ///< 0: no such classifier
    std::vector<std::string> labels; ///< names of the classes; empty if the files have none
    ClassActivation activation = ClassActivation::Softmax;

    // Models of pictures.
    ImageSize image{}; ///< size that it reads, in pixels
    ImageSize grid{};  ///< rows and columns of patches
    int patch = 0;     ///< pixels per side of a patch
    int channels = 0;
    std::vector<std::string> prefix; ///< tokens before the patches: "CLS", "distillation", "register 1" ...
    std::string pooling;             ///< input of the classifier: "CLS", "mean of patches", "CLS and mean of patches"

    int siteCount() const { return static_cast<int>(structure.sites.size()); }
    const Site& site(int index) const { return structure.sites.at(static_cast<size_t>(index)); }
    /// @throws Error naming the model and its heads if it has no such head
    void requireHead(int site, int head) const;
    /// The axis of what the readouts read.
    AxisKind inputAxis() const { return structure.axes.empty() ? AxisKind::Tokens : structure.axes.back().kind; }
    bool writesText() const { return predicts(Readout::Kind::NextToken); }
    bool predicts(Readout::Kind kind) const; ///< whether it has such a readout
    /// The number of tokens of a picture in the first layer.
    int tokens() const { return static_cast<int>(prefix.size()) + static_cast<int>(grid.area()); }
    /// The name of a class: "tabby cat", or "class 281" if it has none.
    std::string labelOf(int index) const;
};

/// Everything but the parameters and the hooks. @param capacity largest number of tokens of a text that will run
ModelInfo modelInfo(const ModelSource& source, int64_t capacity = 0);

} // namespace attn
