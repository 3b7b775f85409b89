#include "runtime/core/memory/host_pool.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

namespace {

class HostPool final : public BufferResource {
 public:
  explicit HostPool(std::int64_t budget) : budget_(budget) {}
  ~HostPool() override {
    for (auto& [bytes, list] : free_)
      for (double* p : list) std::free(p);
  }
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  double* allocate(std::int64_t n) override {
    const std::int64_t bytes = size(n);
    ++stats_.requests;
    double* p = nullptr;
    auto& list = free_[bytes];
    if (!list.empty()) {
      p = list.back();
      list.pop_back();
      ++stats_.cache_hits;
    } else {
      const bool within = budget_ == 0 || stats_.bytes_in_use + bytes <= budget_;
      if (within) p = static_cast<double*>(std::aligned_alloc(64, static_cast<std::size_t>(bytes)));
      if (!p)
        throw EnvironmentError(
            fmt::format("out of memory for a block of {} elements: {} bytes wanted, {} in use, budget {}", n, bytes,
                        stats_.bytes_in_use, budget_ ? std::to_string(budget_) : "unlimited"),
            "give each rank more with `--memory`");
      stats_.bytes_reserved += bytes;
    }
    stats_.bytes_in_use += bytes;
    stats_.bytes_high_water = std::max(stats_.bytes_high_water, stats_.bytes_in_use);
    return p;
  }

  void deallocate(double* p, std::int64_t n) noexcept override {
    if (!p) return;
    stats_.bytes_in_use -= size(n);
    SIAL_CHECK(stats_.bytes_in_use >= 0, "more given back than taken ({} elements)", n);
    free_[size(n)].push_back(p);
  }

  ResourceStats stats() const override { return stats_; }

 private:
  static std::int64_t size(std::int64_t n) { return std::max<std::int64_t>(64, (n * 8 + 63) / 64 * 64); }

  std::int64_t budget_;
  ResourceStats stats_;
  std::map<std::int64_t, std::vector<double*>> free_;
};

}  // namespace

std::unique_ptr<BufferResource> make_host_pool(std::int64_t budget_bytes) {
  return std::make_unique<HostPool>(budget_bytes);
}

}  // namespace sial
