#pragma once

#include "engine/models/left_out.h"
#include "engine/models/weight_recipe.h"

#include <string>
#include <vector>

namespace attn {

class TensorStore;

/// The weights of a model that can be loaded, from a folder or by construction.
class ParameterSource {
public:
    virtual ~ParameterSource() = default;

    virtual const std::string& configText() const = 0; ///< JSON for display
    virtual std::string familyTitle() const = 0;
    virtual std::string dtype() const = 0; ///< dtype of most parameters: "F32", "F16", "BF16"
    virtual std::string sourceName(const std::string& parameter) const = 0; ///< name in the file, empty if constructed
    /// Reads a parameter.
    /// @return the number of values that are NaN or infinite
    /// @throws Error naming the file and the tensor if it is missing or has another shape
    virtual int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const = 0;
    /// The parameters as floats on a device, by the engine's names, to copy in place of read(). Null: not there.
    virtual const TensorStore* stored() const { return nullptr; }

    /// Warnings about the numbers, in sentences: assumptions, and contents that were left out.
    virtual const std::vector<std::string>& warnings() const;
    /// The contents of the files that nothing reads; empty for a constructed model. warnings() names them too.
    virtual const LeftOut& leftOut() const;
};

} // namespace attn
