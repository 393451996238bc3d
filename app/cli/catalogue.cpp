#include "app/cli/catalogue.h"

#include <array>

namespace attn::cli {

void addAblate(Command& command);
void addAttend(Command& command);
void addCapture(Command& command);
void addClassify(Command& command);
void addCost(Command& command);
void addDetect(Command& command);
void addDevices(Command& command);
void addEval(Command& command);
void addExtrapolate(Command& command);
void addFeatures(Command& command);
void addGenerate(Command& command);
void addJobs(Command& command);
void addLens(Command& command);
void addMask(Command& command);
void addModels(Command& command);
void addParts(Command& command);
void addPatch(Command& command);
void addPerplexity(Command& command);
void addStorage(Command& command);
void addRender(Command& command);
void addTrain(Command& command);

std::span<const CommandEntry> commandCatalogue() {
    static constexpr const char* kLook = "Look at a model";
    static constexpr const char* kChange = "Change a model's run";
    static constexpr const char* kAttention = "Attention by itself";
    static constexpr const char* kTrain = "Train and evaluate";
    static constexpr const char* kSystem = "System";
    static constexpr std::array kCommands{
        CommandEntry{"models", kLook, "Describe a model: family, shapes, parameters and memory", addModels},
        CommandEntry{"generate", kLook, "Continue a prompt and print the text as it is written", addGenerate},
        CommandEntry{"classify", kLook, "Name the classes of a text or a picture, or answers in a passage",
                     addClassify},
        CommandEntry{"lens", kLook, "Look inside a run: predictions by layer, contributions to a logit, circuits",
                     addLens},
        CommandEntry{"detect", kLook, "Name the kind of each head, such as induction or previous token", addDetect},
        CommandEntry{"render", kLook, "Draw attention as a PNG, SVG or PDF file", addRender},
        CommandEntry{"capture", kLook, "Write hooks of one run (patterns, residual stream, logits) to a file",
                     addCapture},
        CommandEntry{"ablate", kChange, "Remove each head and each MLP in turn and measure how a logit changes",
                     addAblate},
        CommandEntry{"patch", kChange, "Copy values from another run, place by place, and measure how a logit changes",
                     addPatch},
        CommandEntry{"parts", kAttention, "List the parts that attention is composed of, with their sources", addParts},
        CommandEntry{"mask", kAttention, "Print, write or count an attention mask", addMask},
        CommandEntry{"attend", kAttention, "Run one attention of any composition and write its tensors", addAttend},
        CommandEntry{"cost", kAttention, "Compare what attentions cost by length: operations, memory and time",
                     addCost},
        CommandEntry{"features", kAttention, "Measure how close random features come to the softmax", addFeatures},
        CommandEntry{"train", kTrain, "Train a small model on a task", addTrain},
        CommandEntry{"jobs", kTrain, "List training runs with their progress; stop, pause or continue one", addJobs},
        CommandEntry{"eval", kTrain, "Measure how well a trained model solves its task", addEval},
        CommandEntry{"storage", kTrain, "Compare a model with its weights in fewer bits", addStorage},
        CommandEntry{"perplexity", kTrain, "Measure how well a model predicts a text", addPerplexity},
        CommandEntry{"extrapolate", kTrain, "Train models with different positions and test them at other lengths",
                     addExtrapolate},
        CommandEntry{"devices", kSystem, "List the Vulkan devices", addDevices},
    };
    return kCommands;
}

} // namespace attn::cli
