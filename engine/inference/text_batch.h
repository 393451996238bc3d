#pragma once

#include "engine/inference/paged_memory.h"
#include "engine/runtime/gpu_executor.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

class LanguageModel;

/// Texts that a model continues in the same steps: each step runs rows of several of them. The text that the model
/// holds stays as it is. One batch of a model at a time.
///
/// Where the processor computes, a row has the same bits whatever texts run beside it, if feed() gets at most 24 rows
/// of all texts both times, or more both times. It differs in its last bits from a row that LanguageModel::feed() runs
/// alone, whose products are summed in another order.
class TextBatch {
public:
    /// Why the texts of a model run one by one, as a sentence without its end; empty: they can share steps.
    static std::string whyNot(const LanguageModel& model);

    /// What the memory has room for at first; it grows.
    struct Room {
        size_t texts = 1, tokens = 1; ///< of each text
    };
    /// @param model must outlive this, and keep its parameters and changes meanwhile
    /// @throws Error with whyNot()  @throws gpu::OutOfMemory
    explicit TextBatch(LanguageModel& model, const Room& room = {.texts = 1, .tokens = 1},
                       GpuExecutorOptions options = {});
    ~TextBatch();

    /// Begins a text without tokens. @param text a number that no text of the batch has
    void begin(int text) { memory_->begin(text); }
    /// Begins a text with the tokens and the logits of another. @throws gpu::OutOfMemory; there is then no other text
    void copy(int from, int to);
    void drop(int text);

    /// The next tokens of a text.
    struct Next {
        int text = 0;
        std::vector<int> tokens;
    };
    /// Runs tokens after those of their texts. If it throws, the texts are as before.
    /// @throws Error if they do not fit or are outside the vocabulary, or with whyNot()  @throws gpu::OutOfMemory
    void feed(std::span<const Next> next);
    /// The logits [V] after the last token of a text, of which feed() has run some.
    std::span<const float> logits(int text) const { return logits_.at(text); }
    const PagedMemory& memory() const { return *memory_; }

private:
    struct Row {
        int text = 0, token = 0;
        bool isLast = false; ///< of what feed() got for the text
    };
    struct Plan {
        int64_t rows = 0, keys = 0;
        auto operator<=>(const Plan&) const = default;
    };
    using Logits = std::map<int, std::vector<float>>;
    void run(std::span<const Row> rows, int64_t perStep, Logits& logits);
    GpuExecutor& executorFor(const Plan& plan);

    LanguageModel& model_;
    GpuExecutorOptions options_;
    std::unique_ptr<PagedMemory> memory_;
    Logits logits_;
    std::map<Plan, std::unique_ptr<GpuExecutor>> executors_;
    int64_t plannedRows_ = 0; ///< of the memory, for which the plans were made
};

} // namespace attn
