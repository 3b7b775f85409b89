#include "runtime/program/job/describe.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/bytes.h"

namespace sial {
namespace {

const char* kind_text(IndexKind kind) {
  switch (kind) {
    case IndexKind::ao: return "ao";
    case IndexKind::mo: return "mo";
    case IndexKind::moa: return "moa";
    case IndexKind::mob: return "mob";
    case IndexKind::simple: return "simple";
    case IndexKind::la: return "la";
    case IndexKind::sub: return "sub";
  }
  return "?";
}

void describe_molecule(const JobData& data, std::string& out) {
  if (!chemistry(data).has_molecule) {
    out += chemistry(data).molecule.basis_name.empty()
               ? "no molecule\n"
               : fmt::format("no molecule: {}\n", chemistry(data).molecule.basis_name);
    return;
  }
  const Molecule& m = chemistry(data).molecule;
  out += fmt::format("molecule: {} atom{}, charge {}, multiplicity {}; coordinates in bohr\n", m.atoms.size(),
                     m.atoms.size() == 1 ? "" : "s", m.charge, m.multiplicity);
  for (std::size_t i = 0; i < m.atoms.size(); ++i) {
    const Atom& a = m.atoms[i];
    out += fmt::format("  {:4} {:2} {:4} {:16.10f} {:16.10f} {:16.10f}\n", i + 1, a.symbol, a.charge, a.position[0],
                       a.position[1], a.position[2]);
  }
  const bool cartesian =
      std::any_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2 && !s.pure; });
  const bool high = std::any_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2; });
  out += fmt::format("basis: {} shells, {} functions{}\n", m.shells.size(), m.n_basis(),
                     !high       ? ""
                     : cartesian ? ", Cartesian"
                                 : ", spherical");
  out += "  shell atom  l primitives contractions functions\n";
  std::int32_t first = 1;
  for (std::size_t i = 0; i < m.shells.size(); ++i) {
    const Shell& s = m.shells[i];
    out += fmt::format("  {:5} {:4} {:2} {:10} {:12} {:4} to {}\n", i + 1, s.atom + 1, s.l, s.exponents.size(),
                       s.n_contractions, first, first + s.n_functions() - 1);
    first += s.n_functions();
  }
}

void describe_programs(const Job& job, const std::vector<std::string>& folders, std::string& out) {
  out += "programs\n";
  if (job.programs.empty() && job.legacy) {
    for (const std::string& name : job.legacy->programs) {
      const std::vector<std::string> files = find_program(name, folders);
      out += files.empty() ? fmt::format("  {} (not in {})\n", name, fmt::join(folders, ", "))
                           : fmt::format("  {} = {}\n", name, fmt::join(files, ", "));
    }
  }
  for (const std::string& name : job.programs) out += fmt::format("  {}\n", name);
}

}  // namespace

std::string describe_job(const Job& job, const std::vector<std::string>& folders) {
  const JobData& data = job.data;
  std::string out = job.file.empty() ? "" : fmt::format("{}\n", job.file);
  describe_molecule(data, out);
  out +=
      job.segment_choices.empty()
          ? "segments\n"
          : fmt::format(
                "segments (automatic ones for {} rank{}, {} each; where programs run long, other ones are chosen by their time: `--dry-run` prints which)\n",
                job.ranks, job.ranks == 1 ? "" : "s", bytes_text(static_cast<std::int64_t>(job.memory_per_rank)));
  for (const auto& [kind, sizes] : data.segments)
    out +=
        fmt::format("  {:6} {} elements in {}: {}\n", kind_text(kind),
                    std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), sizes.size(), fmt::join(sizes, " "));
  describe_programs(job, folders, out);
  out += "ints\n";
  for (const auto& [name, value] : data.ints) out += fmt::format("  {} = {}\n", name, value);
  out += "scalars\n";
  for (const auto& [name, value] : data.scalars) out += fmt::format("  {} = {}\n", name, value);
  if (!data.arrays.empty() || !data.int_arrays.empty()) out += "arrays\n";
  for (const auto& [name, a] : data.arrays) out += fmt::format("  {}({})\n", name, fmt::join(a.extents, ","));
  for (const auto& [name, a] : data.int_arrays)
    out += fmt::format("  {}({}) integers\n", name, fmt::join(a.extents, ","));
  if (job.legacy) {
    bool any = false;
    for (const LegacyConfig& config : job.legacy->configs)
      for (const auto& [key, value] : config.pairs) {
        if (!any) out += "settings of programs (nothing reads them)\n";
        any = true;
        out += fmt::format("  {}: {} = {}\n", config.program, key, value);
      }
  }
  return out;
}

}  // namespace sial
