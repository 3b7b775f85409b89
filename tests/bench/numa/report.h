#pragma once
// What was measured, as a table beside the published figures and as a line of JSON.

#include <string>

#include "runtime/core/numa/topology.h"
#include "tests/bench/numa/measure.h"

namespace sial::bench {

struct Setting {
  const NumaTopology& machine;
  Observer observer;
  CacheSizes caches;
  Extent extent;
};

std::string heading(const Setting& setting);
std::string table(const Measured& measured);
std::string json_line(const Setting& setting, const Measured& measured);

}  // namespace sial::bench
