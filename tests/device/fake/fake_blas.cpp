// libcublas.so.13 of tests: products by plain loops, in the streams of the fake driver. See fake.h.

#include <algorithm>
#include <cstdint>

#include "tests/device/fake/fake.h"

using namespace sial::cuda;

namespace sial::cuda {
struct BlasObject {
  Stream stream = nullptr;
};
}  // namespace sial::cuda

namespace {

struct Product {
  BlasOperation of_a, of_b;
  std::int64_t m, n, k;
  double alpha;
  const double* a;
  std::int64_t lda, stride_a;
  const double* b;
  std::int64_t ldb, stride_b;
  double beta;
  double* c;
  std::int64_t ldc, stride_c, batches;
};

void carry_out(const Product& p) {
  for (std::int64_t x = 0; x < p.batches; ++x)
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        const double* a = p.a + x * p.stride_a + (p.of_a == BlasOperation::plain ? i : i * p.lda);
        const double* b = p.b + x * p.stride_b + (p.of_b == BlasOperation::plain ? j * p.ldb : j);
        const std::int64_t step_a = p.of_a == BlasOperation::plain ? p.lda : 1,
                           step_b = p.of_b == BlasOperation::plain ? 1 : p.ldb;
        double sum = 0.0;
        for (std::int64_t l = 0; l < p.k; ++l) sum += a[l * step_a] * b[l * step_b];
        double& c = p.c[x * p.stride_c + i + j * p.ldc];
        c = p.beta == 0.0 ? p.alpha * sum : p.alpha * sum + p.beta * c;
      }
}

/// Matrices of a batch may lie in different pieces.
void check_matrix(const double* p, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride,
                  std::int64_t batches, const char* what) {
  for (std::int64_t x = 0; x < batches; ++x)
    fake_cuda::check_device(p + x * stride, static_cast<std::size_t>((columns - 1) * ld + rows) * 8, what);
}

BlasStatus put(BlasHandle handle, const Product& p) {
  const bool a_plain = p.of_a == BlasOperation::plain, b_plain = p.of_b == BlasOperation::plain;
  const std::int64_t rows_a = a_plain ? p.m : p.k, rows_b = b_plain ? p.k : p.n;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batches < 0 || p.lda < std::max<std::int64_t>(1, rows_a) ||
      p.ldb < std::max<std::int64_t>(1, rows_b) || p.ldc < std::max<std::int64_t>(1, p.m))
    return BlasStatus::invalid_value;
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batches == 0) fake_cuda::complain("an empty product is put to cuBLAS");
  if (p.alpha == 0.0) fake_cuda::complain("cuBLAS hides what is multiplied by zero");
  if (fake_cuda::setting("product", 0) != 0) return BlasStatus::alloc_failed;
  check_matrix(p.a, rows_a, a_plain ? p.k : p.m, p.lda, p.stride_a, p.batches, "first factor of a product");
  check_matrix(p.b, rows_b, b_plain ? p.n : p.k, p.ldb, p.stride_b, p.batches, "second factor of a product");
  check_matrix(p.c, p.m, p.n, p.ldc, p.stride_c, p.batches, "product");
  return fake_cuda::post(handle->stream, [p] { carry_out(p); }) ? BlasStatus::success : BlasStatus::execution_failed;
}

}  // namespace

extern "C" {

FAKE_CUDA_SHOWN BlasStatus cublasCreate_v2(BlasHandle* handle) {
  if (fake_cuda::setting("blas", 0) != 0) return BlasStatus::alloc_failed;
  *handle = new BlasObject;
  return BlasStatus::success;
}
FAKE_CUDA_SHOWN BlasStatus cublasDestroy_v2(BlasHandle handle) {
  delete handle;
  return BlasStatus::success;
}
FAKE_CUDA_SHOWN BlasStatus cublasGetVersion_v2(BlasHandle, int* version) {
  *version = 130000;
  return BlasStatus::success;
}
FAKE_CUDA_SHOWN BlasStatus cublasSetStream_v2(BlasHandle handle, Stream stream) {
  handle->stream = stream;
  return BlasStatus::success;
}
FAKE_CUDA_SHOWN BlasStatus cublasDgemm_v2(BlasHandle handle, BlasOperation of_a, BlasOperation of_b, int m, int n,
                                          int k, const double* alpha, const double* a, int lda, const double* b,
                                          int ldb, const double* beta, double* c, int ldc) {
  return put(handle, {of_a, of_b, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1});
}
FAKE_CUDA_SHOWN BlasStatus cublasDgemmStridedBatched(BlasHandle handle, BlasOperation of_a, BlasOperation of_b, int m,
                                                     int n, int k, const double* alpha, const double* a, int lda,
                                                     long long stride_a, const double* b, int ldb, long long stride_b,
                                                     const double* beta, double* c, int ldc, long long stride_c,
                                                     int batches) {
  return put(handle,
             {of_a, of_b, m, n, k, *alpha, a, lda, stride_a, b, ldb, stride_b, *beta, c, ldc, stride_c, batches});
}

}  // extern "C"
