#pragma once
// A transfer with page-aligned memory of its own, and helpers of the tests of tiers.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/core/tier/tier.h"

namespace sial::test {

constexpr std::uint64_t mib = 1 << 20;

struct Transfer final : TierTransfer {
  /// `shift`: of the memory, from a page's begin.
  Transfer(std::uint64_t offset, std::size_t size, std::size_t shift = 0);
  void completed(int error) noexcept override;
  double* values() { return reinterpret_cast<double*>(memory); }
  void fill(double value);
  bool holds(double value);

  std::vector<std::byte> all;
  std::atomic<int> calls = 0, result = -1;
};

/// Until it has completed.
void wait(Tier& tier, const Transfer& transfer);

/// A folder that is removed with its content.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  bool empty() const;

 private:
  std::string path_;
};

/// What `work` returns, in a process of its own; -1 when that was killed.
int in_child(const std::function<int()>& work);

}  // namespace sial::test
