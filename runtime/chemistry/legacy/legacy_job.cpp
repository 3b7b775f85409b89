#include "runtime/chemistry/legacy/legacy_job.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/printable.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_functions = 10'000'000;
constexpr double same_place = 1e-5;  // bohr; files carry coordinates with a dozen digits

/// Builds the molecule from the arrays, checking every number that is used as a count or a position.
class MoleculeBuilder {
 public:
  MoleculeBuilder(const LegacyDat& dat, const JobData& data, const std::string& file)
      : dat_(dat), data_(data), file_(file) {}

  /// Whether the file states a molecule at all; what it lacks otherwise (nothing when it has none of it).
  bool present(std::string& lacks) const {
    std::vector<std::string> missing;
    for (const char* name : {"coords", "charge", "alphas", "pcoeffs"})
      if (!data_.arrays.count(name)) missing.emplace_back(name);
    for (const char* name : {"ivangmom", "npfps", "ncfps", "ixalphas", "ixpcoeffs"})
      if (!data_.int_arrays.count(name)) missing.emplace_back(name);
    if (!data_.int_arrays.count("atom") && !data_.arrays.count("tcoords")) missing.emplace_back("atom or tcoords");
    if (!data_.ints.count("intspherical")) missing.emplace_back("intspherical");
    lacks = fmt::format("{}", fmt::join(missing, ", "));
    return missing.empty();
  }

  Molecule build() {
    Molecule m;
    atoms(m);
    shells(m);
    electrons(m);
    m.basis_name = file_;
    return m;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& message) const {
    std::int64_t at = -1;
    for (const auto& a : dat_.arrays)
      if (lower_case(a.name) == name) at = a.offset;
    for (const auto& a : dat_.int_arrays)
      if (lower_case(a.name) == name) at = a.offset;
    throw InputError(fmt::format("array `{}`: {}", name, message),
                     "the molecule and basis of the data file do not fit together",
                     at < 0 ? file_ : fmt::format("{}: byte {}", file_, at));
  }

  double real(const std::string& name, std::int64_t i) const {
    const auto& data = data_.arrays.at(name).data;
    if (i < 0 || i >= std::ssize(data)) fail(name, fmt::format("element {} is needed, it has {}", i + 1, data.size()));
    if (!std::isfinite(data[i])) fail(name, fmt::format("element {} is not a number", i + 1));
    return data[i];
  }

  std::int32_t integer(const std::string& name, std::int64_t i, std::int32_t low, std::int32_t high) const {
    const auto& data = data_.int_arrays.at(name).data;
    if (i < 0 || i >= std::ssize(data)) fail(name, fmt::format("element {} is needed, it has {}", i + 1, data.size()));
    if (data[i] < low || data[i] > high)
      fail(name, fmt::format("element {} is {}; {} to {} are possible", i + 1, data[i], low, high));
    return data[i];
  }

  void atoms(Molecule& m) const {
    const std::int64_t n = std::ssize(data_.arrays.at("charge").data);
    if (n == 0) fail("charge", "there are no atoms");
    if (std::ssize(data_.arrays.at("coords").data) != 3 * n)
      fail("coords", fmt::format("{} coordinates for {} atoms", data_.arrays.at("coords").data.size(), n));
    const auto core = data_.int_arrays.find("nelecp");  // electrons that a core potential stands for
    for (std::int64_t i = 0; i < n; ++i) {
      Atom a;
      const double z = real("charge", i);
      if (z < 0 || z > 200 || std::abs(z - std::round(z)) > 1e-9)
        fail("charge", fmt::format("{} is not a nuclear charge (atom {})", z, i + 1));
      a.charge = static_cast<std::int32_t>(std::round(z));
      const std::int32_t hidden =
          core != data_.int_arrays.end() && i < std::ssize(core->second.data) ? integer("nelecp", i, 0, 200) : 0;
      a.core_electrons = hidden;
      a.symbol = a.charge == 0 ? "Gh" : element_symbol(a.charge + hidden);
      for (int k = 0; k < 3; ++k) a.position[k] = real("coords", 3 * i + k);
      m.atoms.push_back(a);
    }
  }

  /// Owner of a shell: stated, or the atom at the shell's centre.
  std::int32_t owner(const Molecule& m, std::int64_t shell) const {
    const auto n = static_cast<std::int32_t>(m.atoms.size());
    const bool stated = data_.int_arrays.count("atom") != 0, placed = data_.arrays.count("tcoords") != 0;
    const auto distance = [&](std::int32_t atom) {
      double square = 0;
      for (int k = 0; k < 3; ++k) square += std::pow(m.atoms[atom].position[k] - real("tcoords", 3 * shell + k), 2);
      return std::sqrt(square);
    };
    if (stated) {
      const std::int32_t atom = integer("atom", shell, 1, n) - 1;
      if (placed && distance(atom) > same_place)
        fail("tcoords",
             fmt::format("shell {} is not at its atom {}, but {:.6f} bohr away", shell + 1, atom + 1, distance(atom)));
      return atom;
    }
    for (std::int32_t atom = 0; atom < n; ++atom)
      if (distance(atom) <= same_place) return atom;
    fail("tcoords", fmt::format("shell {} is at no atom's place", shell + 1));
  }

  void shells(Molecule& m) const {
    const auto most = static_cast<std::int32_t>(data_.int_arrays.at("ivangmom").data.size());
    std::int32_t n = most;
    if (const auto stated = data_.ints.find("nshells"); stated != data_.ints.end()) {
      if (stated->second < 1 || stated->second > most)
        fail("ivangmom", fmt::format("{} shells, and the int `nshells` is {}", most, stated->second));
      n = stated->second;
    }
    if (n == 0) fail("ivangmom", "there are no shells");
    const bool pure = data_.ints.at("intspherical") != 0;
    const auto n_exponents = static_cast<std::int32_t>(data_.arrays.at("alphas").data.size());
    const auto n_coefficients = static_cast<std::int32_t>(data_.arrays.at("pcoeffs").data.size());
    const bool ends = data_.int_arrays.count("end_nfps") != 0;
    std::int64_t functions = 0;
    for (std::int32_t k = 0; k < n; ++k) {
      Shell s;
      s.atom = owner(m, k);
      s.l = integer("ivangmom", k, 0, 20);
      s.pure = pure && s.l >= 2;
      const std::int32_t primitives = integer("npfps", k, 1, n_exponents);
      s.n_contractions = integer("ncfps", k, 1, n_coefficients);
      const std::int32_t first = integer("ixalphas", k, 1, n_exponents) - 1;
      for (std::int32_t p = 0; p < primitives; ++p) {
        s.exponents.push_back(real("alphas", first + p));
        if (s.exponents.back() <= 0) fail("alphas", fmt::format("exponent {} is not positive", first + p + 1));
      }
      const std::int64_t start = integer("ixpcoeffs", k, 1, n_coefficients) - 1;
      const std::int64_t size = std::int64_t{primitives} * s.n_contractions;
      if (start + size > n_coefficients)
        fail("pcoeffs",
             fmt::format("shell {} needs elements up to {}, it has {}", k + 1, start + size, n_coefficients));
      for (std::int64_t i = 0; i < size; ++i) s.coefficients.push_back(real("pcoeffs", start + i));
      limit_contractions(s, k);
      functions += s.n_functions();
      if (functions > max_functions) fail("ncfps", fmt::format("more than {} basis functions", max_functions));
      if (ends && integer("end_nfps", k, 0, std::numeric_limits<std::int32_t>::max()) != functions)
        fail("end_nfps", fmt::format("shell {} ends at function {}, but its functions are numbered up to {}", k + 1,
                                     data_.int_arrays.at("end_nfps").data[k], functions));
      m.shells.push_back(std::move(s));
    }
  }

  /// A contraction takes the primitives from ccbeg to ccend; what stands outside does not count.
  void limit_contractions(Shell& s, std::int64_t shell) const {
    for (const char* name : {"indx_cc", "ccbeg", "ccend"})
      if (!data_.int_arrays.count(name)) return;
    const auto n = static_cast<std::int32_t>(s.exponents.size());
    const auto most = static_cast<std::int32_t>(data_.int_arrays.at("ccbeg").data.size());
    const std::int32_t first = integer("indx_cc", shell, 1, most) - 1;
    for (std::int32_t c = 0; c < s.n_contractions; ++c) {
      const std::int32_t begin = integer("ccbeg", first + c, 1, n), end = integer("ccend", first + c, begin, n);
      double* row = s.coefficients.data() + std::ptrdiff_t{c} * n;
      std::fill(row, row + begin - 1, 0.0);
      std::fill(row + end, row + n, 0.0);
      if (std::all_of(row, row + n, [](double x) { return x == 0.0; }))
        fail("pcoeffs", fmt::format("all coefficients of contraction {} of shell {} are zero", c + 1, shell + 1));
    }
  }

  void electrons(Molecule& m) const {
    std::int64_t nuclei = 0;
    for (const Atom& a : m.atoms) nuclei += a.charge;
    const auto count = [&](const char* name, const char* other) -> std::int32_t {
      for (const char* n : {name, other})
        if (const auto found = data_.ints.find(n); found != data_.ints.end()) {
          if (found->second < 0 || found->second > m.n_basis())
            throw InputError(
                fmt::format("predefined int `{}` is {}: not a number of electrons of one spin in {} basis functions", n,
                            found->second, m.n_basis()),
                {}, file_);
          return found->second;
        }
      return static_cast<std::int32_t>(nuclei / 2);
    };
    const std::int32_t alpha = count("nalpha_occupied", "naocc"), beta = count("nbeta_occupied", "nbocc");
    m.charge = static_cast<std::int32_t>(nuclei) - alpha - beta;
    m.multiplicity = std::abs(alpha - beta) + 1;
    // Orbitals in the segments before `baocc`.
    const auto first = data_.ints.find("baocc");
    const auto sizes = data_.segments.find(IndexKind::moa);
    if (first != data_.ints.end() && sizes != data_.segments.end())
      for (std::int32_t s = 1; s < first->second && s <= std::ssize(sizes->second); ++s)
        m.frozen_core += sizes->second[s - 1];
  }

  const LegacyDat& dat_;
  const JobData& data_;
  const std::string& file_;
};

/// A link's target has its imports beside it.
std::string link_target(const fs::path& path) {
  std::error_code failure;
  const fs::path target = fs::is_symlink(path, failure) ? fs::canonical(path, failure) : path;
  return failure ? path.string() : target.string();
}

/// The programs of a `.programs` file; `#` begins a comment.
std::vector<std::string> listed_programs(const std::string& path) {
  std::string problem;
  std::istringstream in(read_file(path, input_limit::batch, problem));
  if (!problem.empty()) throw InputError(fmt::format("cannot read the list of programs `{}`: {}", path, problem));
  std::vector<std::string> files;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) continue;
    const fs::path file = fs::path(line).is_absolute() ? fs::path(line) : fs::path(path).parent_path() / line;
    std::error_code ignored;
    if (!fs::exists(file, ignored))
      throw InputError(fmt::format("there is no program `{}`", file.string()),
                       "a list holds one program per line, relative to its own folder",
                       fmt::format("{}:{}", path, number));
    files.push_back(link_target(file));
  }
  if (files.empty()) throw InputError("the list names no program", "one program per line", path);
  return files;
}

/// Of a file in some folder of programs.
bool is_program_name(const std::string& name) {
  constexpr std::size_t longest = 240;  // of the 255 bytes that a file name may have
  const std::string base = fs::path(name).filename().string();
  return !base.empty() && base != "." && base != ".." && base.size() <= longest &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

template <class Array, class Out>
void take_arrays(const std::vector<Array>& from, const std::string& file, Out& out) {
  for (const Array& a : from) {
    std::vector<std::int64_t> extents(a.dims.begin(), a.dims.end());
    if (!out.try_emplace(lower_case(a.name), typename Out::mapped_type{std::move(extents), a.data, file}).second)
      throw InputError(fmt::format("array `{}` appears twice, in capital and small letters", a.name), {}, file);
  }
}

}  // namespace

Job legacy_job(LegacyDat dat, const std::string& file) {
  Job job;
  job.file = file;
  job.data.empty_means_none = true;
  for (const auto& [name, value] : dat.ints)
    job.data.ints[lower_case(name)] = value, job.stated_values.insert(lower_case(name));
  for (const auto& [name, value] : dat.scalars)
    job.data.scalars[lower_case(name)] = value, job.stated_values.insert(lower_case(name));
  for (const auto& [kind, sizes] : dat.segments)
    if (!sizes.empty()) job.data.segments[kind] = sizes;
  take_arrays(dat.arrays, file, job.data.arrays);
  take_arrays(dat.int_arrays, file, job.data.int_arrays);
  MoleculeBuilder builder(dat, job.data, file);
  std::string lacks;
  if (!builder.present(lacks)) {
    chemistry(job.data).molecule.basis_name = fmt::format("`{}` lacks {}", file, lacks);
  } else {
    chemistry(job.data).molecule = builder.build();
    chemistry(job.data).has_molecule = true;
    job.data.ints.try_emplace(
        "natoms", static_cast<std::int32_t>(chemistry(job.data).molecule.atoms.size()));  // few files say it
    const auto ao = job.data.segments.find(IndexKind::ao);
    try {
      if (ao != job.data.segments.end()) check_ao_segments(ao->second, chemistry(job.data).molecule);
    } catch (SialError& error) {
      error.set_where(file);
      throw;
    }
  }
  job.legacy = std::make_shared<const LegacyDat>(std::move(dat));
  derive_job_data(job);
  return job;
}

std::vector<std::string> find_program(const std::string& name, const std::vector<std::string>& folders) {
  fs::path base = fs::path(name).filename();
  if (!is_program_name(name)) return {};
  if (base.extension() == ".siox" || base.extension() == ".sialx") base.replace_extension();
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const auto file = [&](const char* extension) { return fs::path(folder) / (base.string() + extension); };
    const fs::path module = file(".siox"), source = file(".sialx"), list = file(".programs");
    const bool has_module = fs::exists(module, ignored), has_source = fs::exists(source, ignored);
    if (has_module || has_source) {
      const bool newer =
          has_module && has_source && fs::last_write_time(source, ignored) > fs::last_write_time(module, ignored);
      return {link_target(newer || !has_module ? source : module)};
    }
    if (fs::exists(list, ignored)) return listed_programs(link_target(list));
  }
  return {};
}

std::vector<std::string> find_programs(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  std::vector<std::string> files, missing;
  for (const std::string& name : names) {
    if (!is_program_name(name))
      throw InputError(
          fmt::format("`{}` is no name of a program",
                      printable_name(name.size() > 100 ? name.substr(0, 100) + "..." : name)),
          "a data file names programs as files: `NAME.siox` or `NAME.sialx`; others can be named on the command line");
    const std::vector<std::string> found = find_program(name, folders);
    files.insert(files.end(), found.begin(), found.end());
    if (found.empty()) missing.push_back(name);
  }
  if (!missing.empty())
    throw InputError(
        fmt::format("there is no program {} in {}", fmt::join(missing, ", "), fmt::join(folders, ", ")),
        "--programs DIR names the folder of the programs (`.siox`, `.sialx`, or `.programs` listing several), -I further ones");
  return files;
}

}  // namespace sial
