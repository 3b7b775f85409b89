// The facts of the machine that decide how fast a run is. Host names and paths stay out: statistics are passed on.

#include <unistd.h>

#include <fstream>

#include "runtime/core/stats/stats.h"

namespace sial {

RunFacts::Pairs machine_facts() {
  std::string processor = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    if (const std::size_t colon = line.find(": "); colon != std::string::npos) processor = line.substr(colon + 2);
    break;
  }
  const long processors = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return {{"processor", processor},
          {"processors", std::to_string(processors)},
          {"memory_bytes", std::to_string(static_cast<long long>(pages) * page)}};
}

}  // namespace sial
