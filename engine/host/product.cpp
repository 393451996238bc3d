#include "engine/host/product.h"

#include "engine/core/signals.h"

#include <oneapi/dnnl/dnnl.h>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn::host {
namespace {

bool prepareThread() {
    shieldFromSignals();
#ifdef _OPENMP
    omp_set_num_threads(1); // the library would start threads of its own beside the pool's
#endif
    return true;
}

} // namespace

void product(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale, float keep) {
    thread_local const bool isPrepared = prepareThread();
    static_cast<void>(isPrepared);
    dnnl_sgemm(a.isTransposed ? 'T' : 'N', b.isTransposed ? 'T' : 'N', size.M, size.N, size.K, scale, a.data, a.stride,
               b.data, b.stride, keep, out, stride);
}

} // namespace attn::host
