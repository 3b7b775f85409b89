#pragma once
// From a molecule and the user's segment requests to segment tables and predefined values. Invariants: AO segments
// never split a shell; MO segments are the occupied ones followed by the virtual ones; what the user gave is never
// overwritten.

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/segments.h"

namespace sial {

/// Pieces of about `target`, of whole shells.
std::vector<std::int32_t> ao_segments(const Molecule& molecule, std::int32_t target);
/// Throws SialError when the sizes do not add up to the basis functions, or a segment ends inside a shell.
void check_ao_segments(const std::vector<std::int32_t>& sizes, const Molecule& molecule);

/// Of any job, and of one with a molecule.
const UsualValues& usual_values();

/// What derive_job_data() asks for: segments, predefined values and arrays that follow from the molecule, or from the
/// Hamiltonian in its place, and settings of programs that have their own default.
void derive_from_chemistry(Job& job);

}  // namespace sial
