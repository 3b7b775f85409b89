// LIBXSMM's generated small products, where the library is installed.

#include <fmt/format.h>
#include <libxsmm.h>

#include "tests/bench/kernels/baselines.h"

namespace bench {

std::function<void(const double*, const double*, double*)> xsmm_product(const Product& p, double beta) {
  // Beyond this the library itself hands over to BLAS; transposed first factors it does not generate code for.
  constexpr std::int64_t largest = 128 * 128 * 128;
  if (p.a_transposed || p.m * p.n * p.k > largest || (beta != 0.0 && beta != 1.0)) return {};
  libxsmm_init();
  const auto lda = static_cast<libxsmm_blasint>(p.lda), ldb = static_cast<libxsmm_blasint>(p.ldb),
             ldd = static_cast<libxsmm_blasint>(p.ldd);
  const double alpha = 1.0;
  const int flags = p.b_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const libxsmm_dmmfunction kernel =
      libxsmm_dmmdispatch(static_cast<libxsmm_blasint>(p.m), static_cast<libxsmm_blasint>(p.n),
                          static_cast<libxsmm_blasint>(p.k), &lda, &ldb, &ldd, &alpha, &beta, &flags, nullptr);
  if (!kernel) return {};
  return [kernel](const double* a, const double* b, double* d) { kernel(a, b, d); };
}

std::string xsmm_version() { return LIBXSMM_CONFIG_VERSION; }

}  // namespace bench
