#include "runtime/chemistry/segments/segments.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/fragment_request.h"
#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/auto_segments.h"
#include "runtime/chemistry/segments/resegment.h"
#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

using Sizes = std::vector<std::int32_t>;

/// Whole shells per segment, segments as equal as the shells allow.
Sizes shell_pieces(const Molecule& molecule, std::int32_t target) {
  std::int32_t n = molecule.n_basis();
  std::int32_t pieces = std::max(1, (n + target - 1) / target);
  Sizes sizes;
  std::int32_t done = 0, current = 0;
  for (const Shell& s : molecule.shells) {
    std::int64_t boundary = std::int64_t{n} * (std::ssize(sizes) + 1) / pieces;
    if (current > 0 && 2 * std::int64_t{done} + s.n_functions() > 2 * boundary) {
      sizes.push_back(current);
      current = 0;
    }
    current += s.n_functions();
    done += s.n_functions();
  }
  if (current > 0) sizes.push_back(current);
  return sizes;
}

const SegmentRequest* request(const Job& job, const std::string& key) {
  auto it = job.segment_requests.find(key);
  return it == job.segment_requests.end() ? nullptr : &it->second;
}

/// Pieces of the size asked for, or of the size that suits the job, which is then said. `pieces` cuts for a size.
template <class Pieces>
Sizes cut(Job& job, const std::string& key, std::int32_t n, AutoRange range, std::string_view what, Pieces pieces) {
  const SegmentRequest* r = request(job, key);
  if (r && r->target > 0) return pieces(r->target);
  if (n == 0) return {};
  const AutoTarget automatic = automatic_target(n, job.ranks, job.memory_per_rank, range);
  Sizes sizes = pieces(automatic.size);
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::int64_t largest = *most;
  job.segment_choices.push_back(
      fmt::format("segments {} = auto: {} {} in {} of {}, {}; blocks of four such indices up to {}", key, n, what,
                  sizes.size(), *least == *most ? fmt::to_string(*most) : fmt::format("{} to {}", *least, *most),
                  automatic.why, bytes_text(8 * largest * largest * largest * largest)));
  return sizes;
}

/// Each part is cut by itself.
Sizes orbital_pieces(Job& job, const std::string& key, const std::vector<FragmentPart>& parts, AutoRange range,
                     std::string_view what) {
  std::int32_t n = 0;
  for (const FragmentPart& part : parts) n += part.count;
  return cut(job, key, n, range, what, [&](std::int32_t target) {
    Sizes sizes;
    for (const FragmentPart& part : parts) {
      const Sizes pieces = equal_segments(part.count, target);
      sizes.insert(sizes.end(), pieces.begin(), pieces.end());
    }
    return sizes;
  });
}

void check_total(const Sizes& sizes, std::int32_t n, std::string_view key, std::string_view what) {
  if (all_elements(sizes) == n) return;
  throw InputError(
      fmt::format("segments `{}` add up to {}, but the molecule has {} {}", key, all_elements(sizes), n, what),
      fmt::format("make the sizes {} add up to {}, or write \"auto\"", fmt::join(sizes, ", "), n));
}

void check_shells(const Sizes& sizes, const Molecule& molecule) {
  std::set<std::int32_t> ends;
  std::int32_t end = 0;
  for (const Shell& s : molecule.shells) ends.insert(end += s.n_functions());
  std::int32_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    at += sizes[i];
    if (ends.count(at)) continue;
    auto above = ends.lower_bound(at);
    std::int32_t high = above == ends.end() ? end : *above;
    std::int32_t low = above == ends.begin() ? 0 : *std::prev(above);
    throw InputError(fmt::format("`ao` segment {} ends at function {}, inside a shell (functions {} to {})", i + 1, at,
                                 low + 1, high),
                     "AO segments hold whole shells: end it at a shell's last function, or write ao = \"auto\"");
  }
}

struct OrbitalSegments {
  Sizes sizes;
  std::int32_t n_core = 0, n_occupied = 0;
};  // n_core, n_occupied: how many of the segments

/// Number of leading segments that hold exactly `orbitals`.
std::int32_t segments_until(const Sizes& sizes, std::int32_t orbitals, std::string_view key, std::string_view mixed,
                            std::string_view remedy) {
  std::int32_t n = 0, sum = 0;
  while (sum < orbitals) sum += sizes[n++];
  if (sum != orbitals)
    throw InputError(
        fmt::format("segments `{}` mix {} orbitals: no segment ends after orbital {}", key, mixed, orbitals),
        std::string(remedy));
  return n;
}

/// Segments of the frozen core, of the other occupied orbitals, of the virtual ones. A list for occupied orbitals may
/// leave out the frozen ones, which then have their own.
OrbitalSegments orbital_segments(Job& job, const std::string& kind_key, const std::string& occ_key,
                                 const std::string& virt_key, std::int32_t frozen, const FragmentParts& parts,
                                 std::int32_t occupied, std::int32_t n) {
  constexpr std::string_view frozen_first =
      "write the segments of the frozen core first, then those of the other occupied orbitals";
  OrbitalSegments result;
  if (const SegmentRequest* r = request(job, kind_key); r && !r->sizes.empty()) {
    check_total(r->sizes, n, kind_key, "orbitals");
    result.n_core = segments_until(r->sizes, frozen, kind_key, "frozen and correlated", frozen_first);
    result.n_occupied =
        segments_until(r->sizes, occupied, kind_key, "occupied and virtual",
                       "write the segments of the occupied orbitals first, then those of the virtual ones");
    result.sizes = r->sizes;
    return result;
  }
  auto add = [&](const Sizes& sizes) { result.sizes.insert(result.sizes.end(), sizes.begin(), sizes.end()); };
  const SegmentRequest *occ = request(job, occ_key), *virt = request(job, virt_key);
  const std::int32_t active = occupied - frozen;
  if (occ && !occ->sizes.empty() && (frozen == 0 || all_elements(occ->sizes) != active)) {
    check_total(occ->sizes, occupied, occ_key, "occupied orbitals of this spin");
    result.n_core = segments_until(occ->sizes, frozen, occ_key, "frozen and correlated", frozen_first);
    add(occ->sizes);
  } else {
    add(orbital_pieces(job, occ_key, {{1, frozen}}, AutoRange::occupied_orbitals, "frozen orbitals"));
    result.n_core = static_cast<std::int32_t>(result.sizes.size());
    add(occ && !occ->sizes.empty()
            ? occ->sizes
            : orbital_pieces(job, occ_key, frozen > 0 ? std::vector<FragmentPart>{{1, active}} : parts.occupied,
                             AutoRange::occupied_orbitals,
                             frozen > 0 ? "correlated occupied orbitals" : "occupied orbitals"));
  }
  result.n_occupied = static_cast<std::int32_t>(result.sizes.size());
  if (virt && !virt->sizes.empty()) check_total(virt->sizes, n - occupied, virt_key, "virtual orbitals of this spin");
  add(virt && !virt->sizes.empty()
          ? virt->sizes
          : orbital_pieces(job, virt_key, parts.virtuals, AutoRange::virtual_orbitals, "virtual orbitals"));
  return result;
}

/// What follows from the molecule and its segments: another value of the user's is taken, and said.
void set_of_molecule(Job& job, const std::string& name, std::int32_t value) {
  set_int(job, name, value);
  const auto found = job.data.ints.find(name);
  if (found == job.data.ints.end()) return;  // given as a real: the program that wants it says so
  const std::int32_t given = found->second;
  const std::string text = fmt::format(
      "`{0}` is set to {1}, and the molecule gives {2}: leave `{0}` out, unless other orbitals or functions than the molecule's are meant",
      name, given, value);
  if (given != value && std::find(job.warnings.begin(), job.warnings.end(), text) == job.warnings.end())
    job.warnings.push_back(text);
}

void set_scalar(Job& job, const std::string& name, double value) {
  if (!job.stated_values.count(name)) job.data.scalars[name] = value;
}

/// The values of one spin: b?occ .. e?virt (segments), b?virtorb .. (orbitals). Occupied ranges begin after `core`
/// segments of `frozen` orbitals.
void set_spin_values(Job& job, const std::string& letter, const OrbitalSegments& s, std::int32_t core,
                     std::int32_t frozen, std::int32_t occupied, std::int32_t n) {
  std::int32_t n_segments = static_cast<std::int32_t>(s.sizes.size());
  set_of_molecule(job, "b" + letter + "occ", core + 1);
  set_of_molecule(job, "e" + letter + "occ", s.n_occupied);
  set_of_molecule(job, "b" + letter + "virt", s.n_occupied + 1);
  set_of_molecule(job, "e" + letter + "virt", n_segments);
  set_of_molecule(job, "b" + letter + "occorb", frozen + 1);
  set_of_molecule(job, "e" + letter + "occorb", occupied);
  set_of_molecule(job, "b" + letter + "virtorb", occupied + 1);
  set_of_molecule(job, "e" + letter + "virtorb", n);
}

void derive_from(Job& job, const Molecule& m, double core_energy) {
  std::int32_t n = m.n_basis();
  auto [n_alpha, n_beta] = electron_counts(m);
  const FragmentParts alpha_parts = fragment_parts(chemistry(job.data).fragments, m, n_alpha);
  const FragmentParts beta_parts = fragment_parts(chemistry(job.data).fragments, m, n_beta);
  const SegmentRequest* ao = request(job, "ao");
  Sizes ao_sizes = ao && !ao->sizes.empty()
                       ? ao->sizes
                       : cut(job, "ao", n, AutoRange::functions, "basis functions", [&](std::int32_t target) {
                           Sizes sizes;
                           for (const Molecule& part : alpha_parts.shells) {
                             const Sizes pieces = shell_pieces(part, target);
                             sizes.insert(sizes.end(), pieces.begin(), pieces.end());
                           }
                           return sizes;
                         });
  check_total(ao_sizes, n, "ao", "basis functions");
  check_shells(ao_sizes, m);
  job.data.segments[IndexKind::ao] = ao_sizes;

  if (n_alpha > n)
    throw InputError(fmt::format("{} electrons of one spin do not fit into {} basis functions", n_alpha, n),
                     "use a larger basis");
  std::int32_t frozen = m.frozen_core;
  if (frozen > n_beta)
    throw InputError(
        fmt::format("`frozen_core` freezes {} orbitals, and only {} are occupied in both spins", frozen, n_beta),
        "freeze fewer, or write frozen_core = false");
  OrbitalSegments alpha = orbital_segments(job, "moa", "occ", "virt", frozen, alpha_parts, n_alpha, n);
  // Without a word about beta, a closed shell's beta orbitals are cut as its alpha ones.
  const std::size_t choices = job.segment_choices.size();
  bool own_beta = n_beta != n_alpha || request(job, "mob") || request(job, "beta_occ") || request(job, "beta_virt");
  OrbitalSegments beta =
      own_beta ? orbital_segments(job, "mob", "beta_occ", "beta_virt", frozen, beta_parts, n_beta, n) : alpha;
  OrbitalSegments mo =
      request(job, "mo") ? orbital_segments(job, "mo", "occ", "virt", frozen, alpha_parts, n_alpha, n) : alpha;
  if (!own_beta) job.segment_choices.resize(choices);  // said once
  job.data.segments[IndexKind::moa] = alpha.sizes;
  job.data.segments[IndexKind::mob] = beta.sizes;
  job.data.segments[IndexKind::mo] = mo.sizes;

  // Plain names span all occupied orbitals, frozen or not, as in the data files of old.
  set_spin_values(job, "", mo, 0, 0, n_alpha, n);
  set_spin_values(job, "a", alpha, alpha.n_core, frozen, n_alpha, n);
  set_spin_values(job, "b", beta, beta.n_core, frozen, n_beta, n);
  set_fragment_tables(job, alpha_parts, alpha.n_occupied, beta.n_occupied);
  set_of_molecule(job, "norb", static_cast<std::int32_t>(ao_sizes.size()));
  set_of_molecule(job, "nocc", mo.n_occupied);
  set_of_molecule(job, "nvirt", static_cast<std::int32_t>(mo.sizes.size()) - mo.n_occupied);
  set_of_molecule(job, "nalpha_occupied", n_alpha);
  set_of_molecule(job, "nalpha_virtual", n - n_alpha);
  set_of_molecule(job, "nbeta_occupied", n_beta);
  set_of_molecule(job, "nbeta_virtual", n - n_beta);
  set_of_molecule(job, "naocc", n_alpha);
  set_of_molecule(job, "nbocc", n_beta);
  set_of_molecule(job, "nbasis_funcs", n);
  set_of_molecule(job, "natoms", static_cast<std::int32_t>(m.atoms.size()));
  set_of_molecule(job, "ncenters", static_cast<std::int32_t>(m.atoms.size()));
  set_of_molecule(job, "nshells", static_cast<std::int32_t>(m.shells.size()));
  set_int(job, "intspherical",
          std::none_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2 && !s.pure; }) ? 1 : 0);
  set_int(job, "necp_atoms", static_cast<std::int32_t>(m.ecps.size()));
  set_int(job, "reference", n_alpha == n_beta ? 0 : 1);
  set_scalar(job, "nn_repulsion", core_energy);
}

void derive_from_molecule(Job& job) {
  const Molecule& m = chemistry(job.data).molecule;
  derive_from(job, m, nuclear_repulsion(m));
  std::int64_t n_atoms = std::ssize(m.atoms);
  DataArray coords{{3, n_atoms}, {}}, charge{{n_atoms}, {}};
  for (const Atom& a : m.atoms) {
    coords.data.insert(coords.data.end(), a.position.begin(), a.position.end());
    charge.data.push_back(a.charge);
  }
  coords.origin = charge.origin = "the molecule";
  job.data.arrays.try_emplace("coords", std::move(coords));
  job.data.arrays.try_emplace("charge", std::move(charge));
}

/// Whether programs keep two-electron integrals over basis functions (1) or compute them each time (0), where the user
/// says neither: keeps them, as sums and as differences over pairs of pairs of segments, where they take a quarter of
/// the job's memory at most.
void set_keep_quartets(Job& job) {
  auto it = job.data.segments.find(IndexKind::ao);
  double sum = 0, sum_2 = 0, sum_4 = 0;  // of the segments' sizes, of their squares and of those of these
  if (it != job.data.segments.end())
    for (const double n : it->second) {
      sum += n;
      sum_2 += n * n;
      sum_4 += n * n * n * n;
    }
  const double pairs = (sum * sum + sum_2) / 2,
               squares = (sum_2 * sum_2 + sum_4) / 2;  // elements of pairs of segments, i <= j
  const double bytes = sizeof(double) * (pairs * pairs + squares);
  set_int(job, "keep_quartets", pairs > 0 && bytes <= static_cast<double>(job.memory_per_rank) * job.ranks / 4 ? 1 : 0);
}

/// Of energies, where the user does not state it. Errors of correlation energies are about that of the amplitudes, and
/// differences divide them by twice the step.
double convergence(const Job& job) {
  return job.gradient_scalar.empty() ? 1e-10 : std::min(1e-10, std::max(1e-8 * job.gradient_step, 1e-12));
}

}  // namespace

const UsualValues& usual_values() {
  static const UsualValues values = [] {
    UsualValues all;
    const auto add = [](const JobData& data, auto& names) {
      for (const auto& item : data.ints) names.insert(item.first);
      for (const auto& item : data.scalars) names.insert(item.first);
    };
    Job job;
    derive_job_data(job);
    add(job.data, all.settings);
    all.settings.insert("lindep_tol");  // of a super instruction, which has its own default
    Molecule& atom = chemistry(job.data).molecule;
    atom.atoms.push_back({1, "H", {}});
    atom.multiplicity = 2;
    atom.shells.push_back({});
    chemistry(job.data).has_molecule = true;
    derive_job_data(job);
    add(job.data, all.of_system);
    return all;
  }();
  return values;
}

Sizes ao_segments(const Molecule& molecule, std::int32_t target) { return shell_pieces(molecule, target); }

void check_ao_segments(const Sizes& sizes, const Molecule& molecule) {
  check_total(sizes, molecule.n_basis(), "ao", "basis functions");
  check_shells(sizes, molecule);
}

void derive_from_chemistry(Job& job) {
  for (auto [name, value] : {std::pair{"scf_iter", 100},
                             {"scf_beg", 2},
                             {"scf_hist", 8},
                             {"cc_iter", 50},
                             {"eom_roots", 0},
                             {"nfrags", 0},
                             {"guess_orbitals", job.saved_before.contains("guess_a") ? 1 : 0},
                             {"guess_amplitudes", job.saved_blocks_before.contains("guess_t2") ? 1 : 0}})
    set_int(job, name, value);
  std::int32_t roots = job.data.ints.at("eom_roots");
  set_int(job, "eom_subspc", roots > 0 ? 12 * std::min(roots, 1'000'000) + 8 : 0);
  for (auto [name, value] : {std::pair{"scf_conv", convergence(job)},
                             {"cc_conv", convergence(job)},
                             {"eom_tol", 1e-8},
                             {"damp", 0.0},
                             {"guess_energy", 0.0},
                             {"scfeneg", 0.0},
                             {"totenerg", 0.0}})
    set_scalar(job, name, value);
  set_int(job, "iecp_on",
          chemistry(job.data).molecule.ecps.empty() ? 0 : 1);  // data files have potentials as arrays, and say so
  if (job.legacy) {
    resegment(job.data, job.segment_requests);  // everything else is in the file
    set_keep_quartets(job);
    return;
  }
  if (chemistry(job.data).has_molecule) {
    derive_from_molecule(job);
  } else if (chemistry(job.data).hamiltonian) {
    Molecule orbitals = orbitals_as_functions(*chemistry(job.data).hamiltonian);
    orbitals.frozen_core = chemistry(job.data).molecule.frozen_core;
    derive_from(job, orbitals, chemistry(job.data).hamiltonian->core_energy);
  }
  set_keep_quartets(job);
}

}  // namespace sial
