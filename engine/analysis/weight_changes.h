#pragma once

#include <functional>
#include <string>
#include <vector>

namespace attn {

/// How training has changed a matrix W.
struct MatrixChange {
    std::string name;             ///< "W_Q"
    double norm = 0;              ///< Frobenius norm of the difference, divided by that of W before
    std::vector<double> singular; ///< singular values of the difference, divided by that norm of W, largest first

    /// The number of singular values that are more than a thousandth of the largest: smaller ones are rounding.
    int rank() const;
};

/// How training has changed the attention of a site.
struct SiteChange {
    std::string label; ///< as in figures: "L2"
    std::vector<MatrixChange> matrices;
};

/// Compares the matrices W_Q, W_K, W_V and W_O of two models, for each site that has them. Matrices that the model
/// before lacks, or has in another shape, are left out.
/// @param before, after paths as for openModelSource() and openModelSource(), of models with the same layers
/// @param mayContinue false ends it; the result is then incomplete
/// @throws Error naming the file and the problem, or if the models have other sites
std::vector<SiteChange> weightChanges(const std::string& before, const std::string& after,
                                      const std::function<bool()>& mayContinue);

} // namespace attn
