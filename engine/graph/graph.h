#pragma once

#include "engine/core/shape.h"
#include "engine/core/storage.h"
#include "engine/graph/step_params.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct Op;
class Graph;

enum class DType : uint8_t { F32, I32, F16, BF16 };

/// The bytes of a number in a tensor.
constexpr uint64_t bytesOf(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 ? 2 : 4; }

/// The type of a tensor, known before it is computed.
struct TensorType {
    Shape shape{}; ///< the largest extents; the capacity if a length grows
    DType dtype = DType::F32;
    std::optional<StepScalar> liveRows{}; ///< the part of axis 0 that is in use this step; empty: all of it
    Storage storage = Storage::F32;       ///< for parameters, whose kernels read them as they are stored

    bool operator==(const TensorType&) const = default;
};

/// A value in a graph: one output of one node. Cheap to copy; valid while its graph exists.
struct Tensor {
    Graph* graph = nullptr;
    uint32_t node = 0;
    uint32_t output = 0;

    explicit operator bool() const { return graph != nullptr; }
    const TensorType& type() const;
    const Shape& shape() const { return type().shape; }
    bool operator==(const Tensor&) const = default;
};

/// The numbers that describe a node besides its inputs (sizes, epsilon, choices), by name.
class Attributes {
public:
    Attributes() = default;
    Attributes(std::initializer_list<std::pair<const std::string_view, double>> values) : values_(values) {}
    double number(std::string_view name) const; ///< @throws Error if it is missing
    int64_t integer(std::string_view name) const { return static_cast<int64_t>(number(name)); }
    bool flag(std::string_view name) const { return number(name) != 0; }
    void set(std::string_view name, double value) { values_[name] = value; }
    bool operator==(const Attributes&) const = default;

private:
    std::map<std::string_view, double> values_; // keys are literals in the op's own file
};

/// Where a node's value comes from.
enum class NodeKind : uint8_t {
    Operation,
    Input,     ///< written by the host before a step
    Parameter, ///< a trained tensor that outlives the plan
    State      ///< a named tensor outside the arena, written only by assign()
};

struct Node {
    NodeKind kind = NodeKind::Operation;
    const Op* op = nullptr; ///< null unless Operation
    Attributes attributes{};
    std::vector<Tensor> inputs{};
    std::vector<TensorType> outputs{};
    std::string name{}; ///< path, e.g. "blocks.0.attn.hook_q"; unique for Input, Parameter and State
};

/// The nodes with ids [first, end).
struct NodeRange {
    uint32_t first = 0, end = 0;
};

/// A static graph of named nodes in topological order. Model code builds it once; compile() turns it into plans.
class Graph {
public:
    Graph() = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Sources. A name that exists already gives the same tensor. @throws Error if its type differs
    Tensor input(std::string name, TensorType type);
    Tensor parameter(std::string name, Shape shape);
    Tensor state(std::string name, TensorType type);

    /// Adds an operation; its output types come from the op's shape rule.
    /// @throws Error if the inputs do not fit the op
    Tensor add(const Op& op, std::vector<Tensor> inputs, Attributes attributes = {}, std::string name = {});

    /// Names a tensor so that a plan can request it; it costs nothing otherwise.
    /// @param axes letters of the axes, such as "HTS"
    /// @return the tensor to continue with: the same, or the one that an editor replaces it by
    /// @throws Error if the name exists already
    Tensor probe(Tensor tensor, std::string name, std::string axes = {});

    /// Replaces probed tensors by others, for changes to a run.
    using Editor = std::function<Tensor(Tensor probed, const std::string& name)>;
    /// Sets the editor. @param names of probes that do not exist yet
    void edit(std::set<std::string> names, Editor editor);
    bool isChanged(const std::string& probe) const { return changed_.contains(probe); }

    /// Chooses the number format in which new operations read and store tensors.
    class Keeper {
    public:
        virtual ~Keeper() = default;
        /// Changes the inputs of an operation before it is added.
        virtual void read(const Op& op, const Attributes& attributes, std::vector<Tensor>& inputs) = 0;
        /// Sees an operation that has just been added.
        virtual void added(Tensor result) = 0;
        /// Forgets converted copies, so that they need not stay in memory.
        virtual void forget() = 0;
    };
    /// Sets the keeper; null: operations read what they are given.
    void keepThrough(std::shared_ptr<Keeper> keeper) { keeper_ = std::move(keeper); }
    Keeper* keeper() const { return keeper_.get(); }

    /// A named tensor that a plan computes only on request.
    struct Probe {
        Tensor tensor;
        std::string axes;
    };
    const std::map<std::string, Probe>& probes() const { return probes_; }
    const std::vector<std::string>& probeOrder() const { return probeOrder_; }

    const Node& node(uint32_t id) const { return nodes_[id]; }
    uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

private:
    Tensor source(NodeKind kind, std::string name, TensorType type);

    std::vector<Node> nodes_;
    std::map<std::string, Tensor> sources_;
    std::map<std::string, Probe> probes_;
    std::vector<std::string> probeOrder_;
    std::set<std::string> changed_; ///< names of probes
    Editor editor_;
    std::shared_ptr<Keeper> keeper_;
};

} // namespace attn
