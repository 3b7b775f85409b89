#pragma once
// The bodies of all super instructions, and the checks they share. A body's arguments have the letters the program
// declared; whether their number fits is checked here, since declarations differ between programs.

#include <initializer_list>
#include <string>

#include "runtime/core/super/registry.h"

namespace sial {

#define SUPER(id, name, signatures, meaning) void super_##name(SuperContext&, std::span<SuperArg>);
#include "tables/super_instructions.def"
#undef SUPER

#define ELEMENT_FORM(name) EnergyDifferences element_form_##name(std::span<SuperArg>);
#include "tables/element_forms.def"
#undef ELEMENT_FORM

#define BLOCK_FORM(name) BlockForm block_form_##name(std::span<const SuperArg>);
#include "tables/block_forms.def"
#undef BLOCK_FORM

/// The form that a body expects of one argument.
enum class Expect { scalar, block, matrix };

/// Throws SialError when number or sorts of arguments differ: a scalar, any block or array, or a rank-2 one.
void expect_arguments(std::span<const SuperArg> args, std::initializer_list<Expect> expected);

/// Name and segments of an argument for messages: `t2[1,3]`, `fock`, or `argument 2`.
std::string describe(const SuperArg& arg, int position);

/// Number of an element within its kind's whole range, from 0 (orbital or basis function). For a simple index its value
/// is the number, from 1.
inline std::int64_t global_position(const SuperArg& arg, int dimension, std::int64_t position) {
  if (arg.kind[dimension] == IndexKind::simple && !arg.whole_array) return arg.segment[dimension] - 1;
  return arg.offset[dimension] + position;
}

/// Calls body(multi-index, element number) for every element in memory order.
template <class Body>
void for_each_element(const Shape& shape, Body body) {
  std::array<std::int64_t, max_rank> at{};
  std::int64_t n = shape.size();
  for (std::int64_t i = 0; i < n; ++i) {
    body(at, i);
    for (int d = 0; d < shape.rank && ++at[d] == shape.extent[d]; ++d) at[d] = 0;
  }
}

}  // namespace sial
