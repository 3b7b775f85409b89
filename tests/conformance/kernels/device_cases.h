#pragma once
// Shared by the suites of generated GPU kernels: blocks with margins, random numbers, and launches carried out by host
// fallbacks on the host.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "runtime/kernels/gpu/device_code.h"
#include "runtime/kernels/gpu/device_layout.h"
#include "tests/conformance/kernels/random_blocks.h"

namespace sial::kernels {

inline constexpr double odd_numbers[] = {0.0,      -0.0, std::numeric_limits<double>::infinity(), 1.0, -1.0,
                                         4.9e-324, 1e308};

/// A block whose k-th dimension is named order[k], dense or a part of a larger array; the memory around its elements is
/// NaN.
struct DeviceOperand {
  std::vector<double> memory;
  MutableView view;

  DeviceOperand(Numbers& numbers, int rank, const Extents& extent, const std::array<int, max_rank>& order,
                const Extents& margin, std::int64_t first = 32) {
    const std::int64_t all = lay_out(view, rank, extent, order, margin);
    memory.assign(static_cast<std::size_t>(all + first) + 32, std::numeric_limits<double>::quiet_NaN());
    view.data = memory.data() + first;
    for (int d = 0; d < rank; ++d)
      if (view.extent[d] == 0) return;
    Extents at{};
    for (;;) {
      std::int64_t o = 0;
      for (int d = 0; d < rank; ++d) o += at[d] * view.stride[d];
      view.data[o] = numbers();
      int d = 0;
      for (; d < rank && ++at[d] == view.extent[d]; ++d) at[d] = 0;
      if (d == rank) return;
    }
  }
  ConstView read() const { return as_const(view); }
};

inline bool same_bits(double x, double y) {
  return std::memcmp(&x, &y, sizeof(double)) == 0 || (std::isnan(x) && std::isnan(y));
}

/// HostFallbacks of one engine.
class HostFallbacks {
 public:
  HostFallbacks() : engine_(make_code_engine({true, true, "", ""})) {}
  bool available() const { return engine_->wait({CodeKind::device_sum, {}}) != nullptr; }
  void run(std::vector<DeviceLaunch> launches, DeviceTrace* trace = nullptr) {
    for (DeviceLaunch& l : launches) {
      REQUIRE(l.shared_bytes <= max_shared_bytes);
      REQUIRE(l.arguments.size() <= max_argument_bytes);
      REQUIRE(l.blocks > 0);
      REQUIRE(l.threads > 0);
      REQUIRE(l.threads <= 256);
      keys.insert(l.key);
      const double* table = l.table.data();
      if (!l.table.empty()) std::memcpy(l.arguments.data() + l.table_at, &table, sizeof table);
      shared_.assign(l.shared_bytes / 8 + 2, std::numeric_limits<double>::quiet_NaN());
      void* shared = shared_.data() + (reinterpret_cast<std::uintptr_t>(shared_.data()) % 16 == 0 ? 0 : 1);
      const auto fallback = reinterpret_cast<DeviceHostFallback>(engine_->wait(l.key));
      if (fallback == nullptr) FAIL("no host fallback of " << code_name(l.key));
      fallback(l.arguments.data(), l.blocks, l.threads, shared, trace);
    }
  }
  std::set<CodeKey> keys;
  CodeStats stats() const { return engine_->stats(); }

 private:
  std::shared_ptr<CodeEngine> engine_;
  std::vector<double> shared_;
};

inline constexpr std::array<int, max_rank> as_is{0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace sial::kernels
