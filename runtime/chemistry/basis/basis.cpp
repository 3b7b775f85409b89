#include "runtime/chemistry/basis/basis.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/base/running_program.h"

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
  if (const fs::path program = running_program(); !program.empty())
    folders.push_back(program.parent_path().parent_path() / "share" / "sialx" / "basis");
  return folders;
}

/// Overlap of two unit-normalised primitives of angular momentum l at one centre.
double radial_overlap(double a, double b, int l) { return std::pow(2.0 * std::sqrt(a * b) / (a + b), l + 1.5); }

/// Reads one file, line by line, remembering where it is.
class BasisReader {
 public:
  explicit BasisReader(const std::string& path) : path_(path) {
    std::string problem;
    text_ = read_file(path, input_limit::basis, problem);
    if (!problem.empty()) throw InputError(fmt::format("cannot read the basis file `{}`: {}", path, problem));
    if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  }

  struct Contents {
    std::map<std::int32_t, std::vector<Shell>> shells;
    std::map<std::int32_t, Ecp> ecps;
  };

  /// The wanted elements' shells and potentials.
  Contents read(const std::set<std::int32_t>& wanted) {
    bool any = false;
    while (next_line()) {
      const std::string first = lower_case(words_.front());
      if (words_.size() == 1 && (first == "spherical" || first == "cartesian")) {  // as Psi4 writes it
        is_cartesian_ = first == "cartesian";
        continue;
      }
      any = true;
      again_ = true;
      if (first == "basis" || first == "ecp" || (words_.size() == 2 && momenta_of(words_[1]))) nwchem();
      else gaussian();
    }
    if (!any)
      throw InputError(fmt::format("the basis file `{}` holds no element", path_),
                       "expected Gaussian 94 format, element blocks ending in ****, or that of NWChem");
    std::erase_if(found_.shells, [&](const auto& of) { return !wanted.contains(of.first); });
    std::erase_if(found_.ecps, [&](const auto& of) { return !wanted.contains(of.first); });
    return std::move(found_);
  }

  /// What looks like a mistake, with its place.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Whether the file is for Cartesian functions, by its words or by its format.
  bool is_cartesian() const { return is_cartesian_; }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(message, "basis files are in Gaussian 94 or NWChem format, as the Basis Set Exchange writes them",
                     fmt::format("{}:{}", path_, number_));
  }

  /// Next line that says something; comments begin with `!` or `#`.
  bool next_line() {
    if (std::exchange(again_, false)) return true;
    while (at_ < text_.size()) {
      ++number_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      line_ = std::string_view(text_).substr(at_, end - at_);
      at_ = end + 1;
      while (!line_.empty() && std::isspace(static_cast<unsigned char>(line_.back()))) line_.remove_suffix(1);
      words_ = words_of(line_);
      if (!words_.empty() && words_.front().front() != '!' && words_.front().front() != '#') return true;
    }
    return false;
  }

  double number(std::size_t word) const {
    if (word >= words_.size()) fail(fmt::format("expected more numbers in `{}`", line_));
    const std::optional<double> x = read_real(words_[word]);
    if (!x) fail(fmt::format("`{}` is not a number", words_[word]));
    return *x;
  }

  /// Nothing may follow: a comment may.
  void expect_words(std::size_t count) const {
    if (words_.size() > count && words_[count].front() != '!')
      fail(fmt::format("`{}` follows the numbers", words_[count]));
  }

  void next_or_fail(std::int32_t element) {
    if (!next_line()) fail(fmt::format("the file ends inside element {}", element_symbol(element)));
  }

  /// Angular momenta of a shell's letters, as `SP`.
  static std::optional<std::vector<std::int32_t>> momenta_of(std::string_view letters) {
    std::vector<std::int32_t> all;
    for (const char c : letters) {
      const std::size_t l = angular_letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
      if (l == std::string_view::npos) return std::nullopt;
      all.push_back(static_cast<std::int32_t>(l));
    }
    return all;
  }

  /// A further block of an element adds to it: diffuse functions are often appended so. Shells that it has already
  /// would make its functions dependent.
  void add(std::int32_t element, std::vector<Shell> shells, int line) {
    std::vector<Shell>& all = found_.shells[element];
    const std::size_t before = all.size();
    std::size_t repeated = 0;
    for (Shell& s : shells) {
      const auto same = [&](const Shell& o) {
        return o.l == s.l && o.exponents == s.exponents && o.coefficients == s.coefficients;
      };
      if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before), same)) ++repeated;
      else all.push_back(std::move(s));
    }
    if (repeated > 0)
      warnings_.push_back(fmt::format("{}:{}: {} shell{} of {} repeated from above {} left out", path_, line, repeated,
                                      repeated == 1 ? "" : "s", element_symbol(element), repeated == 1 ? "is" : "are"));
  }

  void add(std::int32_t element, Ecp ecp) {
    if (!found_.ecps.emplace(element, std::move(ecp)).second)
      fail(fmt::format("a second potential of {}", element_symbol(element)));
  }

  /// All elements up to the end of the file, or to what is no element line.
  void gaussian() {
    while (next_line()) {
      if (line_.starts_with("****")) continue;
      std::string_view symbol = words_.front();
      if (symbol.starts_with('-')) symbol.remove_prefix(1);
      const std::int32_t element = atomic_number(symbol);
      if (element == 0 || words_.size() != 2 || words_[1] != "0")
        fail(fmt::format("expected an element line such as `O 0`, found `{}`", line_));
      const int line = number_;
      next_or_fail(element);
      if (lower_case(words_.front()).ends_with("-ecp")) add(element, element_ecp(element));
      else add(element, element_shells(element), line);
    }
  }

  /// BASIS ... END and ECP ... END.
  void nwchem() {
    bool is_ecp = false;
    std::map<std::int32_t, Ecp> potentials;
    while (next_line()) {
      const std::string first = lower_case(words_.front());
      if (first == "basis" || first == "ecp") {
        is_ecp = first == "ecp";
        // Of which kind functions are without a word on it is a choice of NWChem.
        const auto says = [](std::string_view word) { return lower_case(word) == "spherical"; };
        is_cartesian_ = is_cartesian_ || (!is_ecp && std::ranges::none_of(words_, says));
      } else if (first == "end") {
        is_ecp = false;
      } else if (first == "so" || first == "spinorbit") {
        fail("potentials with spin-orbit terms are not known here");
      } else if (const std::int32_t element = atomic_number(first); element == 0 || words_.size() < 2) {
        fail(fmt::format("expected a line such as `O S`, found `{}`", line_));
      } else if (is_ecp) {
        nwchem_ecp(potentials[element], element);
      } else {
        nwchem_shells(element);
      }
    }
    for (auto& [element, ecp] : potentials) {
      if (ecp.electrons == 0) fail(fmt::format("the potential of {} has no `nelec`", element_symbol(element)));
      add(element, std::move(ecp));
    }
  }

  /// Rows of numbers up to another line.
  std::vector<std::vector<double>> rows() {
    std::vector<std::vector<double>> all;
    while (next_line()) {
      if (!read_real(words_.front())) {
        again_ = true;
        break;
      }
      std::vector<double>& row = all.emplace_back();
      for (std::size_t w = 0; w < words_.size() && words_[w].front() != '#'; ++w) row.push_back(number(w));
      if (row.size() < 2 || row.size() != all.front().size())
        fail(fmt::format("expected an exponent and coefficients as in the row above, found `{}`", line_));
    }
    return all;
  }

  /// From the line `O S` on: a column of coefficients for each contraction, or each angular momentum of `SP`.
  void nwchem_shells(std::int32_t element) {
    const int line = number_;
    const std::string letters(words_[1]);
    const auto momenta = momenta_of(letters);
    if (!momenta)
      fail(lower_case(letters) == "library" ? "the functions are in a library of NWChem, which is not known here"
                                            : fmt::format("unknown shell type `{}`", letters));
    const std::vector<std::vector<double>> numbers = rows();
    const std::size_t columns = numbers.empty() ? 0 : numbers.front().size() - 1;
    if (columns == 0 || (momenta->size() > 1 && columns != momenta->size()))
      fail(fmt::format("{} columns of coefficients for the shell `{}` of line {}", columns, letters, line));
    std::vector<Shell> shells;
    for (std::size_t c = 0; c < columns; ++c) {
      Shell s;
      s.l = (*momenta)[momenta->size() > 1 ? c : 0];
      for (const std::vector<double>& row : numbers) {
        if (row[0] <= 0.0) fail("an exponent must be positive");
        if (row[c + 1] == 0.0) continue;
        s.exponents.push_back(row[0]);
        s.coefficients.push_back(row[c + 1]);
      }
      if (s.exponents.empty()) fail("all coefficients of a shell are zero");
      normalise(s);
      shells.push_back(std::move(s));
    }
    add(element, std::move(shells), line);
  }

  /// `Cl nelec 10`, or from `Cl ul` or `Cl S` on the terms of a part.
  void nwchem_ecp(Ecp& ecp, std::int32_t element) {
    const std::string part = lower_case(words_[1]);
    if (part == "nelec") {
      const auto electrons = words_.size() == 3 ? read_integer(words_[2], 1, element - 1) : std::nullopt;
      if (!electrons) fail(fmt::format("expected the number of electrons replaced, found `{}`", line_));
      ecp.electrons = static_cast<std::int32_t>(*electrons);
      return;
    }
    const auto momenta = momenta_of(part);
    if (part != "ul" && (!momenta || momenta->size() != 1))
      fail(fmt::format("expected `nelec`, `ul` or an angular momentum, found `{}`", line_));
    for (const std::vector<double>& row : rows()) {
      if (row.size() != 3 || row[0] != std::floor(row[0]) || row[0] < 0 || row[0] > 10)
        fail("expected power, exponent and coefficient of a potential");
      if (row[1] <= 0.0) fail("an exponent must be positive");
      ecp.terms.push_back({part == "ul" ? -1 : momenta->front(), static_cast<std::int32_t>(row[0]), row[1], row[2]});
    }
  }

  /// From the line `CL-ECP 2 10` on: for the local part, then for s, p, ..., a title, the number of terms, and the
  /// terms.
  Ecp element_ecp(std::int32_t element) {
    Ecp ecp;
    const auto top = words_.size() == 3 ? read_integer(words_[1], 0, 10) : std::nullopt,
               electrons = words_.size() == 3 ? read_integer(words_[2], 0, element - 1) : std::nullopt;
    if (!top || !electrons)
      fail(fmt::format(
          "expected a line such as `CL-ECP 2 10`, largest angular momentum and number of electrons replaced, found `{}`",
          line_));
    ecp.electrons = static_cast<std::int32_t>(*electrons);
    for (std::int32_t l = -1; l < *top; ++l) {
      next_or_fail(element);
      next_or_fail(element);
      const auto count = words_.size() == 1 ? read_integer(words_[0], 0, 1000) : std::nullopt;
      if (!count) fail(fmt::format("expected the number of terms of a potential, found `{}`", line_));
      for (std::int64_t t = 0; t < *count; ++t) {
        next_or_fail(element);
        const auto power = read_integer(words_[0], 0, 10);
        if (!power) fail(fmt::format("expected power, exponent and coefficient of a potential, found `{}`", line_));
        EcpTerm term{l, static_cast<std::int32_t>(*power), number(1), number(2)};
        if (words_.size() > 3 && read_real(words_[3])) fail("potentials with spin-orbit terms are not known here");
        expect_words(3);
        if (term.exponent <= 0.0) fail("an exponent must be positive");
        ecp.terms.push_back(term);
      }
    }
    return ecp;
  }

  /// Several factors scale the angular momenta of a shell one by one, which only equal ones do not need; Gaussian
  /// itself prints a 0 there.
  void check_further_scales(const std::string& letters) const {
    for (std::size_t i = 3; i < words_.size() && words_[i].front() != '!'; ++i)
      if (number(i) != number(2) && number(i) != 0)
        fail(fmt::format("the shell `{}` has several scale factors, which is not known here", letters));
  }

  /// From the element's first line on.
  std::vector<Shell> element_shells(std::int32_t element) {
    std::vector<Shell> shells;
    for (; !line_.starts_with("****"); next_or_fail(element)) {
      const std::string letters(words_[0]);
      const auto count = words_.size() > 1 ? read_integer(words_[1], 1, 1000) : std::nullopt;
      if (!count) fail(fmt::format("expected a shell line such as `S 3 1.00`, found `{}`", line_));
      const double scale = words_.size() > 2 && words_[2].front() != '!' ? number(2) : 1.0;
      if (words_.size() > 3) check_further_scales(letters);
      const auto momenta = momenta_of(letters);
      if (!momenta) fail(fmt::format("unknown shell type `{}`", letters));
      std::vector<Shell> group(momenta->size());
      for (std::size_t g = 0; g < group.size(); ++g) group[g].l = (*momenta)[g];
      for (std::int64_t p = 0; p < *count; ++p) {
        if (!next_line() || line_.starts_with("****"))
          fail(fmt::format("the shell of element {} ends after {} of {} primitives", element_symbol(element), p,
                           *count));
        const double exponent = number(0) * scale * scale;
        if (exponent <= 0.0) fail("an exponent must be positive");
        for (std::size_t g = 0; g < group.size(); ++g) {
          group[g].exponents.push_back(exponent);
          group[g].coefficients.push_back(number(g + 1));
        }
        expect_words(group.size() + 1);
      }
      for (Shell& s : group) {
        if (std::all_of(s.coefficients.begin(), s.coefficients.end(), [](double c) { return c == 0.0; }))
          fail("all coefficients of a shell are zero");
        normalise(s);
        shells.push_back(std::move(s));
      }
    }
    return shells;
  }

  std::string path_, text_;
  std::size_t at_ = 0;
  std::string_view line_;
  std::vector<std::string_view> words_;  // of the line
  int number_ = 0;
  bool again_ = false, is_cartesian_ = false;  // again_: the line is to be read once more
  Contents found_;
  std::vector<std::string> warnings_;
};

}  // namespace

void normalise(Shell& s) {
  std::size_t n = s.exponents.size();
  double sum = 0.0;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q < n; ++q)
      sum += s.coefficients[p] * s.coefficients[q] * radial_overlap(s.exponents[p], s.exponents[q], s.l);
  for (double& c : s.coefficients) c /= std::sqrt(sum);
}

/// Pople's sets have two names, 6-31g(d,p) and 6-31g**.
static std::string with_stars(const std::string& name) {
  if (!name.starts_with("6-31")) return name;
  std::string file;
  std::ranges::remove_copy(name, std::back_inserter(file), ' ');
  for (const auto& [polarization, stars] : {std::pair{"(d)", "*"}, {"(d,p)", "**"}})
    if (file.ends_with(polarization))
      return file.substr(0, file.size() - std::string_view(polarization).size()) + stars;
  return name;
}

std::string find_basis(const std::string& name, const std::string& relative_to) {
  const std::string lower = lower_case(name);
  const bool is_path = name.find('/') != std::string::npos || lower.ends_with(".g94") || lower.ends_with(".gbs") ||
                       lower.ends_with(".nw");
  if (is_path) {
    fs::path path = fs::path(name).is_absolute() ? fs::path(name) : fs::path(relative_to) / name;
    std::error_code failure;
    const bool there = fs::exists(path, failure);
    if (failure)
      throw InputError(fmt::format("cannot read the basis file `{}`: {}", path.string(), failure.message()),
                       "may its folder be searched?");
    if (!there)
      throw InputError(fmt::format("there is no basis file `{}`", path.string()),
                       "a basis is a name such as \"cc-pvdz\", or the path of a file in Gaussian 94 or NWChem format");
    return path.string();
  }
  std::string file = with_stars(lower);
  for (std::size_t at = 0; (at = file.find('*', at)) != std::string::npos;) file[at] = 's';
  std::vector<std::string> searched, known;
  for (const fs::path& folder : basis_folders()) {
    std::error_code ignored;
    if (fs::exists(folder / (file + ".g94"), ignored)) return (folder / (file + ".g94")).string();
    searched.push_back(folder.string());
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".g94") known.push_back(entry.path().stem().string());
  }
  std::error_code ignored;
  if (const fs::path own = fs::path(relative_to) / name; fs::is_regular_file(own, ignored)) return own.string();
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string others = "by path, or in a folder named by SIAL_BASIS_PATH";
  throw InputError(
      fmt::format("unknown basis `{}`: there is no file {}.g94 in {}", name, file, fmt::join(searched, ", ")),
      known.empty() ? fmt::format("there are no basis sets in these folders, as when only some files of sialx were "
                                  "moved: move its folder as a whole, or give basis sets {}",
                                  others)
                    : fmt::format("known: {}; others {}", fmt::join(known, ", "), others));
}

namespace {

std::set<std::int32_t> elements(const std::vector<Atom>& atoms) {
  std::set<std::int32_t> all;
  for (const Atom& a : atoms) all.insert(element_of(a));
  return all;
}

}  // namespace

std::vector<Ecp> read_ecps(const std::string& path, const std::vector<Atom>& atoms) {
  std::map<std::int32_t, Ecp> found = BasisReader(path).read(elements(atoms)).ecps;
  std::vector<Ecp> ecps;
  for (std::size_t a = 0; a < atoms.size(); ++a)
    if (auto it = found.find(element_of(atoms[a])); it != found.end() && atoms[a].charge > 0) {
      ecps.push_back(it->second);
      ecps.back().atom = static_cast<std::int32_t>(a);
    }
  return ecps;
}

std::vector<Shell> read_basis(const std::string& path, const std::vector<Atom>& atoms, std::optional<bool> spherical,
                              std::vector<std::string>* warnings) {
  const std::set<std::int32_t> wanted = elements(atoms);
  BasisReader reader(path);
  std::map<std::int32_t, std::vector<Shell>> found = reader.read(wanted).shells;
  std::vector<std::string> missing;
  for (std::int32_t element : wanted)
    if (!found.count(element)) missing.push_back(element_symbol(element));
  if (!missing.empty())
    throw InputError(fmt::format("the basis file `{}` has no functions for {}", path, fmt::join(missing, ", ")),
                     "choose a basis that covers these elements");
  std::vector<Shell> shells;
  for (std::size_t a = 0; a < atoms.size(); ++a)
    for (Shell s : found[element_of(atoms[a])]) {
      s.atom = static_cast<std::int32_t>(a);
      s.pure = spherical.value_or(true) && s.l >= 2;
      shells.push_back(std::move(s));
    }
  if (!warnings) return shells;
  warnings->insert(warnings->end(), reader.warnings().begin(), reader.warnings().end());
  if (reader.is_cartesian() && !spherical && std::ranges::any_of(shells, [](const Shell& s) { return s.l >= 2; }))
    warnings->push_back(
        fmt::format("{}: the file is for Cartesian functions, as those of NWChem are where BASIS has no SPHERICAL, and "
                    "spherical ones are taken: state `spherical`, true or false",
                    path));
  return shells;
}

}  // namespace sial
