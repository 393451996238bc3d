#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "tests/ops/case.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn::test {
namespace {

/// How many rows of each sequence count, or none if all do; some numbers are too small or too large.
Tensor someLengths(Case& t, int64_t B, int64_t T) {
    if (randomSize(2) == 1) return {};
    const Tensor lengths = t.integers("lengths", {B}, T + 3);
    for (double& length : t.values["lengths"]) length -= 1;
    return lengths;
}

/// Expects the gradients of a sum of the results by some sources.
void expectGradients(Case& t, Tensor result, const std::map<std::string, Tensor>& sources) {
    const Tensor loss = sum(multiply(result, t.real("direction", result.shape())));
    std::vector<Tensor> list;
    for (const auto& [name, source] : sources)
        if (source) list.push_back(source);
    const std::vector<Tensor> gradients = gradient(loss, list);
    size_t next = 0;
    for (const auto& [name, source] : sources)
        if (source) t.expect("d " + name, gradients[next++]);
}

/// The inputs of a node of the graph by their names, as far as they are inputs of the graph.
std::map<std::string, Tensor> sourcesOf(const Case& t) {
    std::map<std::string, Tensor> sources;
    for (uint32_t id = 0; id < t.graph->size(); ++id)
        if (t.graph->node(id).kind == NodeKind::Input && t.graph->node(id).outputs[0].dtype == DType::F32)
            sources[t.graph->node(id).name] = {t.graph.get(), id, 0};
    return sources;
}

} // namespace

Tensor together(std::span<const Tensor> tensors) {
    std::vector<Tensor> flat;
    for (const Tensor& tensor : tensors)
        if (tensor) flat.push_back(reshape(tensor, {tensor.shape().elements()}));
    return concatenate(flat, 0);
}

Scanned scanCase(Case& t, int64_t most) {
    const auto kind = static_cast<Recurrence>(randomSize(3) - 1);
    const int64_t count = kind == Recurrence::Lstm ? 4 : kind == Recurrence::Gru ? 3 : 1;
    const int64_t B = randomSize(9), T = randomSize(most), W = randomSize(most);
    ScanInputs in{.gates = t.real("x", {B, T, count * W}),
                  .recurrent = t.real("r", {count * W, W}, {}, 0.3),
                  .state = t.real("h", {B, W})};
    if (kind == Recurrence::Lstm) in.cell = t.real("c", {B, W});
    if (kind == Recurrence::Gru && randomSize(2) == 1) in.bias = t.real("b", {W});
    in.lengths = someLengths(t, B, T);
    return scan(kind, in);
}

LinearScanned linearScanCase(Case& t, int64_t most) {
    const bool isComplex = randomSize(2) == 1;
    const int64_t B = randomSize(3), T = randomSize(most), W = isComplex ? 2 * randomSize(20) : randomSize(40);
    const Shape rows{B, T, W};
    LinearScanInputs in{.a = t.real("a", randomSize(3) == 1 ? Shape{W} : rows),
                        .b = t.real("b", rows),
                        .state = t.real("h", {B, W}),
                        .lengths = someLengths(t, B, T),
                        .isComplex = isComplex};
    for (double& a : t.values["a"]) a = 0.65 * std::tanh(a); // fading
    return linearScan(in);
}

SelectivelyScanned selectiveScanCase(Case& t, int64_t most) {
    const int64_t B = randomSize(3), T = randomSize(most), W = randomSize(40), N = randomSize(9);
    SelectiveScanInputs in{.x = t.real("x", {B, T, W}, {}, 0.5),
                           .step = t.real("step", {B, T, W}, {}, 0.5),
                           .decay = t.real("decay", {W, N}),
                           .in = t.real("in", {B, T, N}, {}, 0.5),
                           .out = t.real("out", {B, T, N}, {}, 0.5),
                           .state = t.real("h", {B, N, W}, {}, 0.3), // its terms add up over all rows
                           .lengths = someLengths(t, B, T)};
    for (double& step : t.values["step"]) step = std::abs(step);
    for (double& decay : t.values["decay"]) decay = -std::abs(decay);
    if (randomSize(2) == 1) in.skip = t.real("skip", {W});
    return selectiveScan(in);
}

Tensor groupedCase(Case& t, int64_t most) {
    const int64_t R = randomSize(2 * most), groups = randomSize(5), N = randomSize(3 * most), K = randomSize(2 * most);
    const Tensor begins = t.integers("begins", {groups + 1}, R + 3);
    for (double& begin : t.values["begins"]) begin -= 1; // some before all rows, or after
    std::ranges::sort(t.values["begins"]);
    return groupedMatmul(t.real("x", {R, K}), t.real("w", {groups, N, K}, {}, 0.3), begins);
}

Tensor convolveCase(Case& t, int64_t most) {
    const int64_t groups = randomSize(3), kind = randomSize(3);
    const int64_t C = kind == 1 ? randomSize(3 * most) : groups * randomSize(most);
    const int64_t O = kind == 1 ? C : groups * randomSize(most), used = kind == 1 ? C : kind == 2 ? 1 : groups;
    std::vector<int64_t> x{randomSize(3)}, w{O, C / used};
    std::vector<ConvolutionAxis> axes;
    for (int64_t axis = randomSize(2); axis > 0; --axis) {
        const int64_t rows = randomSize(most), taps = randomSize(4);
        ConvolutionAxis way{.stride = randomSize(3),
                            .dilation = randomSize(3),
                            .before = randomSize(4) - 1,
                            .after = randomSize(4) - 1};
        if (randomSize(3) == 1) way = ConvolutionAxis::causal(taps, way.dilation);
        const int64_t missing = way.dilation * (taps - 1) + 1 - rows - way.before - way.after;
        way.after += std::max<int64_t>(missing, 0);
        axes.push_back(way);
        x.push_back(rows);
        w.push_back(taps);
    }
    x.push_back(C);
    const Tensor input = t.real("x", Shape(x)), kernel = t.real("w", Shape(w), {}, 0.3);
    return convolve(input, kernel, randomSize(2) == 1 ? t.real("b", {O}) : Tensor(), axes, used);
}

void addSequenceBuilders(std::map<std::string, Builder>& all) {
    all["scan"] = [](Case& t) {
        const Scanned out = scanCase(t, 20);
        t.expect("hidden", out.hidden);
        t.expect("state", out.state);
        if (out.cell) t.expect("cell", out.cell);
        const uint32_t kept = out.cell ? 3 : 2; // the last output, which only the gradient reads
        if (t.graph->node(out.hidden.node).outputs.size() > kept)
            t.expect("kept", {out.hidden.graph, out.hidden.node, kept});
    };
    all["scan_gradient"] = [](Case& t) {
        const Scanned out = scanCase(t, 20);
        const std::map<std::string, Tensor> sources = sourcesOf(t);
        expectGradients(t, together(std::array{out.hidden, out.state, out.cell}), sources);
    };
    all["grouped_matmul"] = [](Case& t) { t.expect("out", groupedCase(t, 40)); };
    all["grouped_matmul_weight_gradient"] = [](Case& t) {
        const Tensor out = groupedCase(t, 40);
        const std::map<std::string, Tensor> sources = sourcesOf(t);
        expectGradients(t, out, sources);
    };
    all["linear_scan"] = [](Case& t) {
        const LinearScanned out = linearScanCase(t, 150);
        t.expect("hidden", out.hidden);
        t.expect("state", out.state);
    };
    all["linear_scan_gradient"] = [](Case& t) {
        const LinearScanned out = linearScanCase(t, 150);
        const std::map<std::string, Tensor> sources = sourcesOf(t);
        expectGradients(t, together(std::array{out.hidden, out.state}), sources);
    };
    all["selective_scan"] = [](Case& t) {
        const SelectivelyScanned out = selectiveScanCase(t, 70);
        t.expect("y", out.y);
        t.expect("state", out.state);
    };
    all["selective_scan_gradient"] = [](Case& t) {
        const SelectivelyScanned out = selectiveScanCase(t, 70);
        const std::map<std::string, Tensor> sources = sourcesOf(t);
        expectGradients(t, together(std::array{out.y, out.state}), sources);
    };
    all["convolve"] = [](Case& t) { t.expect("out", convolveCase(t, 20)); };
    all["convolve_input_gradient"] = [](Case& t) {
        const Tensor out = convolveCase(t, 20);
        expectGradients(t, out, {{"x", sourcesOf(t).at("x")}});
    };
    all["convolve_weight_gradient"] = [](Case& t) {
        const Tensor out = convolveCase(t, 12);
        std::map<std::string, Tensor> sources = sourcesOf(t);
        sources.erase("x");
        expectGradients(t, out, sources);
    };
}

void addSequenceGradients(std::map<std::string, Builder>& all) {
    all["convolve"] = [](Case& t) { t.expect("y", convolveCase(t, 7)); };
    all["grouped_matmul"] = [](Case& t) { t.expect("y", groupedCase(t, 7)); };
    all["gather_pages"] = [](Case& t) {
        const Tensor pages = t.real("x", {randomSize(5), randomSize(4), randomSize(6)});
        t.expect("y", gatherPages(pages, t.integers("pages", {randomSize(3), randomSize(4)}, 6)));
    };
    all["top_k"] = [](Case& t) {
        const int64_t C = randomSize(9);
        t.expect("y", topK(t.real("x", {randomSize(4), C}), randomSize(C)).values);
    };
    all["linear_scan"] = [](Case& t) {
        const LinearScanned out = linearScanCase(t, 9);
        t.expect("y", together(std::array{out.hidden, out.state}));
    };
    all["selective_scan"] = [](Case& t) {
        const SelectivelyScanned out = selectiveScanCase(t, 40); // more than a chunk
        t.expect("y", together(std::array{out.y, out.state}));
    };
    all["scan"] = [](Case& t) {
        const Scanned out = scanCase(t, 6);
        t.expect("y",
                 together(randomSize(3) == 1 ? std::vector{out.state} : std::vector{out.hidden, out.state, out.cell}));
    };
}

} // namespace attn::test
