// Switches Ethernet frames between TAP devices tap1, tap2, ... which it makes in its network namespace and which are
// then moved to the hosts' ones. Commands come on the standard input, one a line, and each is answered by a line `ok`
// or `error`; the program ends with its input.
//
//   network_relay --ports N [--delay SECONDS] [--rate BITS_PER_SECOND] [--loss PROBABILITY] [--seed N] [--mtu BYTES]

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/hosts/frame_switch.h"

namespace sial::hosts {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
constexpr int max_ports = 1000;
constexpr std::size_t ethernet_header = 18;  // with a VLAN tag
constexpr int frames_at_once = 64;           // of one port, before the others have their turn

Nanoseconds now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * second + t.tv_nsec;
}

int checked(int result, const std::string& call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

double number(std::string_view text, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    throw std::invalid_argument("`" + std::string(text) + "` is no number from " + std::to_string(low) + " to " +
                                std::to_string(high));
  return value;
}

Nanoseconds delay(std::string_view text) { return std::llround(number(text, 0, 3600) * static_cast<double>(second)); }
double rate(std::string_view text) { return number(text, 0, 1e15); }
double loss(std::string_view text) { return number(text, 0, 1); }

int open_tap(int number) {
  const std::string name = "tap" + std::to_string(number);
  const int tap = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  checked(ioctl(tap, TUNSETIFF, &request), "making " + name);
  return tap;
}

class NetworkRelay {
 public:
  NetworkRelay(int ports, const LinkConditions& conditions, std::uint64_t seed, std::size_t mtu)
      : switch_(ports, conditions, seed),
        buffer_(mtu + ethernet_header),
        events_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
        timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create")) {
    for (int port = 0; port < ports; ++port) {
      taps_.push_back(open_tap(port + 1));
      watch(taps_.back(), static_cast<std::uint64_t>(port));
    }
    watch(STDIN_FILENO, input_event);
    watch(timer_, timer_event);
  }

  /// Until the input ends.
  void run() {
    std::array<epoll_event, 64> ready{};
    while (true) {
      const int count = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), -1);
      if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
      for (int k = 0; k < count; ++k) {
        const std::uint64_t who = ready[static_cast<std::size_t>(k)].data.u64;
        if (who == input_event) {
          if (!read_commands()) return;
        } else if (who == timer_event) {
          std::uint64_t expirations = 0;
          if (read(timer_, &expirations, sizeof expirations) < 0) continue;  // it has been set anew since
        } else {
          read_frames(static_cast<int>(who));
        }
      }
      switch_.deliver_due(now(), [&](int port, FrameSwitch::Frame frame) {
        // A host whose interface is not up yet, or that has gone, loses the frame.
        if (write(taps_[static_cast<std::size_t>(port)], frame.data(), frame.size()) < 0) ++undeliverable_;
      });
      set_timer();
    }
  }

 private:
  static constexpr std::uint64_t input_event = 1ULL << 32;
  static constexpr std::uint64_t timer_event = 1ULL << 33;

  void watch(int descriptor, std::uint64_t name) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    checked(epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  }

  void read_frames(int port) {
    const int tap = taps_[static_cast<std::size_t>(port)];
    for (int k = 0; k < frames_at_once; ++k) {
      const ssize_t size = read(tap, buffer_.data(), buffer_.size());
      if (size < 0) {
        // The device has gone with its host.
        if (errno != EAGAIN && errno != EINTR) epoll_ctl(events_, EPOLL_CTL_DEL, tap, nullptr);
        return;
      }
      switch_.arrive(port, {buffer_.data(), static_cast<std::size_t>(size)}, now());
    }
  }

  bool read_commands() {
    std::array<char, 1024> bytes{};
    const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size <= 0) return false;
    unread_.append(bytes.data(), static_cast<std::size_t>(size));
    for (std::size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      try {
        const std::string answer = obey(line);
        std::cout << "ok " << answer << std::endl;
      } catch (const std::invalid_argument& e) { std::cout << "error " << e.what() << std::endl; }
    }
    return true;
  }

  std::string obey(const std::string& line) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = std::string_view(line).substr(0, space);
    const std::string_view value = std::string_view(line).substr(std::min(space + 1, line.size()));
    LinkConditions changed = switch_.conditions();
    if (word == "up" || word == "down") {
      switch_.set_link(static_cast<int>(number(value, 1, switch_.ports())) - 1, word == "up");
      return "";
    }
    if (word == "count") {
      const FrameCounts& c = switch_.counts();
      return "delivered " + std::to_string(c.delivered) + " lost " + std::to_string(c.lost) + " overflowed " +
             std::to_string(c.overflowed) + " refused " + std::to_string(c.refused) + " undeliverable " +
             std::to_string(undeliverable_);
    }
    if (word == "delay") {
      changed.delay = delay(value);
    } else if (word == "rate") {
      changed.rate = rate(value);
    } else if (word == "loss") {
      changed.loss = loss(value);
    } else {
      throw std::invalid_argument("there is no command `" + std::string(word) + "`");
    }
    switch_.set_conditions(changed);
    return "";
  }

  void set_timer() {
    const Nanoseconds due = switch_.next_due();
    if (due == timer_due_) return;
    timer_due_ = due;
    itimerspec when{};  // zero: not at all
    if (due != never) when.it_value = {due / second, due % second};
    checked(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
  }

  FrameSwitch switch_;
  std::vector<std::byte> buffer_;
  std::vector<int> taps_;
  std::string unread_;
  std::uint64_t undeliverable_ = 0;
  Nanoseconds timer_due_ = never;
  int events_, timer_;
};

void relay(std::span<char*> arguments) {
  std::map<std::string_view, std::string_view> values = {{"--ports", ""}, {"--delay", "0"}, {"--rate", "0"},
                                                         {"--loss", "0"}, {"--seed", "1"},  {"--mtu", "9000"}};
  for (std::size_t k = 1; k < arguments.size(); k += 2) {
    const auto option = values.find(arguments[k]);
    if (option == values.end() || k + 1 == arguments.size())
      throw std::invalid_argument(std::string("`") + arguments[k] + "` is no option with a value");
    option->second = arguments[k + 1];
  }
  const auto ports = static_cast<int>(number(values["--ports"], 1, max_ports));
  const auto seed = static_cast<std::uint64_t>(number(values["--seed"], 0, 1e15));
  const auto mtu = static_cast<std::size_t>(number(values["--mtu"], 68, 65521));
  NetworkRelay relay(ports, {delay(values["--delay"]), rate(values["--rate"]), loss(values["--loss"])}, seed, mtu);
  // Frames wait for their delay, not for a processor that ranks compute on; without the right to this the delays grow.
  setpriority(PRIO_PROCESS, 0, -10);
  std::cout << "ok" << std::endl;
  relay.run();
}

}  // namespace
}  // namespace sial::hosts

int main(int argc, char** argv) {
  try {
    sial::hosts::relay({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& e) {
    std::cout << "error " << e.what() << std::endl;
    return 1;
  }
  return 0;
}
