// Two-level segregated fit, from its description (Masmano, Ripoll, Crespo, Real: TLSF, a new dynamic memory allocator
// for real-time systems, 2004). The first level divides sizes by powers of two, the second each of these into equal
// parts. A request is rounded up to the next class, so that any block of the class that two bitmaps find fits (good
// fit); the rest is split off. Neighbours merge at once, by a link to the block before and a mark of whether it is
// free. Headers lie in front of the data, which are aligned to 64 bytes.
#include <array>
#include <bit>
#include <cstdint>

#include "allocators.h"

namespace heapbench {

namespace {

class Tlsf final : public Allocator {
 public:
  explicit Tlsf(const Setup& setup) : region_(setup.capacity, 4096) {
    // The first header ends where the first data begin, a multiple of the unit; the last block has no size and is never
    // free.
    auto* first = reinterpret_cast<Block*>(region_.begin() + unit - header);
    first->before = nullptr;
    first->size = (region_.bytes() - 2 * unit) & ~(unit - 1);
    Block* last = after(first);
    *last = {.before = first, .size = 0, .free = false, .next = nullptr, .previous = nullptr};
    insert(first);
  }

  void* take(std::size_t bytes, int) override {
    const std::size_t size = round_up(bytes + header, unit);
    Block* b = find(size);
    if (!b) return nullptr;
    remove(b);
    if (b->size - size >= unit) {
      Block* rest = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(b) + size);
      rest->before = b;
      rest->size = b->size - size;
      after(rest)->before = rest;
      b->size = size;
      insert(rest);
    }
    b->free = false;
    return reinterpret_cast<std::byte*>(b) + header;
  }

  void give_back(void* p, std::size_t, int) override {
    auto* b = reinterpret_cast<Block*>(static_cast<std::byte*>(p) - header);
    if (Block* next = after(b); next->free) {
      remove(next);
      b->size += next->size;
    }
    if (Block* before = b->before; before && before->free) {
      remove(before);
      before->size += b->size;
      b = before;
    }
    after(b)->before = b;
    insert(b);
  }

  std::size_t taken(const void* p, std::size_t) const override {
    return reinterpret_cast<const Block*>(static_cast<const std::byte*>(p) - header)->size;
  }
  std::size_t committed() override { return region_.resident(); }

 private:
  static constexpr std::size_t unit = 64;
  static constexpr int second_bits = 5, second = 1 << second_bits;
  struct Block {
    Block* before;  // at lower addresses
    std::size_t size : 63;
    bool free : 1;
    Block *next, *previous;  // in its list, while it is free: these lie where the data would
  };
  static constexpr std::size_t header = 16;

  static Block* after(Block* b) { return reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(b) + b->size); }

  struct Class {
    int first, second;
  };
  /// Of sizes that are no multiple of `unit` in number of units: the class that holds it.
  static Class class_of(std::size_t size) {
    const std::size_t n = size / unit;
    if (n < second) return {0, static_cast<int>(n)};
    const int log = std::bit_width(n) - 1;
    return {log - second_bits + 1, static_cast<int>((n >> (log - second_bits)) & (second - 1))};
  }

  Block* find(std::size_t size) {
    std::size_t n = size / unit;
    if (n >= second) n += (std::size_t{1} << (std::bit_width(n) - 1 - second_bits)) - 1;
    auto [f, s] = class_of(n * unit);
    std::uint32_t in_second = second_[f] & (~std::uint32_t{0} << s);
    if (in_second == 0) {
      const std::uint64_t in_first = f == 63 ? 0 : first_ & (~std::uint64_t{0} << (f + 1));
      if (in_first == 0) return nullptr;
      f = std::countr_zero(in_first);
      in_second = second_[f];
    }
    return lists_[f][std::countr_zero(in_second)];
  }

  void insert(Block* b) {
    const auto [f, s] = class_of(b->size);
    b->free = true;
    b->previous = nullptr;
    b->next = lists_[f][s];
    if (b->next) b->next->previous = b;
    lists_[f][s] = b;
    first_ |= std::uint64_t{1} << f;
    second_[f] |= std::uint32_t{1} << s;
  }

  void remove(Block* b) {
    if (b->next) b->next->previous = b->previous;
    if (b->previous) {
      b->previous->next = b->next;
      return;
    }
    const auto [f, s] = class_of(b->size);
    lists_[f][s] = b->next;
    if (b->next) return;
    second_[f] &= ~(std::uint32_t{1} << s);
    if (second_[f] == 0) first_ &= ~(std::uint64_t{1} << f);
  }

  Region region_;
  std::uint64_t first_ = 0;
  std::array<std::uint32_t, 64> second_{};
  std::array<std::array<Block*, second>, 64> lists_{};
};

}  // namespace

std::unique_ptr<Allocator> make_tlsf(const Setup& setup) { return std::make_unique<Tlsf>(setup); }

}  // namespace heapbench
