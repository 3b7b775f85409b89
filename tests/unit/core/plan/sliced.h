#pragma once
// Programs compiled with access slices and nothing else.

#include "compile.h"
#include "compiler/emit/emit.h"
#include "compiler/plan/slice/access_slice.h"
#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/bytecode/read.h"

namespace sial::test {

inline Module sliced(const std::string& declarations, const std::string& statements) {
  ir::Program program = lower(declarations, statements);
  plan::Plan plan;
  plan::access_slice(program, plan);
  Module m = emit(program, plan, {"test", std::string(64, '0'), 2});
  verify_module(m, "test");
  return m;
}

/// Indices with literal bounds have those, symbolic ones run to 3.
inline std::vector<IndexRange> ranges_of(const Module& m, std::int32_t symbolic = 3) {
  std::vector<IndexRange> ranges;
  for (const IndexRow& i : m.indices) {
    if (i.kind == IndexKind::sub) ranges.push_back({1, subsegments_per_segment});
    else ranges.push_back({i.lo.symbolic ? 1 : i.lo.value, i.hi.symbolic ? symbolic : i.hi.value});
  }
  return ranges;
}

struct State {
  explicit State(const Module& m)
      : ints(static_cast<std::size_t>(m.n_int_registers)),
        scalars(static_cast<std::size_t>(m.n_scalar_registers)),
        indices(m.indices.size()) {
    for (std::size_t i = 0; i < m.ints.size(); ++i) ints[i] = m.ints[i].initial;
    for (std::size_t i = 0; i < m.scalars.size(); ++i) scalars[i] = m.scalars[i].initial;
  }
  std::vector<std::int32_t> ints;
  std::vector<double> scalars;
  std::vector<std::int32_t> indices;
};

}  // namespace sial::test
