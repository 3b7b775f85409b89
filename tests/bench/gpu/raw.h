#pragma once
// One GPU through the driver and cuBLAS alone, as a baseline: a stream, dense products, copies of all kinds, memory of
// all kinds. Memory of the runtime's device on the same GPU can be used here, for the context is one. Errors of the
// driver are EnvironmentErrors.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bench {

class RawGpu {
 public:
  explicit RawGpu(int number);
  ~RawGpu();
  RawGpu(const RawGpu&) = delete;
  RawGpu& operator=(const RawGpu&) = delete;

  // Into the stream.
  /// D(m,n) = A(m,k) B(k,n), column by column, without gaps.
  void dgemm(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* d);
  void copy(double* to, const double* from, std::int64_t n);
  void copy_in(double* device, const double* host, std::int64_t n);
  void copy_out(double* host, const double* device, std::int64_t n);
  void finish();

  // Taken and given back.
  void pinned_memory(std::int64_t bytes);
  void device_memory(std::int64_t bytes);
  void registration(void* p, std::int64_t bytes);

 private:
  struct Gpu;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace bench
