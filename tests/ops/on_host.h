#pragma once

#include "engine/host/pool.h"
#include "tests/ops/case.h"

namespace attn::test {

/// The results of a graph by host kernels alone: the numbers that are defined, row after row.
using Results = std::map<std::string, std::vector<float>>;

/// Runs a graph on a pool. Memory that no kernel writes is NaN.
Results runOnHost(const Case& test, host::Pool& pool);

bool haveSameBits(const Results& a, const Results& b);

} // namespace attn::test
