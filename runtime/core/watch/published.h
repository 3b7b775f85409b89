#pragma once
// A value that one thread writes and others read at any time, also in memory that processes share, which is zero at
// first. Nobody waits: a writer that is stopped half-way leaves the value before.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace sial {

template <class T>
class Published {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void publish(const T& value) {
    Words copy{};
    std::memcpy(copy.data(), &value, sizeof value);
    const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
    // Release: who sees a word sees the version before this one, too.
    for (std::size_t i = 0; i < copy.size(); ++i) copies_[next % 2][i].store(copy[i], std::memory_order_release);
    version_.store(next, std::memory_order_release);
  }

  /// The last value. Nothing: there is none yet, or it changes faster than it can be read.
  std::optional<T> read() const {
    constexpr int attempts = 1000;
    for (int i = 0; i < attempts; ++i) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      if (version == 0) break;
      Words copy;
      for (std::size_t k = 0; k < copy.size(); ++k) copy[k] = copies_[version % 2][k].load(std::memory_order_acquire);
      // One version later the writer may be at the words that were read.
      if (version_.load(std::memory_order_relaxed) != version) continue;
      T value;
      std::memcpy(static_cast<void*>(&value), copy.data(), sizeof value);
      return value;
    }
    return {};
  }

 private:
  using Words = std::array<std::uint64_t, (sizeof(T) + 7) / 8>;
  std::atomic<std::uint64_t> version_{0};  // its lowest bit says which copy is complete
  std::array<std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>>, 2> copies_{};
};

}  // namespace sial
