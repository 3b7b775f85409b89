#include "runtime/core/watch/liveness.h"

#include <cstddef>

namespace sial {

Liveness::Liveness(int peers, double patience)
    : patience_(patience), last_(static_cast<std::size_t>(peers), 0), beat_(static_cast<std::size_t>(peers), 0) {}

void Liveness::turn(double now) {
  if (!begun_ || now - last_turn_ > late)
    for (double& last : last_) last = now;
  last_turn_ = now;
  begun_ = true;
}

void Liveness::heard(int peer, std::int64_t beat, double now) {
  const auto p = static_cast<std::size_t>(peer);
  if (beat == beat_[p]) return;
  beat_[p] = beat;
  last_[p] = now;
}

}  // namespace sial
