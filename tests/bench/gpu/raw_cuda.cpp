#include "tests/bench/gpu/raw.h"

#include "runtime/core/device/cuda/gpu.h"

namespace bench {

using namespace sial::cuda;

struct RawGpu::Gpu {
  explicit Gpu(int number) : gpu(number), stream(gpu.make_stream()) {
    gpu.check(libraries().blas.cublasCreate_v2(&blas), "making a cuBLAS handle");
    gpu.check(libraries().blas.cublasSetStream_v2(blas, stream), "giving cuBLAS a stream");
  }
  ~Gpu() {
    gpu.enter();
    libraries().blas.cublasDestroy_v2(blas);
    gpu.drop_stream(stream);
  }
  GpuDevice gpu;
  Stream stream = nullptr;
  BlasHandle blas = nullptr;
};

namespace {
Address address(const double* p) { return reinterpret_cast<Address>(p); }
}  // namespace

RawGpu::RawGpu(int number) : gpu_(std::make_unique<Gpu>(number)) {}
RawGpu::~RawGpu() = default;

void RawGpu::dgemm(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* d) {
  gpu_->gpu.enter();
  const double one = 1.0, zero = 0.0;
  const auto number = [](std::int64_t i) { return static_cast<int>(i); };
  gpu_->gpu.check(
      libraries().blas.cublasDgemm_v2(gpu_->blas, BlasOperation::plain, BlasOperation::plain, number(m), number(n),
                                      number(k), &one, a, number(m), b, number(k), &zero, d, number(m)),
      "a product of matrices");
}

void RawGpu::copy(double* to, const double* from, std::int64_t n) {
  gpu_->gpu.enter();
  gpu_->gpu.check(gpu_->gpu.driver().cuMemcpyDtoDAsync_v2(address(to), address(from), static_cast<std::size_t>(n) * 8,
                                                          gpu_->stream),
                  "a copy on the device");
}

void RawGpu::copy_in(double* device, const double* host, std::int64_t n) {
  gpu_->gpu.enter();
  gpu_->gpu.check(
      gpu_->gpu.driver().cuMemcpyHtoDAsync_v2(address(device), host, static_cast<std::size_t>(n) * 8, gpu_->stream),
      "a copy to the device");
}

void RawGpu::copy_out(double* host, const double* device, std::int64_t n) {
  gpu_->gpu.enter();
  gpu_->gpu.check(
      gpu_->gpu.driver().cuMemcpyDtoHAsync_v2(host, address(device), static_cast<std::size_t>(n) * 8, gpu_->stream),
      "a copy to the host");
}

void RawGpu::finish() {
  gpu_->gpu.enter();
  gpu_->gpu.finish(gpu_->stream, "waiting for work");
}

void RawGpu::pinned_memory(std::int64_t bytes) {
  gpu_->gpu.enter();
  void* p = nullptr;
  gpu_->gpu.check(gpu_->gpu.driver().cuMemHostAlloc(&p, static_cast<std::size_t>(bytes), 0), "reserving pinned memory");
  gpu_->gpu.check(gpu_->gpu.driver().cuMemFreeHost(p), "giving pinned memory back");
}

void RawGpu::device_memory(std::int64_t bytes) {
  gpu_->gpu.enter();
  Address p = 0;
  gpu_->gpu.check(gpu_->gpu.driver().cuMemAlloc_v2(&p, static_cast<std::size_t>(bytes)), "reserving memory");
  gpu_->gpu.check(gpu_->gpu.driver().cuMemFree_v2(p), "giving memory back");
}

void RawGpu::registration(void* p, std::int64_t bytes) {
  gpu_->gpu.enter();
  gpu_->gpu.check(gpu_->gpu.driver().cuMemHostRegister_v2(p, static_cast<std::size_t>(bytes), host_register_portable),
                  "registering host memory");
  gpu_->gpu.check(gpu_->gpu.driver().cuMemHostUnregister(p), "unregistering host memory");
}

}  // namespace bench
