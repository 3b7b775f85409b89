#include "runtime/chemistry/schema/atomic_input.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/options.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
/// Keywords of the input, by what they set.
const std::set<std::string, std::less<>> integer_values = {"scf_iter", "scf_hist", "cc_iter"};
const std::set<std::string, std::less<>> real_values = {"scf_conv", "cc_conv"};
constexpr std::string_view other_keywords[] = {"reference", "freeze_core", "memory",
                                               "spherical", "segments",    "gradient_step"};
/// "hf, mp2 and ccsd": names of the methods of one reference.
std::string listed(std::span<const SchemaMethod> methods, std::string_view reference,
                   std::string SchemaMethod::* name) {
  std::vector<std::string> names;
  for (const SchemaMethod& method : methods)
    if (method.reference == reference) names.push_back(method.*name);
  if (names.empty()) return "none";
  const std::string last = std::exchange(names.back(), {});
  names.pop_back();
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

class Reader {
 public:
  Reader(AtomicInput& input, std::string name) : input_(input), name_(std::move(name)) {}

  void read(const std::string& text) {
    try {
      input_.given = parse_json(text);
    } catch (const Json::exception& error) {
      throw InputError(fmt::format("the input is no JSON: {}", printable(error.what())),
                       "an input is a JSON object with molecule, driver and model", name_);
    }
    const Json& root = input_.given;
    if (!root.is_object()) fail("", "the input is no object", "an input has molecule, driver and model");
    const Json* version = find(root, "schema_version");
    input_.version = version ? integer(*version, "schema_version") : find(root, "specification") ? 2 : 1;
    if (input_.version != 1 && input_.version != 2)
      fail("schema_version", fmt::format("{} is not known", input_.version), "versions 1 and 2 of the schema are read");
    if (input_.version == 1) {
      schema(root, "", "qcschema_input", 1);
      keys(root, "", {"id", "molecule", "driver", "model", "keywords", "protocols", "extras", "provenance"});
    } else {
      schema(root, "", "qcschema_atomic_input", 2);
      keys(root, "", {"id", "molecule", "specification", "provenance"});
    }
    molecule(required(root, "molecule"));
    const Json& specification = input_.version == 1 ? root : required(root, "specification");
    if (input_.version == 2) {
      prefix_ = "specification.";
      if (!specification.is_object()) fail("", "is no object");
      schema(specification, "", "qcschema_atomic_specification");
      keys(specification, "", {"program", "driver", "model", "keywords", "protocols", "extras"});
    }
    driver(required(specification, "driver"));
    keywords_ = find(specification, "keywords");
    if (keywords_ && !keywords_->is_object()) fail("keywords", "is no object");
    protocols(find(specification, "protocols"));
    model(required(specification, "model"));
    const std::string prefix = std::exchange(prefix_, {});
    electrons();
    prefix_ = prefix;
    settings();
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& message, const std::string& hint = {}) const {
    const std::string whole = prefix_ + path;
    throw InputError(whole.empty() ? message : fmt::format("`{}`: {}", whole, message), hint, name_);
  }

  /// An object has these members, beside the name and version of its schema, and no other: one that is misspelt, or is
  /// elsewhere, would change the calculation.
  void keys(const Json& object, const std::string& path, std::vector<std::string_view> known) const {
    known.insert(known.end(), {"schema_name", "schema_version"});
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string hint = fmt::format("there are: {}", fmt::join(known, ", "));
      if (key == "charge" || key == "multiplicity") hint = fmt::format("did you mean `molecular_{}`?", key);
      else if (lower_case(key).starts_with("unit")) hint = "coordinates are in bohr";
      fail(path + printable_name(key), "is not known", did_you_mean(key, known, hint));
    }
  }

  /// The name and the version of a part, where they are stated.
  void schema(const Json& object, const std::string& path, std::string_view name, std::int32_t version = 0) const {
    if (const Json* is = find(object, "schema_name");
        is && text_of(*is, path + "schema_name") != name && (name != "qcschema_input" || *is != "qc_schema_input"))
      fail(path + "schema_name", fmt::format("`{}` is not known", printable_name(is->get<std::string>())),
           fmt::format("in version {} this is called `{}`", input_.version, name));
    if (const Json* is = find(object, "schema_version"); is && integer(*is, path + "schema_version") != version &&
                                                         (path != "molecule." || input_.version != 1 || *is > version))
      fail(path + "schema_version", fmt::format("{} is not known", is->dump()),
           version > 0 ? fmt::format("inputs of version {} have {} here{}", input_.version, version,
                                     path == "molecule." ? ", and molecules the same keys in both: state that" : "")
                       : "a specification has no version of its own");
  }

  /// Null where it is not there, or stands as null.
  static const Json* find(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& required(const Json& object, const std::string& path) const {
    const Json* found = find(object, path.substr(path.rfind('.') + 1).c_str());
    if (!found) fail(path, "is missing");
    return *found;
  }

  std::string text_of(const Json& value, const std::string& path) const {
    if (!value.is_string()) fail(path, "is no text");
    return value.get<std::string>();
  }
  bool truth(const Json& value, const std::string& path) const {
    if (!value.is_boolean()) fail(path, "must be true or false");
    return value.get<bool>();
  }
  /// Also numbers that are written as text, as the Basis Set Exchange does.
  double real(const Json& value, const std::string& path) const {
    std::optional<double> number;
    if (value.is_number()) number = value.get<double>();
    else if (value.is_string()) number = read_real(value.get<std::string>());
    if (!number || !std::isfinite(*number)) fail(path, "is no number");
    return *number;
  }
  std::int32_t integer(const Json& value, const std::string& path) const {
    const double number = real(value, path);
    if (number != std::round(number) || std::abs(number) > 1e9)
      fail(path, fmt::format("{} is no whole number", number));
    return static_cast<std::int32_t>(number);
  }
  const Json& list(const Json& value, const std::string& path) const {
    if (!value.is_array()) fail(path, "is no list");
    return value;
  }
  /// Members whose names end the paths.
  const Json& list_in(const Json& object, const std::string& path) const { return list(required(object, path), path); }
  std::string text_in(const Json& object, const std::string& path) const {
    return text_of(required(object, path), path);
  }
  std::vector<double> reals_in(const Json& object, const std::string& path) const {
    return reals(required(object, path), path);
  }
  std::vector<double> reals(const Json& value, const std::string& path) const {
    std::vector<double> all;
    for (const Json& element : list(value, path))
      if (element.is_array())
        for (const Json& inner : element) all.push_back(real(inner, path));
      else all.push_back(real(element, path));
    return all;
  }

  void driver(const Json& value) {
    const std::string name = text_of(value, "driver");
    if (name == "energy") input_.driver = SchemaDriver::energy;
    else if (name == "gradient") input_.driver = SchemaDriver::gradient;
    else if (name == "properties") input_.driver = SchemaDriver::properties;
    else fail("driver", fmt::format("`{}` is not known", printable(name)), "there are energy, gradient and properties");
  }

  void protocols(const Json* value) {
    if (!value) return;
    if (!value->is_object()) fail("protocols", "is no object");
    schema(*value, "protocols.", "qcschema_atomic_protocols");
    keys(*value, "protocols.", {"stdout", "wavefunction", "native_files", "error_correction"});
    if (const Json* out = find(*value, "stdout")) input_.keeps_output = truth(*out, "protocols.stdout");
    for (const std::string key : {"wavefunction", "native_files"})
      if (const Json* kept = find(*value, key.c_str()))
        if (const std::string path = "protocols." + key, is = text_of(*kept, path); is != "none")
          fail(path, fmt::format("`{}` is asked for, and a result has none", printable_name(is)),
               "`none`, or leave it out");
  }

  void molecule(const Json& value) {
    if (!value.is_object()) fail("molecule", "is no object");
    schema(value, "molecule.", "qcschema_molecule", input_.version + 1);
    keys(
        value, "molecule.",
        words_of("symbols geometry molecular_charge molecular_multiplicity real atomic_numbers mass_numbers masses "
                 "atom_labels fragments fragment_charges fragment_multiplicities connectivity name comment identifiers "
                 "fix_com fix_orientation fix_symmetry validated provenance id extras"));
    Molecule& m = chemistry(input_.job.data).molecule;
    const Json& symbols = list_in(value, "molecule.symbols");
    const std::vector<double> places = reals_in(value, "molecule.geometry");
    if (symbols.empty()) fail("molecule.symbols", "there are no atoms");
    if (places.size() != 3 * symbols.size())
      fail("molecule.geometry", fmt::format("{} numbers for {} atoms", places.size(), symbols.size()),
           "three coordinates of each atom, in bohr");
    const auto of_atoms = [&](const char* key) {
      const Json* values = find(value, key);
      const std::string path = fmt::format("molecule.{}", key);
      if (values && list(*values, path).size() != symbols.size())
        fail(path, fmt::format("{} values for {} atoms", values->size(), symbols.size()));
      return values;
    };
    for (const char* key : {"masses", "mass_numbers", "atom_labels"}) of_atoms(key);
    const Json *real_atoms = of_atoms("real"), *numbers = of_atoms("atomic_numbers");
    for (std::size_t a = 0; a < symbols.size(); ++a) {
      const std::string path = fmt::format("molecule.symbols[{}]", a), symbol = text_of(symbols[a], path);
      Atom atom;
      atom.charge = atomic_number(symbol);
      if (atom.charge == 0)
        fail(path, fmt::format("`{}` is no element", printable_name(symbol)),
             "isotopes are in `mass_numbers`, ghost atoms in `real`, labels in `atom_labels`");
      if (numbers)
        if (const std::int32_t z = integer((*numbers)[a], "molecule.atomic_numbers"); z != atom.charge)
          fail("molecule.atomic_numbers", fmt::format("atom {} is {} by its symbol, which has {}, not {}", a,
                                                      element_symbol(atom.charge), atom.charge, z));
      atom.symbol = element_symbol(atom.charge);
      if (real_atoms && !truth((*real_atoms)[a], "molecule.real")) make_ghost(atom);
      std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(3 * a), 3, atom.position.begin());
      for (const double x : atom.position)
        if (std::abs(x) > 1e5) fail("molecule.geometry", fmt::format("{} bohr is no place of an atom", x));
      m.atoms.push_back(atom);
    }
    for (std::size_t a = 0; a < m.atoms.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (std::hypot(m.atoms[a].position[0] - m.atoms[b].position[0], m.atoms[a].position[1] - m.atoms[b].position[1],
                       m.atoms[a].position[2] - m.atoms[b].position[2]) < 0.1)
          fail("molecule.geometry", fmt::format("atoms {} and {} lie at the same place", b, a),
               "coordinates are in bohr");
    const Json *charge = find(value, "molecular_charge"), *multiplicity = find(value, "molecular_multiplicity");
    if (charge) m.charge = integer(*charge, "molecule.molecular_charge");
    std::int64_t electrons = -m.charge;
    for (const Atom& atom : m.atoms) electrons += atom.charge;
    m.multiplicity = electrons % 2 == 0 ? 1 : 2;
    if (multiplicity) m.multiplicity = integer(*multiplicity, "molecule.molecular_multiplicity");
    fragments(value, multiplicity != nullptr);
    if (const Json* known = find(value, "identifiers")) {
      if (!known->is_object()) fail("molecule.identifiers", "is no object");
      keys(*known, "molecule.identifiers.",
           {"molecule_hash", "molecular_formula", "smiles", "inchi", "inchikey", "canonical_explicit_hydrogen_smiles",
            "canonical_isomeric_explicit_hydrogen_mapped_smiles", "canonical_isomeric_explicit_hydrogen_smiles",
            "canonical_isomeric_smiles", "canonical_smiles", "pubchem_cid", "pubchem_sid", "pubchem_conformerid"});
    }
    chemistry(input_.job.data).has_molecule = true;
  }

  /// The calculation is of the whole molecule: its fragments may say nothing else of charge and multiplicity.
  void fragments(const Json& value, bool states_multiplicity) const {
    const Molecule& m = chemistry(input_.job.data).molecule;
    std::size_t count = 1;
    if (const Json* groups = find(value, "fragments")) {
      count = list(*groups, "molecule.fragments").size();
      std::vector<int> times(m.atoms.size());
      for (const Json& group : *groups)
        for (const Json& atom : list(group, "molecule.fragments")) {
          const std::int32_t a = integer(atom, "molecule.fragments");
          if (a < 0 || a >= std::ssize(times)) fail("molecule.fragments", fmt::format("there is no atom {}", a));
          ++times[static_cast<std::size_t>(a)];
        }
      if (const auto other = std::ranges::find_if(times, [](int n) { return n != 1; }); other != times.end())
        fail("molecule.fragments", fmt::format("atom {} is in {} fragments", other - times.begin(), *other),
             "each atom is in one");
    }
    const auto integers = [&](const char* key) {
      std::vector<std::int32_t> all;
      const std::string path = fmt::format("molecule.{}", key);
      if (const Json* given = find(value, key)) {
        for (const Json& one : list(*given, path)) all.push_back(integer(one, path));
        if (all.size() != count) fail(path, fmt::format("{} values for {} fragments", all.size(), count));
      }
      return all;
    };
    const std::vector<std::int32_t> charges = integers("fragment_charges"),
                                    multiplicities = integers("fragment_multiplicities");
    if (const auto sum = std::accumulate(charges.begin(), charges.end(), std::int64_t{0});
        !charges.empty() && sum != m.charge)
      fail("molecule.fragment_charges",
           fmt::format("their sum is {}, and the charge of the molecule is {}", sum, m.charge),
           "state `molecular_charge`");
    std::int64_t unpaired = 0, largest = 0;
    for (const std::int32_t one : multiplicities) {
      if (one < 1) fail("molecule.fragment_multiplicities", fmt::format("{} is no multiplicity", one));
      unpaired += one - 1;
      largest = std::max<std::int64_t>(largest, one - 1);
    }
    // Spins of fragments couple to anything from their difference to their sum; which is meant must be said.
    const std::int64_t least = std::max<std::int64_t>(2 * largest - unpaired, unpaired % 2), own = m.multiplicity - 1;
    if (!multiplicities.empty() &&
        (own > unpaired || own < least || (unpaired - own) % 2 != 0 || (!states_multiplicity && own != unpaired)))
      fail("molecule.fragment_multiplicities",
           fmt::format("{} do not make the multiplicity {} of the molecule", fmt::join(multiplicities, ", "),
                       m.multiplicity),
           "state `molecular_multiplicity`");
  }

  void model(const Json& value) {
    if (!value.is_object()) fail("model", "is no object");
    keys(value, "model.", {"method", "basis"});
    choose_method(text_in(value, "model.method"));
    const Json& basis = required(value, "model.basis");
    Molecule& m = chemistry(input_.job.data).molecule;
    std::optional<bool> spherical;
    if (const Json* keyword = keywords_ ? find(*keywords_, "spherical") : nullptr)
      spherical = truth(*keyword, "keywords.spherical");
    if (basis.is_object()) {
      embedded_basis(basis);
      if (spherical && std::ranges::any_of(m.shells, [&](const Shell& s) { return s.l >= 2 && s.pure != *spherical; }))
        input_.job.warnings.push_back(
            fmt::format("{}: `{}keywords.spherical` is left out: shells of the basis set state another `harmonic_type`",
                        name_, prefix_));
    } else {
      m.basis_name = text_of(basis, "model.basis");
      try {
        const std::string file = find_basis(m.basis_name, ".");
        m.shells = read_basis(file, m.atoms, spherical, &input_.job.warnings);
        m.ecps = read_ecps(file, m.atoms);
      } catch (const SialError& error) { fail("model.basis", error.what(), error.hint()); }
    }
    for (const Ecp& ecp : m.ecps) {
      m.atoms[static_cast<std::size_t>(ecp.atom)].charge -= ecp.electrons;
      m.atoms[static_cast<std::size_t>(ecp.atom)].core_electrons = ecp.electrons;
    }
  }

  void electrons() const {
    try {
      if (const auto [alpha, beta] = electron_counts(chemistry(input_.job.data).molecule); alpha + beta == 0)
        throw InputError("no electrons are left", "is molecular_charge right?");
    } catch (const SialError& error) { fail("molecule", error.what(), error.hint()); }
  }

  void choose_method(const std::string& given) {
    std::string name = lower_case(given), reference;
    if (name == "scf") name = "hf";
    examples_ = find_examples();
    const std::vector<SchemaMethod> methods = read_methods(examples_);
    for (const SchemaMethod& method : methods)
      if (method.full_name == name) {
        reference = method.reference;
        name = method.name;
        break;
      }
    if (const Json* keyword = keywords_ ? find(*keywords_, "reference") : nullptr) {
      const std::string stated = lower_case(text_of(*keyword, "keywords.reference"));
      if (stated != "rhf" && stated != "uhf")
        fail("keywords.reference", fmt::format("`{}` is not known", printable(stated)), "there are rhf and uhf");
      if (!reference.empty() && reference != stated)
        fail("keywords.reference", fmt::format("`{}` contradicts the method `{}`", stated, printable(given)));
      reference = stated;
    }
    const bool open = chemistry(input_.job.data).molecule.multiplicity != 1,
               unrestricted = reference.empty() ? open : reference == "uhf";
    if (open && !unrestricted)
      fail("model.method",
           fmt::format("`{}` is for closed shells, and the molecule has multiplicity {}", printable(given),
                       chemistry(input_.job.data).molecule.multiplicity),
           "open shells have " + listed(methods, "uhf", &SchemaMethod::full_name));
    bool known = false;
    for (const SchemaMethod& method : methods) {
      known = known || method.name == name;
      if (method.name == name && (method.reference == "uhf") == unrestricted) input_.method = method;
    }
    if (input_.method) return;
    if (known)
      fail("model.method", fmt::format("`{}` is there for closed shells with RHF only", printable(given)),
           "open shells have " + listed(methods, "uhf", &SchemaMethod::name));
    fail("model.method", fmt::format("`{}` is not known", printable(given)),
         "there are " + listed(methods, "rhf", &SchemaMethod::name));
  }

  void embedded_basis(const Json& basis) {
    Molecule& m = chemistry(input_.job.data).molecule;
    schema(basis, "model.basis.", input_.version == 1 ? "qcschema_basis" : "qcschema_basis_set", input_.version);
    keys(basis, "model.basis.", {"name", "description", "center_data", "atom_map", "nbf"});
    if (const Json* name = find(basis, "name")) m.basis_name = text_of(*name, "model.basis.name");
    const Json& map = list_in(basis, "model.basis.atom_map");
    const Json& centers = required(basis, "model.basis.center_data");
    if (!centers.is_object()) fail("model.basis.center_data", "is no object");
    if (map.size() != m.atoms.size())
      fail("model.basis.atom_map", fmt::format("{} entries for {} atoms", map.size(), m.atoms.size()));
    for (std::size_t a = 0; a < map.size(); ++a) {
      const std::string key = text_of(map[a], "model.basis.atom_map"),
                        path = "model.basis.center_data." + printable(key);
      const auto found = centers.find(key);
      if (found == centers.end() || !found->is_object()) fail(path, "is missing, or no object");
      keys(*found, path + ".", {"electron_shells", "ecp_electrons", "ecp_potentials"});
      other_element(key, a);
      const Json& shells = list_in(*found, path + ".electron_shells");
      for (std::size_t s = 0; s < shells.size(); ++s)
        add_shells(shells[s], fmt::format("{}.electron_shells[{}]", path, s), static_cast<std::int32_t>(a));
      const Json *count = find(*found, "ecp_electrons"), *parts = find(*found, "ecp_potentials");
      const bool has_parts = parts && !list(*parts, path + ".ecp_potentials").empty();
      if (!has_parts && count && integer(*count, path + ".ecp_electrons") != 0)
        fail(path + ".ecp_potentials", "is missing, and `ecp_electrons` are replaced");
      if (has_parts && m.atoms[a].charge > 0)
        add_potential(*parts, path, count ? integer(*count, path + ".ecp_electrons") : 0, static_cast<std::int32_t>(a));
    }
    if (m.shells.empty()) fail("model.basis", "there are no shells");
    // QCElemental counts the angular momenta of shells, whatever contractions they have.
    if (const Json* nbf = find(basis, "nbf"))
      if (const std::int32_t n = integer(*nbf, "model.basis.nbf"); n != m.n_basis() && n != once_)
        fail("model.basis.nbf", fmt::format("{}, and the shells have {} functions", n, m.n_basis()));
  }

  /// A warning where a center that is named after one element is another's, or several elements have one center.
  void other_element(const std::string& center, std::size_t atom) {
    const Molecule& m = chemistry(input_.job.data).molecule;
    const std::int32_t own = element_of(m.atoms[atom]), named = labelled_element(center),
                       first = centers_.emplace(center, own).first->second;
    const std::int32_t other = named != 0 ? named : first;
    if (other != own)
      input_.job.warnings.push_back(
          fmt::format("{}: `{}model.basis.atom_map`: atom {} ({}) has the functions of `{}`, which are {}'s", name_,
                      prefix_, atom, m.atoms[atom].symbol, center, element_symbol(other)));
  }

  /// One shell for each contraction, and each angular momentum of an SP shell.
  void add_shells(const Json& given, const std::string& path, std::int32_t atom) {
    if (!given.is_object()) fail(path, "is no object");
    const std::string kind = text_in(given, path + ".harmonic_type");
    if (kind != "spherical" && kind != "cartesian")
      fail(path + ".harmonic_type", fmt::format("`{}` is not known", printable(kind)),
           "there are spherical and cartesian");
    keys(given, path + ".", {"harmonic_type", "angular_momentum", "exponents", "coefficients"});
    const Json &momenta = list_in(given, path + ".angular_momentum"), &rows = list_in(given, path + ".coefficients");
    const std::vector<double> exponents = reals_in(given, path + ".exponents");
    if (momenta.empty() || rows.empty() || (momenta.size() > 1 && momenta.size() != rows.size()))
      fail(path, fmt::format("{} angular momenta and {} rows of coefficients do not fit", momenta.size(), rows.size()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Shell shell;
      shell.atom = atom;
      shell.l = integer(momenta[momenta.size() > 1 ? r : 0], path + ".angular_momentum");
      if (shell.l < 0 || shell.l > 6) fail(path + ".angular_momentum", fmt::format("{} is not within 0 to 6", shell.l));
      shell.pure = kind == "spherical" && shell.l >= 2;
      const std::vector<double> coefficients = reals(rows[r], path + ".coefficients");
      if (coefficients.size() != exponents.size())
        fail(path + ".coefficients",
             fmt::format("{} coefficients for {} exponents", coefficients.size(), exponents.size()));
      for (std::size_t p = 0; p < exponents.size(); ++p) {
        if (exponents[p] <= 0.0) fail(path + ".exponents", "an exponent must be positive");
        if (coefficients[p] == 0.0) continue;
        shell.exponents.push_back(exponents[p]);
        shell.coefficients.push_back(coefficients[p]);
      }
      if (shell.exponents.empty()) fail(path + ".coefficients", "all coefficients of a shell are zero");
      normalise(shell);
      if (r < momenta.size()) once_ += shell.n_functions();
      chemistry(input_.job.data).molecule.shells.push_back(std::move(shell));
    }
  }

  /// The part of the highest angular momentum acts on all others too.
  void add_potential(const Json& parts, const std::string& center, std::int32_t electrons, std::int32_t atom) {
    Ecp ecp;
    ecp.atom = atom;
    ecp.electrons = electrons;
    if (electrons < 1) fail(center + ".ecp_electrons", "is missing, or not positive");
    const std::string path = center + ".ecp_potentials";
    std::int32_t highest = 0;
    const auto momentum = [&](const Json& part) {
      const Json& momenta = list_in(part, path + ".angular_momentum");
      if (momenta.size() != 1) fail(path + ".angular_momentum", "one angular momentum is known here");
      return integer(momenta[0], path + ".angular_momentum");
    };
    for (const Json& part : parts) {
      if (!part.is_object()) fail(path, "is no list of objects");
      keys(part, path + ".", {"ecp_type", "angular_momentum", "r_exponents", "gaussian_exponents", "coefficients"});
      if (const Json* type = find(part, "ecp_type"); type && text_of(*type, path + ".ecp_type") == "spinorbit")
        fail(path, "potentials with spin-orbit terms are not known here");
      highest = std::max(highest, momentum(part));
    }
    for (const Json& part : parts) {
      const std::int32_t l = momentum(part);
      const std::vector<double> powers = reals_in(part, path + ".r_exponents"),
                                exponents = reals_in(part, path + ".gaussian_exponents"),
                                coefficients = reals_in(part, path + ".coefficients");
      if (powers.size() != exponents.size() || exponents.size() != coefficients.size())
        fail(path, "powers, exponents and coefficients differ in number");
      for (std::size_t t = 0; t < exponents.size(); ++t) {
        if (exponents[t] <= 0.0) fail(path, "an exponent must be positive");
        if (powers[t] != std::round(powers[t]) || powers[t] < 0.0 || powers[t] > 10.0)
          fail(path, fmt::format("the power {} of r is not known here", powers[t]));
        ecp.terms.push_back(
            {l == highest ? -1 : l, static_cast<std::int32_t>(std::lround(powers[t])), exponents[t], coefficients[t]});
      }
    }
    chemistry(input_.job.data).molecule.ecps.push_back(std::move(ecp));
  }

  void settings() {
    Job& job = input_.job;
    for (const std::string& program : input_.method->programs)
      job.programs.push_back((fs::path(examples_) / program).string());
    job.results_path = job.run_json_path = "none";
    if (input_.driver == SchemaDriver::gradient) set_option(job, OptionId::gradient, input_.method->energy);
    if (keywords_)
      for (const auto& [name, value] : keywords_->items())
        if (!value.is_null()) keyword(name, value);
    derive_job_data(job);
  }

  void keyword(const std::string& name, const Json& value) {
    Job& job = input_.job;
    const std::string path = "keywords." + printable(name);
    const auto passing_on = [&](const auto& use) {
      try {
        use();
      } catch (const SialError& error) { fail(path, error.what(), error.hint()); }
    };
    if (integer_values.contains(name)) {
      job.data.ints[name] = integer(value, path);
      job.stated_values.insert(name);
      if (job.data.ints[name] < 1) fail(path, "must be at least 1");
    } else if (real_values.contains(name)) {
      job.data.scalars[name] = real(value, path);
      job.stated_values.insert(name);
      if (job.data.scalars[name] <= 0.0) fail(path, "must be above 0");
    } else if (name == "freeze_core") {
      Molecule& m = chemistry(job.data).molecule;
      m.frozen_core = value.is_boolean() ? (value.get<bool>() ? chemical_core(m) : 0) : integer(value, path);
      if (m.frozen_core < 0) fail(path, "cannot be negative");
    } else if (name == "memory") {
      passing_on([&] {
        set_option(job, OptionId::memory,
                   value.is_string() ? value.get<std::string>() : fmt::format("{:.0f}", real(value, path)));
      });
    } else if (name == "gradient_step") {
      passing_on([&] { set_option(job, OptionId::gradient_step, fmt::format("{}", real(value, path))); });
    } else if (name == "segments") {
      if (!value.is_object())
        fail(path, "is no object", "{\"ao_target\": 12} sets about how many functions a segment has");
      for (const auto& [kind, size] : value.items())
        passing_on([&] {
          std::string numbers = json_text(size, -1);
          if (size.is_array()) numbers = numbers.substr(1, numbers.size() - 2);
          apply_segments(job, fmt::format("{}={}", kind, size.is_string() ? size.get<std::string>() : numbers));
        });
    } else if (std::find(std::begin(other_keywords), std::end(other_keywords), name) == std::end(other_keywords)) {
      std::vector<std::string_view> known(std::begin(other_keywords), std::end(other_keywords));
      known.insert(known.end(), integer_values.begin(), integer_values.end());
      known.insert(known.end(), real_values.begin(), real_values.end());
      fail(path, "is not known", fmt::format("there are: {}", fmt::join(known, ", ")));
    }
  }

  AtomicInput& input_;
  std::string name_, prefix_;  // prefix_: of the paths of an input's specification
  const Json* keywords_ = nullptr;
  std::map<std::string, std::int32_t> centers_;  // of a basis set: the element of the first atom of each
  std::int32_t once_ = 0;                        // functions, of one contraction per shell
  std::string examples_;
};

}  // namespace

void read_atomic_input(const std::string& text, const std::string& name, AtomicInput& input) {
  Reader(input, name).read(text);
}

}  // namespace sial
