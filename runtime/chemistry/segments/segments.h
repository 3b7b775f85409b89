#pragma once
// From a molecule and the user's segment requests to segment tables and predefined values. Invariants: AO segments
// never split a shell; MO segments are the occupied ones followed by the virtual ones; what the user gave is never
// overwritten.

#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/job.h"

namespace sial {

/// Elements of all segments together.
inline std::int32_t all_elements(const std::vector<std::int32_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0);
}

/// Pieces of about `target`: as equal as can be, of any `n` elements, or of whole shells.
std::vector<std::int32_t> equal_segments(std::int32_t n, std::int32_t target);
std::vector<std::int32_t> ao_segments(const Molecule& molecule, std::int32_t target);
/// Throws SialError when the sizes do not add up to the basis functions, or a segment ends inside a shell.
void check_ao_segments(const std::vector<std::int32_t>& sizes, const Molecule& molecule);

/// Whether the user leaves the segments of a key to us.
bool is_automatic(const Job& job, const std::string& key);

/// The options that give a run the segments `wanted` instead of its own: `--segments ao=8,8,4 --segments mo=5,6`; empty
/// when it has them, or when it has kinds that are not wanted.
std::string segment_options(const NamedSegments& wanted, const NamedSegments& own);

/// Names of the ints and scalars that every job has, and those that follow from a molecule: super instructions take
/// some of them by name. They may be given, though no program asks for them.
struct UsualValues {
  std::set<std::string, std::less<>> settings, of_molecule;
};
const UsualValues& usual_values();

/// Recomputes job.data's segment tables, predefined ints and scalars, and the arrays that follow from the molecule.
void derive_job_data(Job& job);

/// As the size of a segment. Throws InputError.
std::int32_t segment_size(std::int64_t value, std::string_view key);

// What the command line states; the job follows.
/// `--set name=value`: an integer or a real, by its spelling. Overrides the job file.
void apply_set(Job& job, std::string_view text);

/// `--segments ao=8,8,4`: the list of one kind; `ao=auto`, `ao_target=8`; `auto`: all kinds. Overrides the job file.
void apply_segments(Job& job, std::string_view text);

}  // namespace sial
