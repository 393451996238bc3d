#include "engine/host/product.h"

#include <oneapi/dnnl/dnnl.h>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn::host {

void product(const ProductSize& size, Factor a, Factor b, float* out, int64_t stride, float scale, float keep) {
#ifdef _OPENMP
    // The library would start threads of its own beside the pool's.
    thread_local const bool isAlone = (omp_set_num_threads(1), true);
    static_cast<void>(isAlone);
#endif
    dnnl_sgemm(a.isTransposed ? 'T' : 'N', b.isTransposed ? 'T' : 'N', size.M, size.N, size.K, scale, a.data, a.stride,
               b.data, b.stride, keep, out, stride);
}

} // namespace attn::host
