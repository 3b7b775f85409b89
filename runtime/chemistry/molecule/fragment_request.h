#pragma once
// Fragments as a job file states them, and what follows: functions and orbitals by fragment, and the arrays by which
// super instructions know the fragment of a segment (runtime/chemistry/super/fragments.h).

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

struct Job;

/// Elements that follow each other and belong to one fragment.
struct FragmentPart {
  std::int32_t fragment = 1, count = 0;
};

/// Parts of the orbitals of one spin, fragment by fragment, and of the basis functions in the order of the atoms.
/// Without a request the molecule is one part of each. `shells` holds the shells of each part of the functions.
struct FragmentParts {
  std::vector<FragmentPart> functions, occupied, virtuals;
  std::vector<Molecule> shells;
};

/// Throws SialError unless every atom is in one fragment, the atoms of each follow each other, and each is a closed
/// shell whose charges add up to the molecule's.
void check_fragments(const FragmentRequest& request, const Molecule& molecule);

/// Of a closed shell where there are fragments; else of `occupied` orbitals.
FragmentParts fragment_parts(const FragmentRequest& request, const Molecule& molecule, std::int32_t occupied);

/// `nfrags` and the `w_frag_` arrays of a job whose segments are known, the first `alpha_occupied` and `beta_occupied`
/// of them occupied. Throws SialError when a segment belongs to two fragments.
void set_fragment_tables(Job& job, const FragmentParts& parts, std::int32_t alpha_occupied, std::int32_t beta_occupied);

}  // namespace sial
