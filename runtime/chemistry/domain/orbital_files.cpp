// Files that other programs read, of what a job leaves: whether it can have them, and writing them.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "runtime/chemistry/domain/chemistry_domain.h"
#include "runtime/chemistry/files/fcidump.h"
#include "runtime/chemistry/files/molden.h"
#include "runtime/chemistry/files/trexio_file.h"
#include "runtime/chemistry/integrals/orbital_integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/bytes.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/bytecode/module.h"

namespace sial {
namespace {

/// Whether a program of the job saves a static array under such a label, or an earlier job may have done so.
template <class IsLabel>
bool may_be_saved(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const IsLabel& is_label) {
  for (const auto& program : programs)
    for (const Instruction& in : program->code)
      if (in.op == Opcode::set_persistent && in.a == 1 && is_label(program->strings[static_cast<std::size_t>(in.c)]))
        return true;
  return std::ranges::any_of(job.restore_files, [](const std::string& file) { return !file.empty(); });
}

/// A job that ran for days must not find out at its end that there are no orbitals. `option`: what asks for them.
void check_orbitals(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const char* option) {
  if (!chemistry(job.data).has_molecule)
    throw InputError(fmt::format("`{}` asks for orbitals, and the job has no molecule", option),
                     "leave it out, or give the job a [molecule]");
  if (may_be_saved(job, programs, is_orbital_label)) return;
  throw InputError(
      fmt::format("`{}` asks for orbitals, and no program of the job saves any", option),
      "an SCF program saves its coefficients x[ao, mo] as `set_persistent c \"c\"`, of UHF as \"ca\" and \"cb\"");
}

std::string functions_text(const JobData& data) {
  return chemistry(data).hamiltonian ? fmt::format("{} orbitals", chemistry(data).hamiltonian->orbitals)
                                     : fmt::format("{} basis functions", chemistry(data).molecule.n_basis());
}

void check_integrals(const Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  if ((!chemistry(job.data).has_molecule && !chemistry(job.data).hamiltonian) || job.legacy)
    throw InputError("`--fcidump` asks for integrals, and the job has neither [molecule] nor [hamiltonian]",
                     "leave it out, or run a job file with one of the two");
  const double needed = bytes_of_orbital_integrals(job.data);
  if (const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
      there > 0 && needed > there)
    throw EnvironmentError(
        fmt::format("`--fcidump` needs {} on rank 0 for the integrals over {}, and this machine has {}",
                    bytes_text(static_cast<std::int64_t>(needed)), functions_text(job.data),
                    bytes_text(static_cast<std::int64_t>(there))),
        "leave it out, take a smaller basis set or a frozen core, or a machine with more memory");
  if (!may_be_saved(job, programs, [](const std::string& label) { return label == "c"; }))
    throw InputError(
        "`--fcidump` asks for the orbitals of a closed shell, and no program of the job saves them",
        "RHF saves its coefficients x[ao, mo] as `set_persistent c \"c\"`; those of UHF, with two kinds of integrals, are not written");
}

/// What is left to do where only the integrals are not written.
std::string results_hint(const Job& job, bool has_checkpoint) {
  const std::string less = "fewer ranks on the first machine, or less `--memory`";
  if (has_checkpoint)
    return fmt::format("the other output files are written; `--restart` with {} goes on from the last checkpoint",
                       less);
  if (job.results_path == "none" || !chemistry(job.data).has_molecule)
    return fmt::format("run the job again with {}", less);
  return fmt::format(
      "the other output files are written; run the SCF program alone with {}: `--guess {}` begins with these orbitals",
      less, (std::filesystem::path(job.output_dir) / job.results_path).lexically_normal().string());
}

}  // namespace

void ChemistryDomain::check_files(const Job& job, Programs programs) const {
  if (job.molden_path != "none") {
    check_orbitals(job, programs, "--molden");
    check_molden(chemistry(job.data).molecule);
  }
  if (job.fcidump_path != "none") check_integrals(job, programs);
  if (job.trexio_path == "none") return;
  require_trexio();
  check_orbitals(job, programs, "--trexio");
  check_trexio(chemistry(job.data).molecule);
  const std::filesystem::path place = std::filesystem::path(job.output_dir) / job.trexio_path;
  if (std::error_code ignored; is_trexio_text(job.trexio_path) && std::filesystem::exists(place, ignored))
    throw InputError(fmt::format("there is a `{}` already", place.string()),
                     "a folder of texts is not replaced: remove it, or give `--trexio` another name");
}

std::optional<EnvironmentError> ChemistryDomain::write_files(const Job& job, const Statics& saved,
                                                             bool has_checkpoint) const {
  const std::filesystem::path folder = job.output_dir;
  if (job.molden_path != "none")
    write_file((folder / job.molden_path).string(), molden_text(chemistry(job.data).molecule, saved));
  if (job.trexio_path != "none")
    write_trexio_file((folder / job.trexio_path).string(), trexio_data(chemistry(job.data).molecule, saved));
  if (job.fcidump_path == "none") return {};
  try {
    write_fcidump(integrals_over_orbitals(job.data, saved), (folder / job.fcidump_path).string());
  } catch (const std::bad_alloc&) {
    return EnvironmentError(
        fmt::format(
            "out of memory at `--fcidump`: `{}` is not written; the integrals over {} take {} on rank 0, beside the block data",
            (folder / job.fcidump_path).lexically_normal().string(), functions_text(job.data),
            bytes_text(static_cast<std::int64_t>(bytes_of_orbital_integrals(job.data)))),
        results_hint(job, has_checkpoint));
  }
  return {};
}

}  // namespace sial
