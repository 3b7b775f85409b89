#pragma once
// When temps end: at the end of the iteration of the loop that first wrote them, however it ends; earlier or later
// where the plan says so (free_block, keep_block). Shared by the interpreter and the prediction of memory; whoever owns
// one frees the blocks themselves.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/base/ids.h"

namespace sial {

/// A block of a temp array, by the key of its segments. No array: it has been freed early.
struct TempBlock {
  ArrayId array = no_array;
  std::uint64_t key = 0;
};

class TempLifetimes {
 public:
  /// Per open loop: where temps of its current iteration begin in temps(), and where those that were kept over
  /// iterations do and end with the loop.
  struct Marks {
    std::size_t iteration = 0, loop = iteration;
  };

  void created(ArrayId array, std::uint64_t key) { temps_.push_back({array, key}); }
  void enter_loop() { loops_.push_back({temps_.size(), temps_.size()}); }

  /// Both call free(TempBlock) for what ends, the latest first.
  template <class Free>
  void end_iteration(Free&& free) {
    end(loops_.back().iteration, free);
  }
  template <class Free>
  void leave_loop(Free&& free) {
    end(loops_.back().loop, free);
    loops_.pop_back();
  }
  template <class Free>
  void end_all(Free&& free) {
    loops_.clear();
    end(0, free);
  }

  /// The block has been freed before its iteration ends.
  void freed(ArrayId array, std::uint64_t key) {
    for (std::size_t t = temps_.size(); t-- > 0;) {
      if (temps_[t].array != array || temps_[t].key != key) continue;
      temps_[t].array = no_array;
      break;
    }
    const std::size_t mark = loops_.empty() ? 0 : loops_.back().iteration;
    while (temps_.size() > mark && temps_.back().array == no_array) temps_.pop_back();
  }

  /// The block lives on to the end of the loop that is `levels` loops out, 1: the innermost.
  void keep(ArrayId array, std::uint64_t key, std::size_t levels) {
    levels = std::min(levels, loops_.size());
    if (levels == 0) return;
    const std::size_t from = loops_.size() - levels, mark = loops_[from].iteration;
    for (std::size_t t = temps_.size(); t-- > mark;) {
      if (temps_[t].array != array || temps_[t].key != key) continue;
      const auto first = temps_.begin() + static_cast<std::ptrdiff_t>(mark);
      const auto at = temps_.begin() + static_cast<std::ptrdiff_t>(t);
      std::rotate(first, at, at + 1);
      for (std::size_t f = from; f < loops_.size(); ++f) {
        if (loops_[f].iteration <= t) ++loops_[f].iteration;
        if (f > from && loops_[f].loop <= t) ++loops_[f].loop;
      }
      return;
    }
  }

  const std::vector<TempBlock>& temps() const { return temps_; }
  const std::vector<Marks>& marks() const { return loops_; }
  void reserve(std::size_t temps) { temps_.reserve(temps); }
  /// Restores the state of an earlier process. False when they fit no nest of loops.
  bool restore(std::vector<TempBlock> temps, std::vector<Marks> marks) {
    std::size_t before = 0;
    for (const Marks& m : marks) {
      if (m.loop < before || m.iteration < m.loop || m.iteration > temps.size()) return false;
      before = m.iteration;
    }
    temps_ = std::move(temps);
    loops_ = std::move(marks);
    return true;
  }

 private:
  template <class Free>
  void end(std::size_t mark, Free& free) {
    while (temps_.size() > mark) {
      const TempBlock t = temps_.back();
      temps_.pop_back();
      if (t.array != no_array) free(t);
    }
  }

  std::vector<TempBlock> temps_;
  std::vector<Marks> loops_;
};

}  // namespace sial
