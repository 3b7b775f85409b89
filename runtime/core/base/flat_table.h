#pragma once
// Pointers by a number that is not 0, for where each look-up counts: open addressing in one array, which grows and does
// not shrink. Owned and used by one thread.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sial {

template <class T>
class FlatTable {
 public:
  /// Null: there is none.
  T* find(std::uint64_t key) const {
    for (std::size_t at = home(key);; at = next(at))
      if (slots_[at].key == key || slots_[at].key == 0) return slots_[at].value;
  }
  /// Inserts a key that is not there.
  void insert(std::uint64_t key, T* value) {
    if (2 * ++size_ > slots_.size()) grow();
    place({key, value});
  }
  /// Its followers in a row move up, so that no look-up ends early.
  void erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == 0) return;
      hole = next(hole);
    }
    --size_;
    for (std::size_t at = next(hole); slots_[at].key != 0; at = next(at)) {
      const std::size_t mask = slots_.size() - 1;
      if (((at - home(slots_[at].key)) & mask) >= ((at - hole) & mask)) slots_[std::exchange(hole, at)] = slots_[at];
    }
    slots_[hole] = {};
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    T* value = nullptr;
  };
  std::size_t home(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15u) >> shift_; }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void place(const Slot& slot) {
    std::size_t at = home(slot.key);
    while (slots_[at].key != 0) at = next(at);
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    --shift_;
    for (const Slot& s : old)
      if (s.key != 0) place(s);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  int shift_ = 64 - 6;
  std::size_t size_ = 0;
};

}  // namespace sial
