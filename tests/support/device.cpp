#include "tests/support/device.h"

#include "engine/gpu/context.h"

#include <random>

namespace attn::test {

TestDevice::TestDevice(std::optional<int> softwareThreads)
    : Device({.softwareThreads = softwareThreads, .validation = true}) {}

TestDevice::~TestDevice() {
    for (const std::string& message : context().validationMessages()) {
        UNSCOPED_INFO(message);
        CHECK(message.empty());
    }
}

std::vector<bool> TestDevice::hostChoices() const {
    return traits().isSoftware ? std::vector{false, true} : std::vector{false};
}

void reserveSources(TensorStore& store, const Plan& plan) {
    std::vector<std::pair<std::string, Shape>> tensors;
    for (const PlannedTensor& tensor : plan.tensors)
        if ((tensor.home == Home::Parameter || tensor.home == Home::State) && !store.contains(tensor.name)) {
            const bool isNew = std::ranges::none_of(tensors, [&](const auto& t) { return t.first == tensor.name; });
            if (isNew) tensors.emplace_back(tensor.name, tensor.type.shape);
        }
    store.reserve(tensors);
}

void writeDense(TensorStore& store, const std::string& name, const std::vector<double>& values) {
    const Shape shape = store.entry(name).shape;
    store.write(name, [&](int64_t firstRow, std::span<float> rows) {
        const auto stride = static_cast<size_t>(shape.rowStride()), columns = static_cast<size_t>(shape.columns());
        for (size_t row = 0; row < rows.size() / stride; ++row)
            for (size_t c = 0; c < columns; ++c)
                rows[row * stride + c] =
                    static_cast<float>(values[(static_cast<size_t>(firstRow) + row) * columns + c]);
    });
}

void writeInput(GpuExecutor& executor, const std::string& name, const TensorType& type,
                const std::vector<double>& values) {
    const Shape& shape = type.shape;
    for (int64_t i = 0; i < shape.elements(); ++i) {
        const auto at = static_cast<size_t>(i / shape.columns() * shape.rowStride() + i % shape.columns());
        const double value = values[static_cast<size_t>(i)];
        if (type.dtype == DType::I32)
            executor.inputIntegers(name)[at] = static_cast<int32_t>(value);
        else
            executor.input(name)[at] = static_cast<float>(value);
    }
}

std::vector<double> normals(int64_t count) {
    static std::mt19937 random(11);
    std::normal_distribution<float> normal;
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(normal(random)));
    return values;
}

std::vector<double> denseResult(const GpuExecutor& executor, const std::string& name) {
    const PlannedTensor& tensor = executor.plan().result(name);
    const Shape& shape = tensor.type.shape;
    std::vector<double> values;
    for (int64_t row = 0; row < shape.rows(); ++row)
        for (int64_t c = 0; c < shape.columns(); ++c) {
            const auto at = static_cast<size_t>(row * shape.rowStride() + c);
            values.push_back(tensor.type.dtype == DType::I32 ? executor.resultIntegers(name)[at]
                                                             : static_cast<double>(executor.result(name)[at]));
        }
    return values;
}

} // namespace attn::test
