#include "engine/analysis/weight_changes.h"

#include "engine/core/error.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "engine/models/structure.h"

#include <Eigen/SVD>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace attn {
namespace {

using Matrix = Eigen::MatrixXd;

/// The matrices of an open model of any kind.
struct OpenModel {
    std::unique_ptr<const ModelSource> source;
    ModelStructure structure;
    std::map<std::string, Shape> shapes; ///< of its parameters

    explicit OpenModel(const std::string& path)
        : source(openModelSource(path)), structure(structureOf(source->config(), source->config().context)) {
        const ModelGraph model = buildForListing(source->config());
        for (const Node* node : storedParameters(*model.graph)) shapes.emplace(node->name, node->outputs[0].shape);
    }
    Matrix read(const std::string& name) const {
        const Shape& shape = shapes.at(name);
        std::vector<float> rows(static_cast<size_t>(shape.paddedElements()));
        source->read(name, shape, [&](const auto& fill) { fill(0, rows); });
        using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        return Eigen::Map<Rows>(rows.data(), shape[0], shape.rowStride()).leftCols(shape[1]).cast<double>();
    }
};

} // namespace

int MatrixChange::rank() const {
    return static_cast<int>(
        std::ranges::count_if(singular, [&](double value) { return value > 1e-3 * singular.front(); }));
}

std::vector<SiteChange> weightChanges(const std::string& before, const std::string& after,
                                      const std::function<bool()>& mayContinue) {
    const OpenModel old(before), now(after);
    std::vector<SiteChange> changes;
    for (size_t site = 0; site < now.structure.sites.size(); ++site) {
        SiteChange change{.label = now.structure.labelOf(static_cast<int>(site)), .matrices = {}};
        for (const char* matrix : {"W_Q", "W_K", "W_V", "W_O"}) {
            const std::string name = now.structure.sites[site].inSite(matrix);
            const auto shape = now.shapes.find(name);
            if (shape == now.shapes.end() || !mayContinue()) continue;
            const auto was = old.shapes.find(name);
            if (was == old.shapes.end() || was->second != shape->second) continue; // new, because the attention differs
            const Matrix start = old.read(name), difference = now.read(name) - start;
            const double norm = std::max(start.norm(), 1e-30);
            const Eigen::VectorXd values = Eigen::BDCSVD<Matrix>(difference).singularValues() / norm;
            change.matrices.push_back({.name = matrix,
                                       .norm = difference.norm() / norm,
                                       .singular = {values.data(), values.data() + values.size()}});
        }
        if (!change.matrices.empty()) changes.push_back(std::move(change));
    }
    return changes;
}

} // namespace attn
