#pragma once
// Two sets of numbered names that remember how they came about, so that a walk through branches and loops can go back
// to an earlier state and pays for what changed since, never for how many names there are. LiveNames lists its members;
// MadeNames, in which whole kinds of names disappear at once, does not. Marks must be undone in the opposite order in
// which they were taken.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/base/ids.h"

namespace sial::analysis {

/// Names of blocks, with their number per array; those of remote arrays are listed apart.
class LiveNames {
 public:
  /// By name: where its array stands in a table of `arrays` arrays, and whether it is a block of a remote one (else
  /// listed apart).
  LiveNames(std::vector<std::int32_t> array_of, std::vector<char> remote, std::size_t arrays)
      : array_of_(std::move(array_of)),
        remote_(std::move(remote)),
        where_(array_of_.size(), -1),
        odd_(array_of_.size()),
        count_(arrays) {}

  bool has(std::int32_t k) const { return where_[static_cast<std::size_t>(k)] >= 0; }
  std::size_t count(std::int32_t slot) const { return count_[static_cast<std::size_t>(slot)]; }
  const std::vector<std::int32_t>& remote() const { return members_[1]; }
  const std::vector<std::int32_t>& others() const { return members_[0]; }

  void set(std::int32_t k) {
    if (!has(k)) toggle(k);
  }
  void clear(std::int32_t k) {
    if (has(k)) toggle(k);
  }
  void clear_remote() {
    while (!members_[1].empty()) toggle(members_[1].back());
  }
  void clear_all() {
    clear_remote();
    while (!members_[0].empty()) toggle(members_[0].back());
  }

  std::size_t mark() const { return journal_.size(); }
  /// Names that are in now and were not at the mark, or the other way round.
  std::vector<std::int32_t> changed(std::size_t mark) {
    std::vector<std::int32_t> list;
    for (std::size_t k = mark; k < journal_.size(); ++k) odd_[static_cast<std::size_t>(journal_[k])] ^= 1;
    for (std::size_t k = mark; k < journal_.size(); ++k)
      if (char& odd = odd_[static_cast<std::size_t>(journal_[k])]; odd != 0) {
        list.push_back(journal_[k]);
        odd = 0;
      }
    steps_ += journal_.size() - mark;
    return list;
  }
  /// Returns to the state at the mark, which may be further back than marks still to be undone.
  void restore(std::size_t mark) {
    for (const std::int32_t k : changed(mark)) toggle(k);
  }
  void undo(std::size_t mark) {
    while (journal_.size() > mark) {
      const std::int32_t k = journal_.back();
      toggle(k);
      journal_.resize(journal_.size() - 2);
    }
  }
  std::size_t steps() const { return steps_; }

 private:
  void toggle(std::int32_t k) {
    ++steps_;
    std::vector<std::int32_t>& list = members_[remote_[static_cast<std::size_t>(k)] != 0 ? 1 : 0];
    std::int32_t& at = where_[static_cast<std::size_t>(k)];
    std::size_t& count = count_[static_cast<std::size_t>(array_of_[static_cast<std::size_t>(k)])];
    if (at < 0) {
      at = static_cast<std::int32_t>(list.size());
      list.push_back(k);
      ++count;
    } else {
      where_[static_cast<std::size_t>(list.back())] = at;
      list[static_cast<std::size_t>(at)] = list.back();
      list.pop_back();
      at = -1;
      --count;
    }
    journal_.push_back(k);
  }

  std::vector<std::int32_t> array_of_;
  std::vector<char> remote_;
  std::vector<std::int32_t> where_;  // in the list of members; -1: no member
  std::vector<char> odd_;            // all 0 between calls
  std::vector<std::size_t> count_;
  std::vector<std::int32_t> members_[2];  // of other arrays, of remote ones
  std::vector<std::int32_t> journal_;     // what was put in or taken out
  std::size_t steps_ = 0;
};

/// Names with properties (`drops`, by number): dropping a property takes out all names that have it. A name is in when
/// it was put in later than any of its properties was dropped.
class MadeNames {
 public:
  /// By name: its properties.
  MadeNames(std::vector<std::vector<std::int32_t>> properties, std::size_t n_properties)
      : properties_(std::move(properties)), names_(properties_.size()), times_(names_ + n_properties) {}

  bool has(std::int32_t k) const {
    const std::uint32_t made = times_[static_cast<std::size_t>(k)];
    if (made == 0) return false;
    for (const std::int32_t p : properties_[static_cast<std::size_t>(k)])
      if (times_[names_ + static_cast<std::size_t>(p)] > made) return false;
    return true;
  }
  void set(std::int32_t k) { assign(static_cast<std::size_t>(k), ++clock_); }
  void clear(std::int32_t k) { assign(static_cast<std::size_t>(k), 0); }
  void drop(std::int32_t property) { assign(names_ + static_cast<std::size_t>(property), ++clock_); }

  std::size_t mark() const { return journal_.size(); }
  void undo(std::size_t mark) {
    for (; journal_.size() > mark; journal_.pop_back()) times_[journal_.back().slot] = journal_.back().before;
  }

  /// The changes since a mark: goes back to it, and can be done again or met with another branch's.
  struct Branch {
    std::vector<std::pair<std::size_t, std::uint32_t>> times;  // last ones, each slot once
  };
  Branch take(std::size_t mark) {
    Branch b;
    for (std::size_t k = mark; k < journal_.size(); ++k) {
      const std::size_t slot = journal_[k].slot;
      if (times_[slot] == taken_) continue;
      b.times.emplace_back(slot, times_[slot]);
      times_[slot] = taken_;
    }
    steps_ += journal_.size() - mark;
    undo(mark);
    return b;
  }
  void again(const Branch& b) {
    for (const auto& [slot, time] : b.times) assign(slot, time);
  }
  /// Only what is in after both branches.
  void meet(const Branch& a, const Branch& b) {
    const std::size_t here = mark();
    std::vector<std::int32_t> both, changed;
    for (const Branch* x : {&a, &b})
      for (const auto& [slot, time] : x->times)
        if (slot < names_) changed.push_back(static_cast<std::int32_t>(slot));
    again(a);
    for (const std::int32_t k : changed)
      if (has(k)) both.push_back(k);
    undo(here);
    again(b);
    std::erase_if(both, [&](std::int32_t k) { return !has(k); });
    undo(here);
    for (const Branch* x : {&a, &b})
      for (const auto& [slot, time] : x->times)
        if (slot >= names_) assign(slot, ++clock_);
    for (const std::int32_t k : changed) clear(k);
    for (const std::int32_t k : both) set(k);
  }
  std::size_t steps() const { return steps_; }

 private:
  struct Change {
    std::size_t slot;
    std::uint32_t before;
  };
  static constexpr std::uint32_t taken_ = ~std::uint32_t{0};

  void assign(std::size_t slot, std::uint32_t time) {
    ++steps_;
    journal_.push_back({slot, times_[slot]});
    times_[slot] = time;
  }

  std::vector<std::vector<std::int32_t>> properties_;
  std::size_t names_;
  std::vector<std::uint32_t> times_;  // of names, then of properties
  std::vector<Change> journal_;
  std::uint32_t clock_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace sial::analysis
