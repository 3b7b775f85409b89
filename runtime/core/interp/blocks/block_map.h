#pragma once
// This rank's blocks of one temp or local array: a hash table from packed segment numbers to buffers (open addressing,
// linear probing, backward-shift deletion, so that a steady state of creating and freeing temps never allocates). The
// map does not own a resource: whoever inserts a buffer frees it.

#include <cstdint>
#include <vector>

namespace sial {

class BlockMap {
 public:
  /// data null: free slot.
  struct Entry {
    std::uint64_t key = 0;
    double* data = nullptr;
    std::int64_t size = 0;
  };

  Entry* find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(key);; i = (i + 1) & mask_) {
      if (!slots_[i].data) return nullptr;
      if (slots_[i].key == key) return &slots_[i];
    }
  }
  /// The key must be absent; `data` must not be null.
  void insert(std::uint64_t key, double* data, std::int64_t size);
  /// Removes and returns the entry; the key must be present.
  Entry remove(std::uint64_t key);
  std::size_t size() const { return used_; }
  template <class F>
  void for_each(F&& f) const {
    for (const Entry& e : slots_)
      if (e.data) f(e);
  }
  void clear() {
    slots_.clear();
    used_ = 0;
    mask_ = 0;
  }

 private:
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 20) & mask_;
  }
  void grow();

  std::vector<Entry> slots_;
  std::size_t mask_ = 0, used_ = 0;
};

}  // namespace sial
