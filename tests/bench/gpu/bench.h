#pragma once
// What the suites share: the device as the runtime uses it, the same GPU without anything of ours in between, the
// reference kernels, and the timing of contenders whose work goes on in streams.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/device/device.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/bench/gpu/raw.h"
#include "tests/bench/gpu/rows.h"
#include "tests/bench/kernels/measure.h"

namespace bench {

struct Bench {
  explicit Bench(bool quick);

  bool quick;
  std::unique_ptr<sial::BufferResource> pool = sial::make_host_pool();
  std::unique_ptr<sial::Kernels> reference = sial::make_kernels("reference", *pool);
  std::unique_ptr<sial::Device> device;
  std::unique_ptr<RawGpu> raw;

  void finish(int stream);
  void upload(double* to, const double* from, std::int64_t n);
  void download(double* to, const double* from, std::int64_t n);
};

/// Device memory of the device, for as long as this lives. Throws std::runtime_error where there is none left.
class OnDevice {
 public:
  OnDevice(sial::Device& device, std::int64_t n);
  ~OnDevice() { device_.give_back(p_, n_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  double* get() const { return p_; }

 private:
  sial::Device& device_;
  std::int64_t n_;
  double* p_;
};

/// `put` starts the work once, `finish` waits for all that was started.
struct Streamed {
  std::string name;
  std::function<void()> put, finish;
  int most = 1000;  // calls before a wait
};

/// Seconds per call of each, the best of several rounds in turns: of a call and its wait where `most` is 1, else of
/// many calls and one wait.
std::vector<double> streamed_seconds(const std::vector<Streamed>& contenders, bool quick);

/// Seconds per call of what is done when it returns.
std::vector<double> plain_seconds(std::vector<std::function<void()>> contenders, bool quick);

// --- the suites
Suite copies_suite(Bench& bench);
Suite allocation_suite(Bench& bench);
Suite contraction_suite(Bench& bench);
Suite permutation_suite(Bench& bench);
Suite chain_suite(Bench& bench);
Suite launch_suite(Bench& bench);
Suite store_suite(Bench& bench);

}  // namespace bench
