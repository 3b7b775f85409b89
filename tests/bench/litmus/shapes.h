#pragma once
// Litmus tests with the operations that the program uses: each has one outcome that is looked for, which its orders
// forbid, or allow.

#include <cstdint>
#include <string>
#include <vector>

namespace sial::litmus {

struct Shape {
  std::string name, operations, outcome;
  int threads;
  bool forbidden;                              // on any machine that C++ runs on; else it is what the machine may do
  std::uint64_t (*run)(std::uint64_t trials);  // how often the outcome was seen
};

const std::vector<Shape>& shapes();
inline constexpr const char* reordering = "store buffering";
inline constexpr const char* no_reordering = "store buffering, fence";

}  // namespace sial::litmus
