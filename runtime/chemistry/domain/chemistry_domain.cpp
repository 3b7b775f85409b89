#include "runtime/chemistry/domain/chemistry_domain.h"

#include <algorithm>

#include "runtime/chemistry/files/guess.h"
#include "runtime/chemistry/files/molecule_in_results.h"
#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/resegment.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/chemistry/super/mulliken.h"
#include "runtime/core/base/names.h"

namespace sial {

const Domain& domain() {
  static const ChemistryDomain chemistry;
  return chemistry;
}

Job ChemistryDomain::read_data_file(const std::string& path) const { return legacy_job(read_legacy_file(path), path); }

void ChemistryDomain::write_data_file(const Job& job, const std::string& path) const {
  write_legacy_file(to_legacy_dat(job), path);
}

std::vector<std::string> ChemistryDomain::find_programs(const Job& job, const std::vector<std::string>& folders) const {
  return sial::find_programs(job.legacy->programs, folders);
}

bool ChemistryDomain::is_in_data_file(const Job& job, const std::string& value) const {
  const auto is_it = [&](const auto& item) { return lower_case(item.first) == value; };
  return job.legacy &&
         (std::ranges::any_of(job.legacy->ints, is_it) || std::ranges::any_of(job.legacy->scalars, is_it));
}

void ChemistryDomain::resegment(Job& job, std::string_view text) const { apply_resegment(job, text); }

bool ChemistryDomain::has_system(const JobData& data) const {
  return chemistry(data).has_molecule || chemistry(data).hamiltonian;
}

void ChemistryDomain::derive(Job& job) const { derive_from_chemistry(job); }

const UsualValues& ChemistryDomain::usual_values() const { return sial::usual_values(); }

bool ChemistryDomain::gives_array(const JobData& data, std::string_view name) const {
  return (chemistry(data).has_molecule && (name == "coords" || name == "charge")) ||
         (chemistry(data).hamiltonian && name.starts_with("given_"));
}

void ChemistryDomain::take_guess(Job& job) const { sial::take_guess(job); }

std::vector<std::string> ChemistryDomain::warnings(const JobData& data) const {
  if (!chemistry(data).has_molecule) return {};
  std::string text = unusual_distances(chemistry(data).molecule.atoms);
  return text.empty() ? std::vector<std::string>() : std::vector{std::move(text)};
}

std::map<std::string, std::string> ChemistryDomain::identity(const JobData& data) const {
  return identity_of_chemistry(data);
}

void ChemistryDomain::write_system(Hdf5File& file, const JobData& data) const {
  if (chemistry(data).has_molecule) write_molecule(file, chemistry(data).molecule);
}

std::string ChemistryDomain::difference(const Hdf5File& file, const JobData& data) const {
  return chemistry(data).has_molecule ? molecule_difference(file, chemistry(data).molecule) : "";
}

std::vector<Domain::Property> ChemistryDomain::properties(const Job& job, const Statics& saved) const {
  if (job.legacy) return {};
  std::vector<double> charges = mulliken_charges(job.data, saved);
  if (charges.empty()) return {};
  return {{"mulliken_charges", std::move(charges), "e"}};
}

}  // namespace sial
