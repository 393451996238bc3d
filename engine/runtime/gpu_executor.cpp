#include "engine/runtime/gpu_executor.h"

#include "engine/core/error.h"
#include "engine/gpu/profiler.h"
#include "engine/gpu/timeline.h"
#include "engine/host/pool.h"
#include "engine/runtime/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>

namespace attn {
namespace {

std::atomic<uint64_t> recorded{0};

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// The cost of an operation in multiply-adds, plus an equivalent for memory. Plans are cut into chunks of about equal
/// cost so that a run can be cancelled between them.
double workOf(const Plan& plan, const PlannedOp& op) {
    return operationsOf(plan, op) / 2 + 8 * static_cast<double>(plan.tensors[op.outputs[0]].type.shape.elements());
}

} // namespace

struct GpuExecutor::Impl {
    gpu::Context& context;
    KernelLibrary& kernels;
    TensorStore& store;
    const Plan& plan;

    gpu::Buffer arena, inputs, step, indirect, readback;
    std::map<std::string, uint64_t> inputOffsets;
    std::map<std::string, uint64_t> readbackOffsets;
    std::deque<gpu::BufferView> views; // stable addresses for descriptor writes
    gpu::DescriptorPool descriptors;
    std::vector<gpu::CommandBuffer> chunks;
    using Memory = std::span<const std::byte>;
    /// An operation that the processor computes, or several that it computes together.
    struct HostOp {
        std::string_view name;
        HostKernel kernel;
        std::vector<float*> inputs{}, outputs{};
        std::vector<Memory> weights{}, nextWeights{}; ///< of these products and of those that follow
        double elapsedMs = 0;                         ///< in the last run, while profiling
    };
    /// A part of a run: a chunk of recorded commands, or operations on the processor.
    struct Segment {
        std::optional<size_t> chunk;
        size_t stretches = 0; ///< of the profile, in a chunk
        std::vector<HostOp> ops{};
    };
    std::vector<Segment> segments;
    struct LiveGrid {
        uint64_t byteOffset;
        GridAxis x, y, z;
    };
    std::vector<LiveGrid> liveGrids;
    std::vector<Dispatch> dispatches;
    std::optional<gpu::Timeline> timeline;
    std::optional<gpu::Profiler> profiler;

    Impl(gpu::Context& c, KernelLibrary& k, TensorStore& s, const Plan& p)
        : context(c), kernels(k), store(s), plan(p), descriptors(c) {}

    struct Location {
        const gpu::Buffer* buffer;
        uint64_t byteOffset;
        uint64_t byteSize;
    };

    /// The storage in which an operation reads an input: the storage of the store, or floats.
    Storage storageFor(const PlannedOp& op, size_t input) const {
        const PlannedTensor& tensor = plan.tensors[op.inputs[input]];
        if (tensor.home != Home::Parameter) return Storage::F32;
        const TensorStore::Entry& entry = store.entry(tensor.name);
        const bool isWhole = tensor.type.shape == entry.shape; // not another view of it
        return isWhole && plan.graph->node(op.node).op->compactInput == static_cast<int>(input) ? entry.storage
                                                                                                : Storage::F32;
    }
    Location locateInput(const PlannedOp& op, size_t input) const {
        const PlannedTensor& tensor = plan.tensors[op.inputs[input]];
        if (tensor.home == Home::Parameter && store.entry(tensor.name).storage != storageFor(op, input)) {
            const gpu::Buffer& floats = store.widened(tensor.name);
            return {&floats, 0, floats.sizeBytes()};
        }
        return locate(op.inputs[input]);
    }

    Location locate(uint32_t index) const {
        const PlannedTensor& tensor = plan.tensors[index];
        switch (tensor.home) {
        case Home::Arena:
            return {&arena, tensor.byteOffset, std::max<uint64_t>(tensor.byteSize, 16)};
        case Home::Input:
            return {&inputs, inputOffsets.at(tensor.name) + tensor.byteOffset, std::max<uint64_t>(tensor.byteSize, 16)};
        case Home::Parameter:
        case Home::State:
            break;
        }
        const TensorStore::Entry& entry = store.entry(tensor.name);
        return {&store.buffer(entry), entry.byteOffset, entry.byteSize};
    }

    void allocate() {
        const auto make = [&](uint64_t bytes, gpu::Placement placement, const char* name) {
            return gpu::Buffer(context,
                               {.sizeBytes = std::max<uint64_t>(bytes, 256), .placement = placement, .name = name});
        };
        uint64_t inputBytes = 0, readbackBytes = 0;
        for (const PlannedTensor& tensor : plan.tensors) {
            if (tensor.home != Home::Input || inputOffsets.contains(tensor.name)) continue;
            inputOffsets[tensor.name] = inputBytes;
            inputBytes += alignUp(std::max<uint64_t>(tensor.byteSize, 16), 256);
        }
        arena = make(plan.arenaBytes, gpu::Placement::DeviceLocal, "arena");
        inputs = make(inputBytes, gpu::Placement::Upload, "inputs");
        step = make(sizeof(StepParams::words), gpu::Placement::Upload, "step parameters");
        indirect = make(dispatches.size() * 16, gpu::Placement::Upload, "workgroup counts");
        std::ranges::fill(inputs.mapped(), std::byte{0});
        if (arena.isMapped()) return;
        for (const auto& [name, index] : plan.results) {
            if (plan.tensors[index].home != Home::Arena) continue;
            readbackOffsets[name] = readbackBytes;
            readbackBytes += alignUp(plan.tensors[index].byteSize, 256);
        }
        readback = make(readbackBytes, gpu::Placement::Readback, "results");
    }

    gpu::DescriptorSet bind(const gpu::ComputePipeline& pipeline, const Dispatch& dispatch, const PlannedOp& op) {
        std::vector<gpu::BoundResource> resources{gpu::BufferRange{&step, 0, sizeof(StepParams::words)}};
        for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
            const Binding& binding = dispatch.bindings[i];
            Location at = binding.isOutput ? locate(op.outputs[binding.index]) : locateInput(op, binding.index);
            at.byteOffset += binding.byteOffset;
            at.byteSize = binding.byteSize != 0 ? binding.byteSize : at.byteSize - binding.byteOffset;
            if (pipeline.bindings()[i + 1] == gpu::BindingKind::TexelInput) {
                views.emplace_back(context, *at.buffer, at.byteOffset, at.byteSize);
                resources.emplace_back(&views.back());
            } else {
                resources.emplace_back(gpu::BufferRange{at.buffer, at.byteOffset, at.byteSize});
            }
        }
        return descriptors.allocate(pipeline, resources);
    }

    bool needsTexel(const Dispatch& dispatch, const PlannedOp& op) const {
        if (context.traits().prefersTexelInputs) return true;
        return std::ranges::any_of(dispatch.bindings, [&](const Binding& binding) {
            return binding.access == Access::Load4 && !binding.isOutput &&
                   locateInput(op, binding.index).byteSize > context.traits().maxStorageBufferRange;
        });
    }

    /// The types of an operation, with the storages of its inputs.
    struct NodeTypes {
        const Attributes& attributes;
        std::vector<TensorType> inputs{}, outputs{};
        OpTypes types() const { return {attributes, inputs, outputs}; }
    };
    NodeTypes typesOf(const PlannedOp& op) const {
        NodeTypes result{.attributes = plan.graph->node(op.node).attributes};
        for (size_t input = 0; input < op.inputs.size(); ++input) {
            result.inputs.push_back(plan.tensors[op.inputs[input]].type);
            result.inputs.back().storage = storageFor(op, input);
        }
        for (uint32_t output : op.outputs) result.outputs.push_back(plan.tensors[output].type);
        return result;
    }

    /// What one kernel of the processor computes, or the dispatches of one operation.
    struct Work {
        std::vector<const PlannedOp*> ops{};
        bool isOnHost = false;
        std::vector<Dispatch> list{};
    };
    const Op& kindOf(const PlannedOp& op) const { return *plan.graph->node(op.node).op; }

    /// Whether one kernel may compute an operation together with the ones before it: none reads or overwrites what
    /// another writes.
    bool joins(const Work& before, const PlannedOp& op) const {
        const auto readsOnlyParameters = [&](const PlannedOp& of) {
            return std::all_of(of.inputs.begin() + 1, of.inputs.end(),
                               [&](uint32_t input) { return plan.tensors[input].home == Home::Parameter; });
        };
        const auto isApart = [&](const PlannedOp& other) {
            const auto overlaps = [&](uint32_t a, uint32_t b) {
                const PlannedTensor &one = plan.tensors[a], &two = plan.tensors[b];
                return one.home == two.home && one.byteOffset < two.byteOffset + two.byteSize &&
                       two.byteOffset < one.byteOffset + one.byteSize;
            };
            return std::ranges::none_of(op.outputs, [&](uint32_t output) {
                return std::ranges::any_of(other.outputs, [&](uint32_t of) { return overlaps(output, of); });
            });
        };
        return before.isOnHost && kindOf(op).hostTogether != nullptr && before.ops.size() < Op::kMaxJoined &&
               readsOnlyParameters(op) && std::ranges::all_of(before.ops, [&](const PlannedOp* other) {
                   return &kindOf(*other) == &kindOf(op) && other->inputs[0] == op.inputs[0] &&
                          readsOnlyParameters(*other) && isApart(*other);
               });
    }

    HostKernel hostKernel(const Work& work) const {
        std::vector<NodeTypes> nodes;
        for (const PlannedOp* op : work.ops) nodes.push_back(typesOf(*op));
        if (nodes.size() == 1) return kindOf(*work.ops[0]).host(nodes[0].types());
        std::vector<OpTypes> types;
        for (const NodeTypes& node : nodes) types.push_back(node.types());
        return kindOf(*work.ops[0]).hostTogether(types);
    }

    void record(const KernelTraits& traits, const GpuExecutorOptions& options) {
        std::vector<Work> work;
        for (const PlannedOp& op : plan.ops) {
            if (op.aliasOnly) continue;
            if (traits.usesHost && kindOf(op).host != nullptr) {
                if (work.empty() || !joins(work.back(), op)) work.push_back({.isOnHost = true});
                work.back().ops.push_back(&op);
                continue;
            }
            work.push_back({.ops = {&op}, .list = kindOf(op).dispatch(typesOf(op).types(), traits)});
            for (const Dispatch& dispatch : work.back().list) dispatches.push_back(dispatch);
        }
        allocate();
        if (options.profiles) profiler.emplace(context, static_cast<uint32_t>(dispatches.size() + work.size()) + 1);

        // About 10 ms: software Vulkan does some 10 GFLOP/s, a real device hundreds of times that.
        const double chunkWork = options.cutsFinely ? 0 : context.traits().isSoftware ? 5e7 : 1e11;
        double chunk = 0;
        std::optional<gpu::CommandRecorder> recorder;
        const auto begin = [&] {
            chunks.emplace_back(context, fmt::format("chunk {}", chunks.size()));
            recorder.emplace(chunks.back());
            recorder->barrier(gpu::Stages::All, gpu::Stages::Device);
        };
        const auto finish = [&] {
            if (!recorder) return;
            if (profiler) profiler->mark(*recorder, {});
            recorder->barrier(gpu::Stages::Device, gpu::Stages::Host);
            recorder->finish();
            recorder.reset();
        };
        chunks.reserve(work.size() + 1); // recorders point at their command buffers
        for (const Work& each : work) {
            if (each.isOnHost) {
                finish();
                if (segments.empty() || segments.back().chunk) segments.emplace_back();
                segments.back().ops.push_back(hostOp(each));
                continue;
            }
            const PlannedOp& op = *each.ops[0];
            const double opWork = workOf(plan, op);
            if (recorder && chunk + opWork > chunkWork) finish();
            if (!recorder) {
                chunk = 0;
                segments.push_back({.chunk = chunks.size()});
                begin();
                if (profiler && chunks.size() == 1) profiler->reset(*recorder);
            } else if (op.barrierBefore) {
                recorder->barrier(gpu::Stages::Shader, gpu::Stages::Shader | gpu::Stages::Indirect);
            }
            chunk += opWork;
            for (const Dispatch& dispatch : each.list) emit(*recorder, op, dispatch);
            segments.back().stretches += each.list.size();
        }
        if (!readbackOffsets.empty()) {
            if (!recorder) {
                segments.push_back({.chunk = chunks.size()});
                begin();
            }
            recorder->barrier(gpu::Stages::Shader, gpu::Stages::Transfer);
            for (const auto& [name, offset] : readbackOffsets) {
                const PlannedTensor& tensor = plan.tensors[plan.results.at(name)];
                recorder->copy({.from = &arena,
                                .fromOffset = tensor.byteOffset,
                                .to = &readback,
                                .toOffset = offset,
                                .sizeBytes = tensor.byteSize});
            }
        }
        finish();
        expectWeights();
        ++recorded;
        timeline.emplace(context, "steps");
    }

    /// @throws Error if the processor cannot reach the memory of a tensor
    HostOp hostOp(const Work& work) const {
        const auto memoryOf = [&](const Location& at) {
            if (!at.buffer->isMapped())
                throw Error({.what = "the processor cannot reach the memory of this device",
                             .where = context.traits().name,
                             .hint = "choose the kernels \"auto\" or \"shader\""});
            return at.buffer->mappedAs<float>().data() + at.byteOffset / 4;
        };
        const Op& kind = kindOf(*work.ops[0]);
        HostOp result{.name = kind.name, .kernel = hostKernel(work)};
        for (const PlannedOp* op : work.ops) {
            for (size_t input = 0; input < op->inputs.size(); ++input) {
                const Location at = locateInput(*op, input);
                result.inputs.push_back(memoryOf(at));
                if (kind.hostTogether != nullptr && static_cast<int>(input) == kind.compactInput &&
                    plan.tensors[op->inputs[input]].home == Home::Parameter)
                    result.weights.push_back({reinterpret_cast<const std::byte*>(result.inputs.back()), at.byteSize});
            }
            for (uint32_t output : op->outputs) result.outputs.push_back(memoryOf(locate(output)));
        }
        return result;
    }

    /// Tells each product which weights the next one reads.
    void expectWeights() {
        std::vector<HostOp*> products;
        for (Segment& segment : segments)
            for (HostOp& op : segment.ops)
                if (!op.weights.empty()) products.push_back(&op);
        for (size_t i = 0; i < products.size(); ++i)
            products[i]->nextWeights = products[(i + 1) % products.size()]->weights;
    }

    /// @return false if it was cancelled
    bool runOnHost(Segment& segment, const StepParams& params, const std::function<bool()>& isCancelled) {
        for (HostOp& op : segment.ops) {
            if (isCancelled && isCancelled()) return false;
            const auto begin = std::chrono::steady_clock::now();
            if (!op.weights.empty()) host::Pool::shared().expect(op.nextWeights);
            op.kernel({op.inputs, op.outputs, params, host::Pool::shared()});
            op.elapsedMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        }
        return true;
    }

    std::vector<gpu::Stretch> profile() const {
        if (!profiler) return {};
        std::vector<gpu::Stretch> all;
        const std::vector<gpu::Stretch> onDevice = chunks.empty() ? std::vector<gpu::Stretch>() : profiler->stretches();
        size_t next = 0;
        for (const Segment& segment : segments) {
            for (const HostOp& op : segment.ops) all.push_back({std::string(op.name) + " (processor)", op.elapsedMs});
            for (size_t i = 0; i < segment.stretches && next < onDevice.size(); ++i) all.push_back(onDevice[next++]);
            if (segment.chunk) ++next; // from its end to the next chunk
        }
        return all;
    }

    void emit(gpu::CommandRecorder& recorder, const PlannedOp& op, const Dispatch& dispatch) {
        if (dispatch.barrierBefore) recorder.barrier(gpu::Stages::Shader, gpu::Stages::Shader | gpu::Stages::Indirect);
        const gpu::ComputePipeline& pipeline = kernels.pipeline(dispatch, needsTexel(dispatch, op));
        if (profiler) profiler->mark(recorder, std::string(dispatch.shader));
        recorder.bind(pipeline, bind(pipeline, dispatch, op));
        if (!dispatch.push.empty()) recorder.push(pipeline, dispatch.push);
        if (dispatch.indirectFrom) {
            const Location at = locate(dispatch.indirectFrom->isOutput ? op.outputs[dispatch.indirectFrom->index]
                                                                       : op.inputs[dispatch.indirectFrom->index]);
            recorder.dispatchIndirect(*at.buffer, at.byteOffset + dispatch.indirectFrom->byteOffset);
        } else if (dispatch.x.live || dispatch.y.live || dispatch.z.live) {
            liveGrids.push_back({liveGrids.size() * 16, dispatch.x, dispatch.y, dispatch.z});
            recorder.dispatchIndirect(indirect, liveGrids.back().byteOffset);
        } else {
            recorder.dispatch(dispatch.x.count, dispatch.y.count, dispatch.z.count);
        }
    }

    std::span<const std::byte> resultBytes(const std::string& name) const {
        const PlannedTensor& tensor = plan.result(name);
        if (tensor.home == Home::Input)
            return inputs.mapped().subspan(inputOffsets.at(tensor.name) + tensor.byteOffset, tensor.byteSize);
        if (tensor.home != Home::Arena)
            throw Error({.what = "this result is a source, not a computed tensor", .where = name});
        if (arena.isMapped()) return arena.mapped().subspan(tensor.byteOffset, tensor.byteSize);
        return readback.mapped().subspan(readbackOffsets.at(name), tensor.byteSize);
    }

    std::span<std::byte> inputBytes(const std::string& name) {
        const auto found = inputOffsets.find(name);
        if (found == inputOffsets.end()) throw Error({.what = "the plan has no such input", .where = name});
        const auto tensor = std::ranges::find_if(
            plan.tensors, [&](const PlannedTensor& t) { return t.home == Home::Input && t.name == name; });
        return inputs.mapped().subspan(found->second, tensor->byteSize);
    }
};

GpuExecutor::GpuExecutor(Device& device, TensorStore& store, std::shared_ptr<const Plan> plan,
                         const GpuExecutorOptions& options)
    : plan_(std::move(plan)) {
    impl_ = std::make_unique<Impl>(device.context(), device.kernels(), store, *plan_);
    impl_->record(options.traits.value_or(device.kernelTraits()), options);
}

GpuExecutor::~GpuExecutor() = default;

namespace {

template <typename T, typename Bytes> std::span<T> castSpan(Bytes bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

} // namespace

bool GpuExecutor::hasInput(const std::string& name) const { return impl_->inputOffsets.contains(name); }
std::span<float> GpuExecutor::input(const std::string& name) { return castSpan<float>(impl_->inputBytes(name)); }
std::span<int32_t> GpuExecutor::inputIntegers(const std::string& name) {
    return castSpan<int32_t>(impl_->inputBytes(name));
}
std::span<const float> GpuExecutor::result(const std::string& name) const {
    return castSpan<const float>(impl_->resultBytes(name));
}
std::span<const int32_t> GpuExecutor::resultIntegers(const std::string& name) const {
    return castSpan<const int32_t>(impl_->resultBytes(name));
}

bool GpuExecutor::run(const StepParams& step, const std::function<bool()>& isCancelled) {
    std::memcpy(impl_->step.mapped().data(), step.words.data(), sizeof(step.words));
    for (const Impl::LiveGrid& grid : impl_->liveGrids) {
        const std::array<uint32_t, 3> counts{grid.x.groups(step), grid.y.groups(step), grid.z.groups(step)};
        std::memcpy(impl_->indirect.mapped().data() + grid.byteOffset, counts.data(), sizeof(counts));
    }
    for (Impl::Segment& segment : impl_->segments) {
        if (!segment.chunk) {
            if (!impl_->runOnHost(segment, step, isCancelled)) return false;
            continue;
        }
        if (isCancelled && isCancelled()) return false;
        impl_->timeline->wait(impl_->timeline->submit(impl_->chunks[*segment.chunk]));
    }
    return true;
}

uint64_t GpuExecutor::deviceBytes() const {
    return impl_->arena.sizeBytes() + impl_->inputs.sizeBytes() + impl_->step.sizeBytes() +
           impl_->indirect.sizeBytes() + impl_->readback.sizeBytes();
}

std::vector<gpu::Stretch> GpuExecutor::profile() const { return impl_->profile(); }

size_t GpuExecutor::hostOpCount() const {
    size_t count = 0;
    for (const Impl::Segment& segment : impl_->segments) count += segment.ops.size();
    return count;
}
size_t GpuExecutor::kernelCount() const { return impl_->dispatches.size() + hostOpCount(); }
size_t GpuExecutor::chunkCount() const { return impl_->chunks.size() + hostOpCount(); }

GpuExecutor::DeviceResult GpuExecutor::deviceResult(const std::string& name) const {
    const auto found = plan_->results.find(name);
    if (found == plan_->results.end()) throw Error({.what = "this plan has no such result", .where = name});
    const Impl::Location at = impl_->locate(found->second);
    return {at.buffer, at.byteOffset, at.byteSize, plan_->tensors[found->second].type.shape};
}

uint64_t GpuExecutor::recordings() { return recorded.load(); }

} // namespace attn
