#pragma once
// A CUDA device on the fake driver, and some work for it.
#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/device/device.h"

namespace fake_driver {

using namespace sial;

/// How many GPUs there are is asked for once per process.
inline const int gpus_set = setenv("SIALX_FAKE_CUDA", "gpus=3", 1);

/// Settings of fake.h for the device made next.
inline std::unique_ptr<Device> make(const std::string& settings, DeviceOptions options = {}) {
  REQUIRE(gpus_set == 0);
  setenv("SIALX_FAKE_CUDA", ("gpus=3," + settings).c_str(), 1);
  return make_cuda_device(options);
}

inline void finish(Device& d, int stream) {
  const Device::Event e = d.record(stream);
  d.finish(e);
  d.release(e);
}

inline void after(Device& d, int stream, int other, std::vector<Device::Event>& events) {
  events.push_back(d.record(other));
  d.wait(stream, events.back());
}

inline std::vector<double> ramp(std::size_t n, double first) {
  std::vector<double> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

inline MutableView vector_view(double* p, std::int64_t n) { return dense_view(p, {1, {n}}, {}); }

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const EnvironmentError& error) { return std::string(error.what()) + " / " + error.hint(); }
  return "nothing was thrown";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline BlockOp matrix_product(double* d, const double* a, const double* b, std::int64_t n, double alpha, double beta,
                              bool transposed) {
  BlockOp op;
  op.has_b = true;
  op.alpha = alpha;
  op.beta = beta;
  const Shape square{2, {n, n}};
  op.d = dense_view(d, square, {0, 1});
  op.a = dense_view(a, square, {transposed ? 2 : 0, transposed ? 0 : 2});
  op.b = dense_view(b, square, {2, 1});
  return op;
}

/// d[i,j,k,l] += a[i,m,k,n] * b[n,j,l,m]: all three are brought into another order.
inline BlockOp four_index(double* d, const double* a, const double* b, std::int64_t n, double alpha, double beta) {
  BlockOp op;
  op.has_b = true;
  op.alpha = alpha;
  op.beta = beta;
  const Shape block{4, {n, n, n, n}};
  op.d = dense_view(d, block, {0, 1, 2, 3});
  op.a = dense_view(a, block, {0, 4, 2, 5});
  op.b = dense_view(b, block, {5, 1, 3, 4});
  return op;
}

inline std::vector<double> contents(Device& d, const double* p, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  d.copy_out(values.data(), p, n);
  finish(d, copy_out_stream);
  return values;
}

}  // namespace fake_driver
