#pragma once

#include "engine/training/trainer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace attn {

/// Measures how much a step changes a model: for each part, the length of the change of its trained parameters divided
/// by the length of the parameters before.
class UpdateRatios {
public:
    /// Where the parameters before a step lie.
    enum class On : uint8_t {
        Device, ///< in room that this takes from it, so that nothing is read
        Host    ///< read before and after the step
    };
    /// @param trainer must outlive this  @param on none: on the device, if it has room
    explicit UpdateRatios(Trainer& trainer, std::optional<On> on = {});
    void remember(); ///< before a step
    /// @return after it, the ratio of the parameters outside layers, then that of each layer; 0 for a part of zeros
    std::vector<double> measure();

private:
    void prepareDevice();
    double squaresOf(std::string_view what, size_t parameter) const;

    Trainer& trainer_;
    std::vector<Trainer::Named> parameters_; ///< that training changes
    std::vector<size_t> partOf_;             ///< of each
    size_t parts_;
    std::unique_ptr<GpuExecutor> remember_, measure_; ///< null on the host
    std::vector<std::vector<float>> before_;          ///< on the host
};

} // namespace attn
