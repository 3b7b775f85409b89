#include "tests/hosts/frame_switch.h"

#include <algorithm>

namespace sial::hosts {

namespace {

constexpr std::size_t address_bytes = 6;
constexpr double nanoseconds_per_second = 1e9;

bool to_group(FrameSwitch::Frame frame) { return (std::to_integer<unsigned>(frame[0]) & 1U) != 0; }

int addressed_port(FrameSwitch::Frame frame) {
  return static_cast<int>(std::to_integer<unsigned>(frame[4]) << 8U | std::to_integer<unsigned>(frame[5])) - 1;
}

}  // namespace

FrameSwitch::FrameSwitch(int ports, const LinkConditions& conditions, std::uint64_t seed)
    : ports_(static_cast<std::size_t>(ports)), conditions_(conditions), random_(seed) {}

bool FrameSwitch::overflows(Nanoseconds wait) const {
  return static_cast<double>(wait) * conditions_.rate > queue_bytes * 8 * nanoseconds_per_second;
}

void FrameSwitch::arrive(int port, Frame frame, Nanoseconds now) {
  if (frame.size() < 2 * address_bytes) return;
  Port& from = ports_[static_cast<std::size_t>(port)];
  if (!from.up) {
    ++counts_.refused;
    return;
  }
  const double bits = static_cast<double>(frame.size()) * 8;
  const auto transmission =
      conditions_.rate > 0 ? static_cast<Nanoseconds>(bits / conditions_.rate * nanoseconds_per_second) : 0;
  const Nanoseconds begin = std::max(now, from.sends_until);
  if (overflows(begin - now)) {
    ++counts_.overflowed;
    return;
  }
  from.sends_until = begin + transmission;
  if (to_group(frame)) {
    for (Port& to : ports_) {
      if (&to != &from) forward(to, frame, from.sends_until, transmission);
    }
    return;
  }
  const int destination = addressed_port(frame);
  if (destination < 0 || destination >= ports() || destination == port) {
    ++counts_.refused;
    return;
  }
  forward(ports_[static_cast<std::size_t>(destination)], frame, from.sends_until, transmission);
}

void FrameSwitch::forward(Port& to, Frame frame, Nanoseconds received, Nanoseconds transmission) {
  if (!to.up) {
    ++counts_.refused;
    return;
  }
  if (conditions_.loss > 0 && std::uniform_real_distribution<>(0, 1)(random_) < conditions_.loss) {
    ++counts_.lost;
    return;
  }
  if (overflows(to.receives_until - received)) {
    ++counts_.overflowed;
    return;
  }
  // A switch passes a frame on while it still receives it: a free link adds no second transmission.
  to.receives_until = std::max(received, to.receives_until + transmission);
  Nanoseconds due = to.receives_until + conditions_.delay;
  if (!to.waiting.empty()) due = std::max(due, to.waiting.back().due);
  to.waiting.push_back({due, {frame.begin(), frame.end()}});
}

Nanoseconds FrameSwitch::next_due() const {
  Nanoseconds next = never;
  for (const Port& port : ports_) {
    if (!port.waiting.empty()) next = std::min(next, port.waiting.front().due);
  }
  return next;
}

void FrameSwitch::deliver_due(Nanoseconds now, const std::function<void(int port, Frame frame)>& deliver) {
  for (std::size_t number = 0; number < ports_.size(); ++number) {
    std::deque<Waiting>& waiting = ports_[number].waiting;
    while (!waiting.empty() && waiting.front().due <= now) {
      deliver(static_cast<int>(number), waiting.front().bytes);
      waiting.pop_front();
      ++counts_.delivered;
    }
  }
}

void FrameSwitch::set_link(int port, bool up) {
  Port& changed = ports_[static_cast<std::size_t>(port)];
  changed.up = up;
  if (!up) {
    counts_.refused += changed.waiting.size();
    changed.waiting.clear();
  }
}

}  // namespace sial::hosts
