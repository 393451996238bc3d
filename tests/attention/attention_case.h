#pragma once

#include "engine/attention/catalogue.h"
#include "engine/attention/flow.h"
#include "tests/support/device.h"

namespace attn::test {

/// An attention of a spec with random q, k and v: as a graph and as plain loops.
struct AttentionCase {
    AttentionSpec spec;
    int64_t queries = 6, keys = 6, width = 4, batch = 1, layer = 0;
    uint64_t seed = 1;
    bool mayFuse = true;

    std::shared_ptr<Graph> graph;
    std::map<std::string, std::vector<double>> values; ///< of inputs, parameters and constants
    std::map<std::string, Tensor> outputs; ///< "z"; "pattern" and "scores" where they are formed; shown ones
    std::optional<PatternFactors> factors;
    std::vector<Tensor> penalties;
    std::vector<std::string> learned; ///< names of parameters
    int64_t heads = 1, groups = 1;

    /// Builds the graph and draws the numbers.
    void build();
    /// The reference's answer for one of the batch.
    ReferenceFlow reference(int64_t sequence = 0) const;
    /// The graph's answers in double. @param withGradients also "d NAME" of sum(z * direction) for q, k, v and
    /// parameters
    std::map<std::string, std::vector<double>> onHost() const;
};

/// A graph's answers in double. @param values of all that it does not compute
std::map<std::string, std::vector<double>> runOnHost(const std::shared_ptr<Graph>& graph,
                                                     const std::map<std::string, std::vector<double>>& values,
                                                     const std::map<std::string, Tensor>& outputs);

/// The device's answers.
std::map<std::string, std::vector<double>> onDevice(TestDevice& device, const AttentionCase& test,
                                                    const std::map<std::string, Tensor>& outputs);

/// The catalogue's part in the nearest spec that works: under a causal mask where the part can be.
AttentionSpec specWith(const Part& part);

} // namespace attn::test
