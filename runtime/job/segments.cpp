#include "runtime/job/segments.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/job/molecule.h"

namespace sial {
namespace {

using Sizes = std::vector<std::int32_t>;

std::int32_t total(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 0); }

Sizes equal_pieces(std::int32_t n, std::int32_t target) {
  if (n == 0) return {};
  std::int32_t pieces = (n + target - 1) / target;
  Sizes sizes(pieces, n / pieces);
  for (std::int32_t i = 0; i < n % pieces; ++i) ++sizes[i];
  return sizes;
}

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

void check_total(const Sizes& sizes, std::int32_t n, std::string_view key, std::string_view what) {
  if (total(sizes) == n) return;
  throw SialError(fmt::format("segments `{}` add up to {}, but the molecule has {} {}", key, total(sizes), n, what),
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
    throw SialError(fmt::format("`ao` segment {} ends at function {}, inside a shell (functions {} to {})", i + 1, at, low + 1, high),
                    "AO segments hold whole shells: end it at a shell's last function, or write ao = \"auto\"");
  }
}

struct OrbitalSegments { Sizes sizes; std::int32_t n_occupied = 0; };  // n_occupied: how many of the segments

/// Occupied segments, then virtual ones.
OrbitalSegments orbital_segments(const Job& job, const std::string& kind_key, const std::string& occ_key, const std::string& virt_key,
                                 std::int32_t occupied, std::int32_t n) {
  OrbitalSegments result;
  if (const SegmentRequest* r = request(job, kind_key); r && !r->sizes.empty()) {
    check_total(r->sizes, n, kind_key, "orbitals");
    std::int32_t sum = 0;
    while (sum < occupied) sum += r->sizes[result.n_occupied++];
    if (sum != occupied)
      throw SialError(fmt::format("segments `{}` mix occupied and virtual orbitals: no segment ends after orbital {}", kind_key, occupied),
                      "write the segments of the occupied orbitals first, then those of the virtual ones");
    result.sizes = r->sizes;
    return result;
  }
  auto part = [&](const std::string& key, std::int32_t count, const char* what) {
    const SegmentRequest* r = request(job, key);
    if (r && !r->sizes.empty()) {
      check_total(r->sizes, count, key, what);
      return r->sizes;
    }
    return equal_pieces(count, r ? r->target : 20);
  };
  result.sizes = part(occ_key, occupied, "occupied orbitals of this spin");
  result.n_occupied = static_cast<std::int32_t>(result.sizes.size());
  Sizes virt = part(virt_key, n - occupied, "virtual orbitals of this spin");
  result.sizes.insert(result.sizes.end(), virt.begin(), virt.end());
  return result;
}

void set_int(Job& job, const std::string& name, std::int32_t value) {
  if (!job.given_values.count(name)) job.data.ints[name] = value;
}

void set_scalar(Job& job, const std::string& name, double value) {
  if (!job.given_values.count(name)) job.data.scalars[name] = value;
}

/// The values of one spin: b?occ .. e?virt (segments), b?virtorb .. (orbitals), counts.
void set_spin_values(Job& job, const std::string& letter, const OrbitalSegments& s, std::int32_t occupied, std::int32_t n) {
  std::int32_t n_segments = static_cast<std::int32_t>(s.sizes.size());
  set_int(job, "b" + letter + "occ", 1);
  set_int(job, "e" + letter + "occ", s.n_occupied);
  set_int(job, "b" + letter + "virt", s.n_occupied + 1);
  set_int(job, "e" + letter + "virt", n_segments);
  set_int(job, "b" + letter + "occorb", 1);
  set_int(job, "e" + letter + "occorb", occupied);
  set_int(job, "b" + letter + "virtorb", occupied + 1);
  set_int(job, "e" + letter + "virtorb", n);
}

void derive_from_molecule(Job& job) {
  const Molecule& m = job.data.molecule;
  std::int32_t n = m.n_basis();
  const SegmentRequest* ao = request(job, "ao");
  Sizes ao_sizes = ao && !ao->sizes.empty() ? ao->sizes : shell_pieces(m, ao ? ao->target : 20);
  check_total(ao_sizes, n, "ao", "basis functions");
  check_shells(ao_sizes, m);
  job.data.segments[IndexKind::ao] = ao_sizes;

  auto [n_alpha, n_beta] = electron_counts(m);
  if (n_alpha > n)
    throw SialError(fmt::format("{} electrons of one spin do not fit into {} basis functions", n_alpha, n), "use a larger basis");
  OrbitalSegments alpha = orbital_segments(job, "moa", "occ", "virt", n_alpha, n);
  // Without a word about beta, a closed shell's beta orbitals are cut as its alpha ones.
  bool own_beta = n_beta != n_alpha || request(job, "mob") || request(job, "beta_occ") || request(job, "beta_virt");
  OrbitalSegments beta = own_beta ? orbital_segments(job, "mob", "beta_occ", "beta_virt", n_beta, n) : alpha;
  OrbitalSegments mo = request(job, "mo") ? orbital_segments(job, "mo", "occ", "virt", n_alpha, n) : alpha;
  job.data.segments[IndexKind::moa] = alpha.sizes;
  job.data.segments[IndexKind::mob] = beta.sizes;
  job.data.segments[IndexKind::mo] = mo.sizes;

  set_spin_values(job, "", mo, n_alpha, n);
  set_spin_values(job, "a", alpha, n_alpha, n);
  set_spin_values(job, "b", beta, n_beta, n);
  set_int(job, "norb", static_cast<std::int32_t>(ao_sizes.size()));
  set_int(job, "nocc", mo.n_occupied);
  set_int(job, "nvirt", static_cast<std::int32_t>(mo.sizes.size()) - mo.n_occupied);
  set_int(job, "nalpha_occupied", n_alpha);
  set_int(job, "nalpha_virtual", n - n_alpha);
  set_int(job, "nbeta_occupied", n_beta);
  set_int(job, "nbeta_virtual", n - n_beta);
  set_int(job, "naocc", n_alpha);
  set_int(job, "nbocc", n_beta);
  set_int(job, "nbasis_funcs", n);
  set_int(job, "natoms", static_cast<std::int32_t>(m.atoms.size()));
  set_int(job, "ncenters", static_cast<std::int32_t>(m.atoms.size()));
  set_int(job, "nshells", static_cast<std::int32_t>(m.shells.size()));
  set_int(job, "intspherical", std::none_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2 && !s.pure; }) ? 1 : 0);
  set_int(job, "reference", n_alpha == n_beta ? 0 : 1);
  set_scalar(job, "nn_repulsion", nuclear_repulsion(m));

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

}  // namespace

void derive_job_data(Job& job) {
  for (auto [name, value] : {std::pair{"scf_iter", 100}, {"scf_beg", 2}, {"scf_hist", 6}, {"cc_iter", 50}, {"eom_roots", 0}, {"eom_subspc", 0}, {"nfrags", 0}})
    set_int(job, name, value);
  for (auto [name, value] : {std::pair{"scf_conv", 1e-10}, {"cc_conv", 1e-10}, {"eom_tol", 1e-8}, {"damp", 0.0}, {"scfeneg", 0.0}, {"totenerg", 0.0}})
    set_scalar(job, name, value);
  for (auto [key, kind] : {std::pair{"ao", IndexKind::ao}, {"mo", IndexKind::mo}, {"moa", IndexKind::moa}, {"mob", IndexKind::mob}, {"la", IndexKind::la}})
    if (const SegmentRequest* r = request(job, key); r && !r->sizes.empty()) job.data.segments[kind] = r->sizes;
  if (job.data.has_molecule) {
    derive_from_molecule(job);
  } else if (auto it = job.data.segments.find(IndexKind::ao); it != job.data.segments.end()) {
    set_int(job, "norb", static_cast<std::int32_t>(it->second.size()));
  }
}

}  // namespace sial
