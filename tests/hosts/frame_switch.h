#pragma once
// A switch of Ethernet frames between ports, as a model in time: who calls says when a frame arrives and asks which
// ones are due. Each port is a full-duplex link with a rate, a delay and a probability of loss; a link that is down
// loses all frames. Frames between two ports keep their order. Nothing here reads a clock or a device, so that one seed
// gives one course of events.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace sial::hosts {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();

struct LinkConditions {
  Nanoseconds delay = 0;  // from the end of the transmission to delivery
  double rate = 0;        // bits per second, each way; 0: unlimited
  double loss = 0;        // probability that a frame is lost on its way to one port
};

struct FrameCounts {
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;        // at random
  std::uint64_t overflowed = 0;  // a queue in front of a link was full
  std::uint64_t refused = 0;     // a link was down, or no port has the address
};

class FrameSwitch {
 public:
  using Frame = std::span<const std::byte>;
  /// Bytes that wait in front of a link until further frames overflow.
  static constexpr double queue_bytes = 4 << 20;

  FrameSwitch(int ports, const LinkConditions& conditions, std::uint64_t seed);

  /// A frame from `port` (from 0 on). Its destination is the port whose number, counted from 1, stands in the last two
  /// bytes of the address; frames to groups go to all other ports.
  void arrive(int port, Frame frame, Nanoseconds now);
  /// When the next frame is to be delivered; `never` where none waits.
  [[nodiscard]] Nanoseconds next_due() const;
  void deliver_due(Nanoseconds now, const std::function<void(int port, Frame frame)>& deliver);

  /// Frames that wait for a link that goes down are lost.
  void set_link(int port, bool up);
  /// For frames that arrive from now on.
  void set_conditions(const LinkConditions& conditions) { conditions_ = conditions; }
  [[nodiscard]] const LinkConditions& conditions() const { return conditions_; }
  [[nodiscard]] const FrameCounts& counts() const { return counts_; }
  [[nodiscard]] int ports() const { return static_cast<int>(ports_.size()); }

 private:
  struct Waiting {
    Nanoseconds due;
    std::vector<std::byte> bytes;
  };
  struct Port {
    bool up = true;
    Nanoseconds sends_until = 0;     // end of the last transmission from the port to the switch
    Nanoseconds receives_until = 0;  // and of the last one from the switch to the port
    std::deque<Waiting> waiting;     // in the order of delivery
  };

  void forward(Port& to, Frame frame, Nanoseconds received, Nanoseconds transmission);
  /// Whether a transmission that can begin `wait` later would stand behind a full queue.
  [[nodiscard]] bool overflows(Nanoseconds wait) const;

  std::vector<Port> ports_;
  LinkConditions conditions_;
  FrameCounts counts_;
  std::mt19937_64 random_;
};

}  // namespace sial::hosts
