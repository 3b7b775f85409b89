#pragma once
// The statements of one rank's watcher about its rank, for the watchers of other ranks: in memory that the ranks of a
// host share, and in messages between hosts.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/watch/published.h"

namespace sial {

/// Plain memory.
struct RankStatus {
  std::int32_t rank = -1;
  std::int32_t process = 0;         // its number
  std::uint64_t process_names = 0;  // the namespace in which the number holds
  std::int64_t beat = 0;            // turns of its watcher; 0: not begun
  std::int64_t statements = 0, collectives = 0;
  double still = 0;                        // seconds since it last began a statement, or began or ended a wait
  double waiting = 0;                      // seconds of its present wait; 0: it does not wait
  double silent = 0;                       // seconds since a sign of life, where they are many; found by who reads
  std::int64_t waits_for_collective = -1;  // the number of the collective; -1: for something else, or not
  std::int32_t serves = 0;                 // 1: it runs no program
  std::int32_t ended = 0;                  // 1: its job is over
  std::array<char, 208> text{};            // what it does
  std::string what() const { return text.data(); }
  void set_text(const std::string& words);
};

/// Statuses of the ranks of a host in memory that they share, which must be zero at first. Each is written by its rank
/// only.
class HostBoard {
 public:
  static std::size_t bytes(int ranks);
  HostBoard(std::byte* memory, int ranks);

  int ranks() const { return ranks_; }
  void publish(int position, const RankStatus& status);
  /// Without a rank (-1) where there is none yet.
  RankStatus read(int position) const;

  /// Somebody wants to know what all ranks do.
  void ask() { asked().store(1, std::memory_order_relaxed); }
  bool take_asked() { return asked().exchange(0, std::memory_order_relaxed) != 0; }

 private:
  using Slot = Published<RankStatus>;
  std::atomic<std::uint64_t>& asked() const { return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_); }
  Slot& slot(int position) const;

  std::byte* memory_;
  int ranks_;
};

/// A message between hosts.
struct HostReport {
  std::int64_t beat = 0;
  std::int32_t host = 0;
  bool asked = false;  // somebody wants to know what all ranks do
  bool ended = false;  // the job is over
  std::vector<RankStatus> ranks;
};
/// Texts of ranks that moved less than `still` seconds ago are left out.
std::vector<std::byte> pack(const HostReport& report, double still);
/// Empty: not such a message.
HostReport unpack(std::span<const std::byte> bytes);

}  // namespace sial
