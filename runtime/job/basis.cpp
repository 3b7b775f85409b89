#include "runtime/job/basis.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/job/molecule.h"
#include "runtime/job/names.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view angular_letters = "SPDFGHI";

std::vector<fs::path> basis_folders() {
  std::vector<fs::path> folders;
  if (const char* env = std::getenv("SIAL_BASIS_PATH")) {
    std::istringstream parts(env);
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) folders.emplace_back(part);
  }
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) folders.push_back(program.parent_path().parent_path() / "share" / "sialx" / "basis");
  folders.emplace_back(SIALX_BASIS_DIR);
  return folders;
}

/// Overlap of two unit-normalised primitives of angular momentum l at one centre.
double radial_overlap(double a, double b, int l) { return std::pow(2.0 * std::sqrt(a * b) / (a + b), l + 1.5); }

void normalise(Shell& s) {
  std::size_t n = s.exponents.size();
  double sum = 0.0;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q < n; ++q)
      sum += s.coefficients[p] * s.coefficients[q] * radial_overlap(s.exponents[p], s.exponents[q], s.l);
  for (double& c : s.coefficients) c /= std::sqrt(sum);
}

/// Reads one file, line by line, remembering where it is.
class BasisReader {
 public:
  explicit BasisReader(const std::string& path) : path_(path), in_(path) {
    std::error_code ignored;
    if (!in_ || fs::is_directory(path, ignored)) throw SialError(fmt::format("cannot read the basis file `{}`", path));
  }

  struct Contents {
    std::map<std::int32_t, std::vector<Shell>> shells;
    std::map<std::int32_t, Ecp> ecps;
  };

  /// The wanted elements' shells and potentials.
  Contents read(const std::set<std::int32_t>& wanted) {
    Contents found;
    bool any = false;
    while (next_line()) {
      if (line_.starts_with("****")) continue;
      std::istringstream fields(line_);
      std::string symbol, zero, rest;
      fields >> symbol >> zero;
      if (!symbol.empty() && symbol[0] == '-') symbol.erase(0, 1);
      std::int32_t element = atomic_number(symbol);
      if (element == 0 || zero != "0" || fields >> rest) fail(fmt::format("expected an element line such as `O 0`, found `{}`", line_));
      any = true;
      next_or_fail(element);
      if (std::string head = line_.substr(0, line_.find_first_of(" \t")); lower_case(head).ends_with("-ecp")) {
        Ecp ecp = element_ecp(element);
        if (wanted.count(element)) found.ecps[element] = std::move(ecp);
        continue;
      }
      std::vector<Shell> shells = element_shells(element);
      if (wanted.count(element)) found.shells[element] = std::move(shells);
    }
    if (!any) throw SialError(fmt::format("the basis file `{}` holds no element", path_), "expected Gaussian 94 format: element blocks ending in ****");
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw SialError(message, "basis files are in Gaussian 94 format, as the Basis Set Exchange writes it", fmt::format("{}:{}", path_, number_));
  }

  /// Next line that says something; comments begin with `!`.
  bool next_line() {
    while (std::getline(in_, line_)) {
      ++number_;
      while (!line_.empty() && std::isspace(static_cast<unsigned char>(line_.back()))) line_.pop_back();
      std::size_t first = line_.find_first_not_of(" \t");
      if (first != std::string::npos && line_[first] != '!') return true;
    }
    return false;
  }

  double number(std::istringstream& fields) {
    std::string text;
    if (!(fields >> text)) fail(fmt::format("expected more numbers in `{}`", line_));
    std::replace(text.begin(), text.end(), 'D', 'e');
    std::replace(text.begin(), text.end(), 'd', 'e');
    char* end = nullptr;
    double x = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !std::isfinite(x)) fail(fmt::format("`{}` is not a number", text));
    return x;
  }

  void next_or_fail(std::int32_t element) {
    if (!next_line()) fail(fmt::format("the file ends inside element {}", element_symbol(element)));
  }

  /// From the line `CL-ECP 2 10` on: for the local part, then for s, p, ..., a title, the number of terms, and the terms.
  Ecp element_ecp(std::int32_t element) {
    Ecp ecp;
    std::istringstream head(line_);
    std::string name, rest;
    std::int32_t top = 0;
    if (!(head >> name >> top >> ecp.electrons) || head >> rest || top < 0 || top > 10 || ecp.electrons < 0 || ecp.electrons >= element)
      fail(fmt::format("expected a line such as `CL-ECP 2 10`, largest angular momentum and number of electrons replaced, found `{}`", line_));
    for (std::int32_t l = -1; l < top; ++l) {
      next_or_fail(element);
      next_or_fail(element);
      std::istringstream fields(line_);
      std::int64_t count = 0;
      if (!(fields >> count) || fields >> rest || count < 0 || count > 1000) fail(fmt::format("expected the number of terms of a potential, found `{}`", line_));
      for (std::int64_t t = 0; t < count; ++t) {
        next_or_fail(element);
        std::istringstream row(line_);
        EcpTerm term;
        term.l = l;
        if (!(row >> term.power) || term.power < 0 || term.power > 10) fail(fmt::format("expected power, exponent and coefficient of a potential, found `{}`", line_));
        term.exponent = number(row);
        term.coefficient = number(row);
        if (row >> rest) fail("potentials with spin-orbit terms are not known here");
        if (term.exponent <= 0.0) fail("an exponent must be positive");
        ecp.terms.push_back(term);
      }
    }
    return ecp;
  }

  /// From the element's first line on.
  std::vector<Shell> element_shells(std::int32_t element) {
    std::vector<Shell> shells;
    for (; !line_.starts_with("****"); next_or_fail(element)) {
      std::istringstream head(line_);
      std::string letters;
      std::int64_t count = 0;
      double scale = 1.0;
      if (!(head >> letters >> count) || count < 1 || count > 1000) fail(fmt::format("expected a shell line such as `S 3 1.00`, found `{}`", line_));
      if (std::string text; head >> text) {
        std::istringstream again(text);
        scale = number(again);
      }
      std::vector<Shell> group;
      for (char c : letters) {
        std::size_t l = angular_letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
        if (l == std::string_view::npos) fail(fmt::format("unknown shell type `{}`", letters));
        Shell s;
        s.l = static_cast<std::int32_t>(l);
        group.push_back(s);
      }
      for (std::int64_t p = 0; p < count; ++p) {
        if (!next_line() || line_.starts_with("****")) fail(fmt::format("the shell of element {} ends after {} of {} primitives", element_symbol(element), p, count));
        std::istringstream fields(line_);
        double exponent = number(fields) * scale * scale;
        if (exponent <= 0.0) fail("an exponent must be positive");
        for (Shell& s : group) {
          s.exponents.push_back(exponent);
          s.coefficients.push_back(number(fields));
        }
      }
      for (Shell& s : group) {
        if (std::all_of(s.coefficients.begin(), s.coefficients.end(), [](double c) { return c == 0.0; })) fail("all coefficients of a shell are zero");
        normalise(s);
        shells.push_back(std::move(s));
      }
    }
    return shells;
  }

  std::string path_;
  std::ifstream in_;
  std::string line_;
  int number_ = 0;
};

}  // namespace

std::string find_basis(const std::string& name, const std::string& relative_to) {
  bool is_path = name.find('/') != std::string::npos || lower_case(name).ends_with(".g94") || lower_case(name).ends_with(".gbs");
  if (is_path) {
    fs::path path = fs::path(name).is_absolute() ? fs::path(name) : fs::path(relative_to) / name;
    std::error_code failure;
    const bool there = fs::exists(path, failure);
    if (failure) throw SialError(fmt::format("cannot read the basis file `{}`: {}", path.string(), failure.message()), "may its folder be searched?");
    if (!there) throw SialError(fmt::format("there is no basis file `{}`", path.string()), "a basis is a name such as \"cc-pvdz\", or the path of a Gaussian 94 file");
    return path.string();
  }
  std::string file = lower_case(name);
  for (std::size_t at = 0; (at = file.find('*', at)) != std::string::npos;) file[at] = 's';
  std::vector<std::string> searched, known;
  for (const fs::path& folder : basis_folders()) {
    std::error_code ignored;
    if (fs::exists(folder / (file + ".g94"), ignored)) return (folder / (file + ".g94")).string();
    searched.push_back(folder.string());
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".g94") known.push_back(entry.path().stem().string());
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  throw SialError(fmt::format("unknown basis `{}`: there is no file {}.g94 in {}", name, file, fmt::join(searched, ", ")),
                  fmt::format("known: {}; others by path, or in a folder named by SIAL_BASIS_PATH", fmt::join(known, ", ")));
}

namespace {

std::set<std::int32_t> elements(const std::vector<Atom>& atoms) {
  std::set<std::int32_t> all;
  for (const Atom& a : atoms) all.insert(a.charge + a.core_electrons);
  return all;
}

}  // namespace

std::vector<Ecp> read_ecps(const std::string& path, const std::vector<Atom>& atoms) {
  std::map<std::int32_t, Ecp> found = BasisReader(path).read(elements(atoms)).ecps;
  std::vector<Ecp> ecps;
  for (std::size_t a = 0; a < atoms.size(); ++a)
    if (auto it = found.find(atoms[a].charge + atoms[a].core_electrons); it != found.end()) {
      ecps.push_back(it->second);
      ecps.back().atom = static_cast<std::int32_t>(a);
    }
  return ecps;
}

std::vector<Shell> read_basis(const std::string& path, const std::vector<Atom>& atoms, bool pure) {
  const std::set<std::int32_t> wanted = elements(atoms);
  std::map<std::int32_t, std::vector<Shell>> found = BasisReader(path).read(wanted).shells;
  std::vector<std::string> missing;
  for (std::int32_t element : wanted)
    if (!found.count(element)) missing.push_back(element_symbol(element));
  if (!missing.empty())
    throw SialError(fmt::format("the basis file `{}` has no functions for {}", path, fmt::join(missing, ", ")), "choose a basis that covers these elements");
  std::vector<Shell> shells;
  for (std::size_t a = 0; a < atoms.size(); ++a)
    for (Shell s : found[atoms[a].charge + atoms[a].core_electrons]) {
      s.atom = static_cast<std::int32_t>(a);
      s.pure = pure && s.l >= 2;
      shells.push_back(std::move(s));
    }
  return shells;
}

}  // namespace sial
