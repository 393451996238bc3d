#include "engine/io/safetensors.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/cpu_executor.h"
#include "tests/ops/case.h"
#include "tests/support/device.h"

using namespace attn;
using namespace attn::test;

// Operations that read sequences, against tests/golden/sequence_ops.py: PyTorch in float64.

namespace {

/// A golden file as a case whose sources are the file's tensors.
class Golden {
public:
    explicit Golden(const std::string& name) : file_(ATTN_TEST_DIR "/golden/ops/" + name + ".safetensors") {
        test_.op = name;
    }

    Tensor real(const std::string& name) {
        const Tensor tensor = test_.graph->input(name, {.shape = shapeOf(name)});
        test_.values[name] = read(name);
        sources_[name] = tensor;
        return tensor;
    }
    Tensor integers(const std::string& name) {
        test_.values[name] = read(name);
        return test_.graph->input(name, {.shape = shapeOf(name), .dtype = DType::I32});
    }
    void expect(const std::string& name, Tensor result) {
        test_.expect("out " + name, result);
        const std::string direction = "direction " + name;
        test_.values[direction] = read(direction);
        const Tensor part = sum(multiply(result, test_.graph->input(direction, {.shape = shapeOf(direction)})));
        loss_ = loss_ ? add(loss_, part) : part;
    }
    /// Compares results and gradients with the file's, as the references and as the device compute them.
    void check() {
        std::vector<Tensor> sources;
        for (const auto& [name, tensor] : sources_) sources.push_back(tensor);
        const std::vector<Tensor> gradients = gradient(loss_, sources);
        size_t next = 0;
        for (const auto& [name, tensor] : sources_) test_.expect("d " + name, gradients[next++]);
        const auto plan = compile(test_.graph, test_.outputs);
        CpuExecutor cpu(plan, {.poisonArena = true});
        for (const auto& [name, values] : test_.values) cpu.set(name, values);
        cpu.run(test_.step);
        for (const auto& [name, tensor] : test_.outputs) compare(name, cpu.get(name), "reference");
        TestDevice device;
        for (const bool usesHost : device.hostChoices()) {
            KernelTraits traits = device.kernelTraits();
            traits.usesHost = usesHost;
            TensorStore store(device);
            GpuExecutor gpu(device, store, plan, {.traits = traits});
            for (const PlannedTensor& tensor : plan->tensors)
                if (tensor.home == Home::Input) writeInput(gpu, tensor.name, tensor.type, test_.values.at(tensor.name));
            gpu.run(test_.step);
            for (const auto& [name, tensor] : test_.outputs)
                compare(name, denseResult(gpu, name), usesHost ? "processor" : "shader");
        }
    }

private:
    Shape shapeOf(const std::string& name) const { return Shape(file_.tensors().at(name).shape); }
    std::vector<double> read(const std::string& name) const {
        const StoredTensor& tensor = file_.tensors().at(name);
        std::vector<float> values(static_cast<size_t>(tensor.elements()));
        REQUIRE(file_.read(tensor, 0, values) == 0);
        return {values.begin(), values.end()};
    }
    void compare(const std::string& name, const std::vector<double>& found, const char* by) const {
        const std::vector<double> expected = read(name);
        REQUIRE(found.size() == expected.size());
        double worst = 0; // 1e-5: fp32 sums of a few hundred terms of order 1, as stored in fp32
        for (size_t i = 0; i < found.size(); ++i)
            worst = std::max(worst, std::abs(found[i] - expected[i]) / (1e-5 * (1 + std::abs(expected[i]))));
        INFO(test_.op << ": " << name << " by the " << by);
        CHECK(worst <= 1);
    }

    SafetensorsFile file_;
    Case test_;
    std::map<std::string, Tensor> sources_;
    Tensor loss_;
};

/// The gates of all rows: x . W_input + biases. PyTorch's second bias of a GRU's gate n is left to the scan.
ScanInputs inputsOf(Golden& golden, Recurrence kind) {
    const Tensor x = golden.real("x"), h = golden.real("h");
    const Tensor inputBias = golden.real("bias_ih"), bias = golden.real("bias_hh");
    const int64_t W = h.shape()[1];
    ScanInputs in{.recurrent = golden.real("weight_hh"), .state = h, .lengths = golden.integers("lengths")};
    Tensor both = add(inputBias, bias);
    if (kind == Recurrence::Lstm) in.cell = golden.real("c");
    if (kind == Recurrence::Gru) {
        in.bias = slice(bias, 0, 2 * W, W);
        both = add(inputBias, pad(slice(bias, 0, 0, 2 * W), 0, 0, W));
    }
    in.gates = matmul(x, golden.real("weight_ih"), {.bias = both});
    return in;
}

} // namespace

TEST_CASE("scan: hidden states, last states and gradients equal PyTorch's, also where sequences end early",
          "[ops][gpu]") {
    for (const auto& [name, kind] :
         {std::pair{"rnn", Recurrence::Elman}, {"lstm", Recurrence::Lstm}, {"gru", Recurrence::Gru}}) {
        Golden golden(name);
        const Scanned out = scan(kind, inputsOf(golden, kind));
        golden.expect("hidden", out.hidden);
        golden.expect("state", out.state);
        if (out.cell) golden.expect("cell", out.cell);
        golden.check();
    }
}

TEST_CASE("convolve: results and gradients equal PyTorch's over one and two axes, in groups and by channel",
          "[ops][gpu]") {
    Golden golden("convolutions");
    const auto check = [&](const std::string& name, const std::vector<ConvolutionAxis>& axes, int64_t groups) {
        const Tensor x = golden.real(name + " x"), w = golden.real(name + " w"), b = golden.real(name + " b");
        golden.expect(name, convolve(x, w, b, axes, groups));
    };
    check("dense", {{.stride = 2, .before = 1, .after = 1}}, 1);
    check("groups", {{.dilation = 2, .before = 2, .after = 2}}, 2);
    check("depthwise", {ConvolutionAxis::causal(4)}, 5);
    check("image", {{.stride = 2, .before = 1, .after = 1}, {.dilation = 2}}, 1);
    check("depthwise image", {{.before = 1, .after = 1}, {.stride = 2, .before = 1, .after = 1}}, 6);
    golden.check();
}

TEST_CASE("linear_scan: results and gradients equal PyTorch's, of real and of complex numbers", "[ops][gpu]") {
    for (const bool isComplex : {false, true}) {
        Golden golden(isComplex ? "linear_complex" : "linear");
        const Tensor a = golden.real("a"), b = golden.real("b"), h = golden.real("h");
        const LinearScanned out =
            linearScan({.a = a, .b = b, .state = h, .lengths = golden.integers("lengths"), .isComplex = isComplex});
        golden.expect("hidden", out.hidden);
        golden.expect("state", out.state);
        golden.check();
    }
}

TEST_CASE("selective_scan: results and gradients equal PyTorch's", "[ops][gpu]") {
    Golden golden("selective");
    SelectiveScanInputs in{.x = golden.real("x"),
                           .step = golden.real("step"),
                           .decay = golden.real("decay"),
                           .in = golden.real("in"),
                           .out = golden.real("out"),
                           .state = golden.real("h"),
                           .skip = golden.real("skip"),
                           .lengths = golden.integers("lengths")};
    const SelectivelyScanned out = selectiveScan(in);
    golden.expect("y", out.y);
    golden.expect("state", out.state);
    golden.check();
}

TEST_CASE("grouped_matmul and top_k: a layer of experts and its gradients equal PyTorch's", "[ops][gpu]") {
    Golden golden("experts");
    const Tensor x = golden.real("x"), gate = golden.real("gate"), up = golden.real("up"), down = golden.real("down");
    const int64_t R = x.shape()[0], C = x.shape()[1], experts = gate.shape()[0], k = 2;
    const TopK top = topK(matmul(x, gate), k);
    const Tensor chosen = reshape(top.indices, {R * k}), order = sortOrder(toReal(chosen)),
                 begins = groupBegins(chosen, experts);
    const Tensor row = toInteger(affine(toReal(order), 1.0 / k, 0)); // of x, for each choice
    const Tensor inner = unary(groupedMatmul(take(x, row), up, begins), Unary::Tanh);
    const Tensor answers = take(groupedMatmul(inner, down, begins), inverseOrder(order)); // [R k, C]
    const Tensor weighed =
        binary(reshape(answers, {R, k, C}), reshape(softmax(top.values), {R, k, 1}), Binary::Multiply);
    golden.expect("y", reshape(reduce(weighed, Reduction::Sum, {1}), {R, C}));
    golden.check();
}
