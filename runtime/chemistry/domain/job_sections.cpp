// [molecule] and [hamiltonian] of job files.

#include <optional>

#include <fmt/format.h>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/domain/chemistry_domain.h"
#include "runtime/chemistry/domain/sections.h"
#include "runtime/chemistry/files/fcidump.h"
#include "runtime/chemistry/files/guess.h"
#include "runtime/chemistry/files/trexio_file.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/fragment_request.h"
#include "runtime/chemistry/molecule/molecule.h"

namespace sial {
namespace {

using Kind = JobValue::Kind;

std::optional<bool> boolean(const JobValue& value) {
  return value.kind == Kind::boolean ? std::optional(value.is_true) : std::nullopt;
}

class SectionReader {
 public:
  SectionReader(const std::string& folder, Job& job) : folder_(folder), job_(job) {}

  void molecule(const JobValue& t) {
    if (const JobValue* n = t.get("trexio")) {
      of_trexio(t, *n);
      return;
    }
    for (std::string_view needed : {"xyz", "basis"})
      if (!t.get(needed)) t.fail(fmt::format("[molecule] lacks `{}`", needed));
    Molecule& m = chemistry(job_.data).molecule;
    XyzElectrons said;
    const std::string xyz = data_file(resolve_path(folder_, t.get("xyz")->string("xyz")));
    t.get("xyz")->at([&] { m.atoms = read_xyz(xyz, job_.warnings, &said); });
    std::optional<bool> spherical;
    if (const JobValue* n = t.get("spherical"); n && !(spherical = boolean(*n)))
      n->fail("`spherical` must be true or false", "false takes Cartesian functions");
    const JobValue& basis = *t.get("basis");
    m.basis_name = basis.string("basis");
    basis.at([&] {
      m.shells = read_basis(data_file(find_basis(m.basis_name, folder_)), m.atoms, spherical, &job_.warnings);
    });
    (t.get("ecp") ? *t.get("ecp") : basis).at([&] { effective_cores(t.get("ecp")); });
    finish_molecule(t, xyz, said);
  }

  /// Atoms, basis set and potentials from one file; charge and multiplicity unless they are stated.
  void of_trexio(const JobValue& t, const JobValue& file) {
    for (const std::string_view key : {"xyz", "basis", "spherical", "ecp"})
      if (const JobValue* n = t.get(key))
        n->fail(fmt::format("`{}` follows from `trexio`", key), "leave out one of the two");
    Molecule& m = chemistry(job_.data).molecule;
    const std::string path = data_file(resolve_path(folder_, file.string("trexio")));
    file.at([&] {
      const TrexioData data = read_trexio_file(path);
      m = trexio_molecule(data, path);
      if (const std::vector<DataArray> c = trexio_orbitals(data, m); !c.empty()) set_guess(job_, c.front(), c.back());
    });
    finish_molecule(t);
  }

  void finish_molecule(const JobValue& t, const std::string& xyz = {}, const XyzElectrons& said = {}) {
    Molecule& m = chemistry(job_.data).molecule;
    if (const JobValue* n = t.get("charge")) m.charge = n->integer("charge");
    if (const JobValue* n = t.get("multiplicity")) m.multiplicity = n->integer("multiplicity");
    fragments(t);
    take_electrons(m, said, t.get("charge") || t.get("fragment_charges"), t.get("multiplicity"), xyz, job_.warnings);
    t.at([&] { electron_counts(m); });
    if (const JobValue* n = t.get("frozen_core")) m.frozen_core = frozen_core(*n);
    if (const JobValue* n = t.get("fragments")) n->at([&] { check_fragments(chemistry(job_.data).fragments, m); });
    chemistry(job_.data).has_molecule = true;
  }

  void hamiltonian(const JobValue& t) {
    if (chemistry(job_.data).has_molecule)
      t.fail("the job has a [molecule] and a [hamiltonian]", "programs take the integrals of one: leave out the other");
    const JobValue* file = t.get("fcidump");
    if (!file) t.fail("[hamiltonian] lacks `fcidump`", "fcidump = \"FCIDUMP\" names a file of integrals over orbitals");
    file->at([&] { take_fcidump(job_, data_file(resolve_path(folder_, file->string("fcidump")))); });
    if (const JobValue* n = t.get("frozen_core")) {
      chemistry(job_.data).molecule.frozen_core = n->integer("frozen_core");
      if (chemistry(job_.data).molecule.frozen_core < 0) n->fail("`frozen_core` cannot be negative");
    }
  }

  /// Atoms of each fragment and its charge. The molecule's charge is their sum, unless it is stated.
  void fragments(const JobValue& t) {
    const JobValue *lists = t.get("fragments"), *charges = t.get("fragment_charges");
    if (charges && !lists)
      charges->fail("`fragment_charges` goes with `fragments`",
                    "fragments = [[1, 2, 3], [4, 5, 6]] lists the atoms of each");
    if (!lists) return;
    if (lists->kind != Kind::list || lists->items.empty())
      lists->fail("`fragments` must list the atoms of each fragment", "fragments = [[1, 2, 3], [4, 5, 6]]");
    for (const JobValue& list : lists->items) {
      if (list.kind != Kind::list)
        list.fail("`fragments` must list the atoms of each fragment", "fragments = [[1, 2, 3], [4, 5, 6]]");
      chemistry(job_.data).fragments.atoms.push_back(list.integers("fragments"));
    }
    if (charges) chemistry(job_.data).fragments.charges = charges->integers("fragment_charges");
    if (!t.get("charge"))
      for (std::int32_t charge : chemistry(job_.data).fragments.charges) chemistry(job_.data).molecule.charge += charge;
  }

  /// Potentials of the basis file, unless `ecp` names another file or is false.
  void effective_cores(const JobValue* n) {
    if (n && boolean(*n) == false) return;
    if (n && n->kind != Kind::text) n->fail("`ecp` must be the path of a basis file, or false");
    Molecule& m = chemistry(job_.data).molecule;
    m.ecps = read_ecps(data_file(find_basis(n ? n->string("ecp") : m.basis_name, folder_)), m.atoms);
    if (n && m.ecps.empty()) n->fail("the file holds no effective core potential for an element of this molecule");
    for (const Ecp& e : m.ecps) {
      m.atoms[e.atom].charge -= e.electrons;
      m.atoms[e.atom].core_electrons = e.electrons;
    }
  }

  std::int32_t frozen_core(const JobValue& n) const {
    const Molecule& m = chemistry(job_.data).molecule;
    if (const auto all = boolean(n)) return *all ? chemical_core(m) : 0;
    if (n.kind != Kind::whole)
      n.fail("`frozen_core` must be true, false or a number of orbitals",
             "true freezes the noble-gas cores of all atoms");
    std::int32_t orbitals = n.integer("frozen_core");
    if (orbitals < 0) n.fail("`frozen_core` cannot be negative");
    return orbitals;
  }

 private:
  std::string data_file(const std::string& file) {
    job_.data_files.push_back(file);
    return file;
  }

  const std::string& folder_;
  Job& job_;
};

}  // namespace

std::vector<KeySection> ChemistryDomain::sections() const { return chemistry_sections(); }

void ChemistryDomain::read_section(std::string_view name, const JobValue& table, const std::string& folder,
                                   Job& job) const {
  SectionReader reader(folder, job);
  if (name == "molecule") reader.molecule(table);
  else reader.hamiltonian(table);
}

std::string ChemistryDomain::source_of_array(const JobData& data, std::string_view name) const {
  return !chemistry(data).fragments.atoms.empty() && name.starts_with("w_frag_") ? "`fragments` under [molecule]" : "";
}

}  // namespace sial
