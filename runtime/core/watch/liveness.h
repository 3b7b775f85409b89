#pragma once
// The watcher's peers that have shown no sign of life for too long. Knows beats and times only.

#include <cstdint>
#include <vector>

namespace sial {

class Liveness {
 public:
  /// `patience` in seconds, 0: without end; peers are numbered from 0, and alive at the first turn.
  Liveness(int peers, double patience);

  /// To be called at every turn of the watcher, first. After a turn that came late, for this process was stopped or
  /// got no core, all peers have their patience anew: they may have been stopped with it.
  void turn(double now);
  void heard(int peer, std::int64_t beat, double now);
  bool silent(int peer, double now) const { return patience_ > 0 && silence(peer, now) > patience_; }
  double silence(int peer, double now) const { return now - last_[static_cast<std::size_t>(peer)]; }

 private:
  static constexpr double late = 4;  // seconds between turns that come once a second
  double patience_, last_turn_ = 0;
  bool begun_ = false;
  std::vector<double> last_;
  std::vector<std::int64_t> beat_;
};

}  // namespace sial
