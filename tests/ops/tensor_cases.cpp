#include "engine/ops/definitions.h"
#include "engine/ops/tensor_ops.h"
#include "tests/ops/case.h"

namespace attn::test {
namespace {

/// A shape of `rank` axes; a third of the axes have one index.
Shape randomShape(int rank, int64_t most) {
    std::vector<int64_t> extents;
    for (int axis = 0; axis < rank; ++axis) extents.push_back(randomSize(3) == 1 ? 1 : randomSize(most));
    return Shape(extents);
}

int randomRank(int least, int most) { return least - 1 + static_cast<int>(randomSize(most - least + 1)); }

int randomAxis(const Shape& shape) {
    return static_cast<int>(randomSize(shape.rank())) - 1 - (randomSize(2) == 1 ? shape.rank() : 0);
}

/// Extents that keep the elements of a tensor of this rank in the thousands.
int64_t mostAtRank(int rank, int64_t most) {
    return rank <= 2 ? most : rank == 3 ? std::min<int64_t>(most, 20) : std::min<int64_t>(most, 7);
}

/// Shapes of two tensors that broadcast to one another, each repeated along some axes or lacking the first ones.
std::pair<Shape, Shape> broadcasting(int64_t most) {
    const int rank = randomRank(1, 5);
    const Shape whole = randomShape(rank, mostAtRank(rank, most));
    const auto part = [&] {
        std::vector<int64_t> extents = whole.extents();
        for (int64_t& extent : extents)
            if (randomSize(3) == 1) extent = 1;
        extents.erase(extents.begin(), extents.begin() + randomRank(1, rank) - 1);
        return Shape(extents);
    };
    switch (randomSize(4)) {
    case 1:
        return {whole, part()};
    case 2:
        return {part(), whole};
    case 3:
        return {whole, whole};
    default:
        return {part(), part()};
    }
}

Tensor randomTensor(Case& t, int64_t most, int leastRank = 1) {
    const int rank = randomRank(leastRank, 5);
    return t.real("x", randomShape(rank, mostAtRank(rank, most)));
}

/// Moves the values of an input to where a function is smooth or defined.
void change(Case& t, const std::string& name, double (*to)(double)) {
    for (double& value : t.values[name]) value = static_cast<double>(static_cast<float>(to(value)));
}

double positive(double x) { return 0.5 + std::abs(x); }
double awayFromZero(double x) { return x + (x < 0 ? -0.5 : 0.5); }
/// Between two integers, so that a small step leads to neither.
double awayFromIntegers(double x) { return std::floor(x) + 0.25 + 0.5 * (x - std::floor(x)); }

Tensor unaryCase(Case& t, int64_t most) {
    const Shape shape = randomShape(2, most);
    const Tensor any = t.real("any", shape), kinked = t.real("kinked", shape), strict = t.real("strict", shape);
    change(t, "kinked", awayFromIntegers);
    change(t, "strict", positive);
    std::vector<Tensor> results{affine(any, -1.5, 0.75), clamp(kinked, -1, 1)};
    for (Unary function : {Unary::Exponential, Unary::Tanh, Unary::Sigmoid, Unary::Square, Unary::Sine, Unary::Cosine,
                           Unary::EluPlusOne, Unary::Negate})
        results.push_back(unary(any, function));
    for (Unary function : {Unary::Absolute, Unary::Floor, Unary::Relu}) results.push_back(unary(kinked, function));
    for (Unary function :
         {Unary::Logarithm, Unary::SquareRoot, Unary::Reciprocal, Unary::ReciprocalSquareRoot, Unary::Absolute})
        results.push_back(unary(strict, function));
    return concatenate(results, 0);
}

/// The gradients of all functions, of which each is an op on x or on the result.
Tensor unaryGradientCase(Case& t, int64_t most) {
    const Shape shape = randomShape(2, most);
    const Tensor known = t.real("x", shape), dy = t.real("dy", shape);
    change(t, "x", awayFromZero);
    std::vector<Tensor> results;
    for (int function = 0; function <= static_cast<int>(Unary::Negate) + 2; ++function)
        if (function != static_cast<int>(Unary::Floor) && function != static_cast<int>(Unary::Negate) &&
            function != static_cast<int>(Unary::Negate) + 1)
            results.push_back(
                t.graph->add(kUnaryGradient, {known, dy}, {{"function", function}, {"first", -1}, {"second", 1}}));
    return concatenate(results, 0);
}

Tensor binaryCase(Case& t, int64_t most) {
    const auto [left, right] = broadcasting(most);
    const Tensor a = t.real("a", left), b = t.real("b", right);
    change(t, "b", awayFromZero);
    std::vector<Tensor> results;
    for (Binary function : {Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide, Binary::Maximum,
                            Binary::Minimum, Binary::Less, Binary::Equal})
        results.push_back(binary(a, b, function));
    results.push_back(binary(a, a, Binary::Equal));
    results.back() = broadcast(results.back(), results.front().shape());
    return concatenate(results, 0);
}

Tensor selectCase(Case& t, int64_t most) {
    const auto [left, right] = broadcasting(most);
    const Tensor a = t.real("a", left), b = t.real("b", right), third = randomSize(2) == 1 ? a : b;
    const Tensor condition = t.real("table", third.shape()); // fixed: a step through zero would jump
    for (double& value : t.values["table"]) value = value < 0 ? 0 : value;
    return select(condition, a, b);
}

Tensor matmulCase(Case& t, int64_t most) {
    const int64_t M = randomSize(2 * most), N = randomSize(3 * most), K = randomSize(2 * most);
    const BatchedMatmulOptions options{
        .transposeA = randomSize(2) == 1, .transposeB = randomSize(2) == 1, .scale = 0.5};
    auto [left, right] = broadcasting(3);
    std::vector<int64_t> a = left.extents(), b = right.extents();
    if (a.size() > 3) a.erase(a.begin(), a.end() - 3);
    if (b.size() > 3) b.erase(b.begin(), b.end() - 3);
    if (randomSize(4) == 1) b.clear(); // one matrix for all
    a.insert(a.end(), {options.transposeA ? K : M, options.transposeA ? M : K});
    b.insert(b.end(), {options.transposeB ? N : K, options.transposeB ? K : N});
    return batchedMatmul(t.real("a", Shape(a), {}, 0.3), t.real("b", Shape(b), {}, 0.3), options);
}

Tensor permuteCase(Case& t, int64_t most) {
    const Tensor x = randomTensor(t, most);
    std::vector<int> order;
    for (int axis = 0; axis < x.shape().rank(); ++axis)
        order.insert(order.begin() + randomRank(0, static_cast<int>(order.size())), axis);
    return permute(affine(x, 1, 0), order); // an input itself is no result, and axes of one row move without a copy
}

Tensor sliceCase(Case& t, int64_t most) {
    Tensor x = randomTensor(t, most);
    for (int part = 0; part < 2; ++part) {
        const int axis = randomAxis(x.shape());
        const int64_t begin = randomSize(x.shape()[axis]) - 1;
        x = slice(x, axis, begin, randomSize(x.shape()[axis] - begin));
    }
    return affine(x, 2, 0); // an input itself is no result
}

Tensor padCase(Case& t, int64_t most) {
    const Tensor x = randomTensor(t, most);
    return affine(pad(x, randomAxis(x.shape()), randomSize(9) - 1, randomSize(9) - 1), 2, 0);
}

Tensor concatenateCase(Case& t, int64_t most) {
    const int rank = randomRank(1, 4);
    const Shape first = randomShape(rank, mostAtRank(rank, most));
    const int axis = randomAxis(first);
    std::vector<Tensor> tensors;
    for (const char* name : {"a", "b", "c"}) {
        std::vector<int64_t> extents = first.extents();
        extents[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = randomSize(9);
        tensors.push_back(t.real(name, Shape(extents)));
    }
    tensors.resize(static_cast<size_t>(randomSize(3)));
    return concatenate(tensors, axis);
}

Tensor broadcastCase(Case& t, int64_t most) {
    const int rank = randomRank(1, 5);
    const Shape whole = randomShape(rank, mostAtRank(rank, most));
    std::vector<int64_t> extents = whole.extents();
    for (int64_t& extent : extents)
        if (randomSize(2) == 1) extent = 1;
    extents.erase(extents.begin(), extents.begin() + randomRank(1, rank) - 1);
    return affine(broadcast(t.real("x", Shape(extents)), whole), 2, 0);
}

Tensor reduceCase(Case& t, int64_t most) {
    const Tensor x = randomTensor(t, most);
    std::vector<int> axes{randomAxis(x.shape())};
    for (int axis = 0; axis < x.shape().rank(); ++axis)
        if (randomSize(3) == 1) axes.push_back(axis);
    return affine(reduce(x, static_cast<Reduction>(randomSize(3) - 1), axes), 2, 0);
}

Tensor cumulativeCase(Case& t, int64_t most) {
    const Tensor x = randomTensor(t, most);
    return cumulativeSum(x, randomAxis(x.shape()), {.exclusive = randomSize(2) == 1, .reverse = randomSize(2) == 1});
}

/// Ids of N... rows of which some repeat and some are none of S.
Tensor someIds(Case& t, const std::vector<int64_t>& batch, int64_t R, int64_t S) {
    std::vector<int64_t> extents = batch;
    extents.push_back(R);
    const Tensor ids = t.integers("ids", Shape(extents), S);
    for (double& id : t.values["ids"])
        if (randomSize(8) == 1) id = randomSize(2) == 1 ? -1 : static_cast<double>(S);
    return ids;
}

Tensor takeCase(Case& t, int64_t most) {
    const std::vector<int64_t> batch = randomShape(randomRank(0, 2), 4).extents();
    const int64_t R = randomSize(most), S = randomSize(most), C = randomSize(most);
    std::vector<int64_t> extents = randomSize(3) == 1 ? std::vector<int64_t>{} : batch;
    extents.insert(extents.end(), {S, C});
    return take(t.real("x", Shape(extents)), someIds(t, batch, R, S));
}

Tensor putCase(Case& t, int64_t most) {
    const std::vector<int64_t> batch = randomShape(randomRank(0, 2), 4).extents();
    const int64_t R = randomSize(2 * most), S = randomSize(most), C = randomSize(most);
    std::vector<int64_t> extents = batch;
    extents.insert(extents.end(), {R, C});
    return put(t.real("x", Shape(extents)), someIds(t, batch, R, S), S);
}

Tensor sortCase(Case& t, int64_t most) {
    const Shape shape = randomSize(2) == 1 ? Shape{randomSize(3), randomSize(2), randomSize(30 * most)}
                                           : Shape{randomSize(4), randomSize(most)};
    const Tensor x = t.real("x", shape);
    for (double& value : t.values["x"]) value = std::floor(2 * value); // many equals
    return sortOrder(x);
}

Tensor inverseCase(Case& t, int64_t most) {
    const Shape shape{randomSize(4), randomSize(10 * most)};
    return inverseOrder(sortOrder(t.real("x", shape)));
}

Tensor largestCase(Case& t, int64_t most) {
    const int64_t N = randomSize(3), R = randomSize(3), C = randomSize(60 * most);
    const Tensor x = t.real("x", {N, R, C}), factor = t.real("factor", {N, C});
    for (double& value : t.values["x"]) value = std::floor(8 * value); // products are exact, and many are equal
    for (double& value : t.values["factor"]) value = std::floor(4 * value);
    return largestColumns(x, factor, randomSize(C));
}

} // namespace

std::map<std::string, std::function<Tensor(Case&)>> tensorCases(int64_t most) {
    std::map<std::string, std::function<Tensor(Case&)>> all;
    const auto add = [&](const char* name, Tensor (*build)(Case&, int64_t)) {
        all[name] = [=](Case& t) { return build(t, most); };
    };
    add("batched_matmul", matmulCase);
    add("permute", permuteCase);
    add("slice", sliceCase);
    add("pad", padCase);
    add("concatenate", concatenateCase);
    add("broadcast", broadcastCase);
    add("unary", unaryCase);
    add("unary_gradient", unaryGradientCase);
    add("binary", binaryCase);
    add("select", selectCase);
    add("to_real", [](Case& t, int64_t size) {
        const Tensor x = randomTensor(t, size);
        return multiply(x, toReal(t.integers("ids", x.shape(), 1000)));
    });
    add("to_integer", [](Case& t, int64_t size) {
        const Tensor x = randomTensor(t, size);
        return multiply(x, toReal(toInteger(scale(t.real("table", x.shape()), 10))));
    });
    add("stop_gradient", [](Case& t, int64_t size) {
        const Tensor x = randomTensor(t, size);
        return multiply(x, stopGradient(unary(t.real("table", x.shape()), Unary::Exponential)));
    });
    add("reduce", reduceCase);
    add("cumulative_sum", cumulativeCase);
    add("take", takeCase);
    add("put", putCase);
    add("argmax", [](Case& t, int64_t size) { return argmax(randomTensor(t, size)); });
    add("sort_order", sortCase);
    add("inverse_order", inverseCase);
    add("largest_columns", largestCase);
    add("diagonals", [](Case& t, int64_t size) {
        const int64_t T = randomSize(size), S = randomSize(size);
        return diagonals(t.real("x", {randomSize(3), T, T + S - 1}), S);
    });
    add("undiagonals", [](Case& t, int64_t size) {
        return undiagonals(t.real("x", {randomSize(3), randomSize(size), randomSize(size)}));
    });
    return all;
}

} // namespace attn::test
