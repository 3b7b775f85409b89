#include "runtime/core/transport/slow_start.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/process_limits.h"

namespace sial {

std::vector<std::string> bridges_of_host() {
  constexpr std::array<std::string_view, 5> names{"docker", "virbr", "br-", "lxcbr", "cni"};
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    const std::string_view name = i->ifa_name;
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
        std::none_of(names.begin(), names.end(), [&](std::string_view n) { return name.starts_with(n); }))
      continue;
    sockaddr_in address{};
    std::memcpy(&address, i->ifa_addr, sizeof address);
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    found.push_back(fmt::format("{} ({})", name, text.data()));
  }
  freeifaddrs(all);
  return found;
}

bool network_is_named() {
  return std::getenv("OMPI_MCA_btl_tcp_if_include") || std::getenv("OMPI_MCA_btl_tcp_if_exclude");
}

namespace {

constexpr double patience = 15;  // seconds

std::string note() {
  const std::string name_it =
      "`mpirun --mca btl_tcp_if_include NETWORK --mca oob_tcp_if_include NETWORK`, with the hosts' network such as 10.0.0.0/16; under srun set OMPI_MCA_btl_tcp_if_include";
  const std::vector<std::string> bridges = bridges_of_host();
  const std::string hint =
      network_is_named()
          ? "can all hosts reach each other in the network that is named by btl_tcp_if_include, is there a firewall, and is a rank stopped?"
      : bridges.empty()
          ? "is there a firewall between the hosts? Where they have several networks, name one: " + name_it
          : fmt::format(
                "this host has {}: where other hosts have the same, Open MPI looks for them in there; name the network: {}",
                fmt::join(bridges, ", "), name_it);
  return fmt::format("note: MPI has not connected the ranks in {:.0f} s\n  hint: {}\n", patience, hint);
}

}  // namespace

SlowStart::SlowStart(bool speaks) {
  if (!speaks) return;
  try {
    thread_ = start_thread("a note", [this] {
      if (done_.wait(patience)) return;
      fmt::print(stderr, "{}", note());
      std::fflush(stderr);
    });
  } catch (const ProcessLimitError&) {  // the ranks may meet without a note
  }
}

SlowStart::~SlowStart() {
  done_.post();
  if (thread_.joinable()) thread_.join();
}

}  // namespace sial
