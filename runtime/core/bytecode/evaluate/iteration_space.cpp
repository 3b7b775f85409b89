#include "runtime/core/bytecode/evaluate/iteration_space.h"

#include <string_view>

namespace sial {

namespace {

std::string_view pragma_of(const Module& module, const LoopRow& loop) {
  return loop.pragma >= 0 ? std::string_view(module.strings[static_cast<std::size_t>(loop.pragma)])
                          : std::string_view();
}

}  // namespace

bool runs_everywhere(const Module& module, const LoopRow& loop) {
  return pragma_of(module, loop) == "SequentialPardoLoop";
}

PardoMode pardo_mode(const Module& module, const LoopRow& loop, PardoRules rules) {
  if (runs_everywhere(module, loop)) return PardoMode::everywhere;
  const bool dependent = loop.rank_dependence == RankDependence::possible ||
                         (loop.rank_dependence == RankDependence::saved && !rules.saved_agree);
  if (!rules.static_schedule && !dependent) return PardoMode::dynamic;
  return pragma_of(module, loop) == "StaticTaskAllocParallelPardoLoop" ? PardoMode::cyclic_raw : PardoMode::cyclic;
}

}  // namespace sial
