#pragma once

#include "engine/graph/plan.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Interprets a plan with the ops' plain-loop references, in double. It serves tests and explanations of a cell, never
/// a model's run. Inputs, parameters and states keep their values between runs.
class CpuExecutor {
public:
    struct Options {
        bool poisonArena = false; ///< fills the arena with NaN, so that a read before a write becomes visible
        uint64_t shuffleSeed = 0; ///< not 0: runs the ops between two barriers in a random order
    };

    CpuExecutor(std::shared_ptr<const Plan> plan, Options options);
    explicit CpuExecutor(std::shared_ptr<const Plan> plan) : CpuExecutor(std::move(plan), Options{}) {}

    /// Sets an Input, Parameter or State. @param values row-major, without padding
    /// @throws Error if the plan has no such source or the size differs
    void set(const std::string& name, std::span<const double> values);

    void run(const StepParams& step);

    /// A result or a source of the plan, without padding. @throws Error if there is none of that name
    std::vector<double> get(const std::string& name) const;

    /// The number of references that this process has executed; a test asserts that generation uses none.
    static uint64_t referenceCalls();

private:
    /// Where a planned tensor lies. @param self of which constness it has
    template <typename Self> static auto* memoryOf(Self& self, const PlannedTensor& tensor) {
        if (isShort(tensor)) return self.shorts_.at(tensor.byteOffset).data();
        auto& memory = tensor.home == Home::Arena ? self.arena_ : self.sources_.at(tensor.name);
        return memory.data() + tensor.byteOffset / 4;
    }
    static bool isShort(const PlannedTensor& tensor) { return bytesOf(tensor.type.dtype) == 2; }
    ReferenceTensor view(uint32_t tensor);
    const PlannedTensor* sourceNamed(const std::string& name) const;
    void runOp(const PlannedOp& op, const StepParams& step);

    std::shared_ptr<const Plan> plan_;
    Options options_;
    std::vector<double> arena_;                      ///< one for every four bytes of the plan's
    std::map<uint64_t, std::vector<double>> shorts_; ///< numbers of two bytes, by their place in the plan's arena
    std::map<std::string, std::vector<double>> sources_;
};

} // namespace attn
