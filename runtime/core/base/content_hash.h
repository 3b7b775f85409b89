#pragma once
// A short text that differs where values differ, equal on all machines of one byte order: by which a run knows again
// what an earlier one worked with. No protection against what is made up.

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/shape.h"

namespace sial {

class ContentHash {
 public:
  template <class T>
  void add(const T& v) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t word = 0;
    std::memcpy(&word, &v, sizeof v);
    h_ = mix_hash(h_, word);
  }
  template <class T>
  void add(const std::vector<T>& v) {
    add(v.size());
    for (const T& x : v) add(x);
  }
  std::string text() const { return fmt::format("{:016x}", h_); }

 private:
  std::uint64_t h_ = 0x5a11;
};

}  // namespace sial
