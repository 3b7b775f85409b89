// Molecules of xyz files: `symbol x y z` lines in Angstrom, or the extended form, whose comment line names the columns.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

/// More atoms than any calculation with these methods; the nuclear repulsion takes the square of their number.
constexpr std::int64_t max_atoms = 20'000;
constexpr double min_distance = 0.1;  // Angstrom
constexpr std::size_t max_distance_warnings = 5;

constexpr double largest_radius = 2.44;

/// The value of `key=` in the comment line of an extended xyz file, without quotes; empty where there is none.
std::string_view value_of_key(std::string_view comment, std::string_view key) {
  for (std::size_t at = comment.find(key); at != std::string_view::npos; at = comment.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if ((at > 0 && comment[at - 1] != ' ' && comment[at - 1] != '\t') || end >= comment.size() || comment[end] != '=')
      continue;
    std::string_view value = comment.substr(end + 1);
    if (!value.empty() && value.front() == '"') return value.substr(1, value.find('"', 1) - 1);
    return value.substr(0, value.find_first_of(" \t\r"));
  }
  return {};
}

class XyzReader {
 public:
  XyzReader(const std::string& path, std::vector<std::string>& warnings) : path_(path), warnings_(warnings) {
    std::string problem;
    text_ = read_file(path, input_limit::xyz, problem);
    if (!problem.empty())
      throw InputError(fmt::format("cannot read the molecule `{}`: {}", path, problem),
                       "`xyz` names an xyz file, relative to the job file's folder");
    if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  }

  std::vector<Atom> read(XyzElectrons* electrons) {
    constexpr const char* form =
        "an xyz file begins with the number of atoms, then a comment line, then `symbol x y z` lines in Angstrom";
    next_line();
    const std::vector<std::string_view> first = words_of(line_);
    const std::optional<std::int64_t> count = first.size() == 1 ? read_integer(first[0]) : std::nullopt;
    if (!count || *count < 1) fail("expected the number of atoms", form);
    if (*count > max_atoms) fail(fmt::format("{} atoms are more than {}", *count, max_atoms), form);
    if (next_line()) {
      columns();
      if (electrons) *electrons = of_electrons();
    }
    atoms_.reserve(static_cast<std::size_t>(*count));
    while (std::ssize(atoms_) < *count) {
      if (!next_line())
        fail(fmt::format("the file ends after {} of {} atoms", atoms_.size(), *count), "is the file complete?");
      atoms_.push_back(atom(*count));
    }
    while (next_line())
      if (!words_of(line_).empty())
        fail(fmt::format("text after the last of {} atoms", *count),
             "the first line must state the number of atoms in the file");
    check_distances();
    return std::move(atoms_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}, int line = 0) const {
    throw InputError(message, hint, fmt::format("{}:{}", path_, line > 0 ? line : number_));
  }
  void warn(int line, const std::string& text) { warnings_.push_back(fmt::format("{}:{}: {}", path_, line, text)); }

  bool next_line() {
    ++number_;
    if (at_ >= text_.size()) {
      line_ = {};
      return false;
    }
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  /// What the comment line of an extended xyz file says of the columns: symbols and positions first; others are
  /// ignored, with a warning.
  void columns() {
    const std::string_view properties = value_of_key(line_, "Properties"), periodic = value_of_key(line_, "pbc");
    if (periodic.find_first_of("Tt1") != std::string_view::npos ||
        (periodic.empty() && !value_of_key(line_, "Lattice").empty()))
      fail("the atoms are in a periodic cell, and sialx calculates molecules",
           "pbc=\"F F F\" in the second line takes them as a molecule, whatever `Lattice` is");
    if (properties.empty()) return;
    constexpr std::string_view needed = "species:S:1:pos:R:3";
    if (!properties.starts_with(needed) || (properties.size() > needed.size() && properties[needed.size()] != ':'))
      fail(fmt::format("the columns are `{}`", properties),
           fmt::format("only extended xyz files whose columns begin with `{}` can be read; others may follow", needed));
    std::string_view rest = properties.substr(needed.size());
    std::vector<std::string_view> fields;
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::size_t end = std::min(rest.find(':'), rest.size());
      fields.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    std::vector<std::string_view> ignored;
    for (std::size_t i = 0; i < fields.size(); i += 3) {
      const std::optional<std::int64_t> n = i + 2 < fields.size() ? read_integer(fields[i + 2], 1, 1000) : std::nullopt;
      if (!n)
        fail(fmt::format("`{}` is no list of columns", properties),
             "`Properties` lists name:type:number for each column");
      further_ += *n;
      ignored.push_back(fields[i]);
    }
    if (!ignored.empty()) warn(number_, fmt::format("ignored columns: {}", fmt::join(ignored, ", ")));
  }

  /// What is no such number is ignored, with a warning: the line is free text in most files.
  XyzElectrons of_electrons() {
    XyzElectrons said;
    const std::string line = lower_case(line_);
    const auto number = [&](std::initializer_list<const char*> keys, bool is_whole) -> std::optional<double> {
      std::optional<double> found;
      for (const char* key : keys) {
        std::string_view value = value_of_key(line, key);
        while (value.ends_with(',') || value.ends_with(';')) value.remove_suffix(1);
        if (value.empty()) continue;
        const std::optional<double> x = read_real(value);
        if (!x || (found && *found != *x) || std::abs(*x) > 1000 || (is_whole && *x != std::round(*x))) {
          warn(number_, fmt::format("`{}={}` in the second line is ignored: state `charge` and `multiplicity` in "
                                    "[molecule]",
                                    key, value));
          return std::nullopt;
        }
        found = x;
      }
      return found;
    };
    const auto whole = [&](std::initializer_list<const char*> keys) -> std::optional<std::int32_t> {
      const std::optional<double> x = number(keys, true);
      return x ? std::optional(static_cast<std::int32_t>(*x)) : std::nullopt;
    };
    said.charge = whole({"charge", "total_charge"});
    said.multiplicity = whole({"multiplicity", "mult", "spin_multiplicity"});
    said.spin = number({"spin"}, false);
    std::string blanks = line;
    std::ranges::replace(blanks, ',', ' ');
    const std::vector<std::string_view> words = words_of(blanks);
    said.speaks_of_charge = std::ranges::any_of(words, [](std::string_view word) {
      return word == "charge" || word == "charge=" || word.starts_with("charge:") || word.starts_with("q=");
    });
    constexpr int most = 9;  // larger numbers are about something else
    if (words.size() >= 2)
      if (const auto first = read_integer(words[0], -most, most), last = read_integer(words[1], 1, most); first && last)
        said.pair = {*first, *last};
    return said;
  }

  Atom atom(std::int64_t count) const {
    std::vector<std::string_view> words = words_of(line_);
    const bool has_colon = words.size() > 1 && words[1] == ":";  // `O : x y z` is a ghost atom of ORCA
    if (has_colon) words.erase(words.begin() + 1);
    if (words.empty()) fail(fmt::format("expected atom {} of {}, found an empty line", atoms_.size() + 1, count));
    Atom atom;
    for (std::size_t d = 0; d < 3; ++d) {
      if (words.size() < d + 2) fail(fmt::format("expected three coordinates after `{}`", words[0]));
      const std::optional<double> x = read_real(words[d + 1]);
      if (!x)
        fail(fmt::format("expected three coordinates after `{}`: `{}` is not a number", words[0], words[d + 1]),
             "for example 1.74, or 1.74D0; a decimal comma is not known here");
      atom.position[d] = *x / bohr_in_angstrom;
    }
    if (further_ == 0 && words.size() > 4)
      fail(
          fmt::format("`{}` follows the coordinates of `{}`", words[4], words[0]),
          "a line holds a symbol and three coordinates; further columns are known only where the second line names them, as in Properties=species:S:1:pos:R:3:charge:R:1");
    if (further_ > 0 && std::ssize(words) != 4 + further_)
      fail(fmt::format("{} columns, and the second line names {}", words.size(), 4 + further_));
    std::string_view label = words[0];
    const bool is_ghost = take_ghost_mark(label) || has_colon;
    const std::optional<std::int64_t> charge = read_integer(label);
    atom.charge = charge && !is_ghost ? static_cast<std::int32_t>(std::clamp<std::int64_t>(*charge, 0, 1000))
                                      : labelled_element(label);
    if (is_ghost && atom.charge == 0)
      fail(fmt::format("`{}` is a ghost atom of no known element", words[0]),
           "`Gh(O)` has the functions of oxygen; leave out a point without functions");
    if (atom.charge < 1 || covalent_radius(atom.charge) == 0.0) fail(fmt::format("unknown element `{}`", words[0]));
    atom.symbol = element_symbol(atom.charge);
    if (is_ghost) make_ghost(atom);
    return atom;
  }

  /// Atoms at one place are a mistake; a geometry in bohr that was to be in Angstrom is one as well.
  void check_distances() {
    std::size_t near = 0;
    for_each_near_pair(atoms_, largest_radius / bohr_in_angstrom, [&](std::size_t k, std::size_t i, double bohr) {
      near += compare(k, i, bohr * bohr_in_angstrom, near);
    });
    if (near > max_distance_warnings)
      warn(3, fmt::format("{} more pairs of atoms are nearer than half a usual bond", near - max_distance_warnings));
  }

  /// Whether atoms k and i, d Angstrom apart, are nearer than usual.
  bool compare(std::size_t k, std::size_t i, double d, std::size_t warned) {
    const Atom &a = atoms_[k], &b = atoms_[i];
    if (a.charge == 0 || b.charge == 0) return false;  // a ghost may be anywhere
    const double half_bond = 0.5 * (covalent_radius(a.charge) + covalent_radius(b.charge));
    const int line = static_cast<int>(i) + 3;
    if (d < min_distance) {
      const std::string where = d < 1e-3 ? "are at the same place" : fmt::format("are {:.3g} Angstrom apart", d);
      fail(fmt::format("atoms {} and {} {}", k + 1, i + 1, where),
           fmt::format("no two atoms are nearer than {} Angstrom: is a coordinate misspelt?", min_distance), line);
    }
    if (d >= half_bond) return false;
    if (warned < max_distance_warnings)
      warn(
          line,
          fmt::format(
              "atoms {} ({}) and {} ({}) are {:.3g} Angstrom apart, less than half of a usual bond ({:.2f}): is the geometry in Angstrom?",
              k + 1, a.symbol, i + 1, b.symbol, d, 2 * half_bond));
    return true;
  }

  const std::string& path_;
  std::vector<std::string>& warnings_;
  std::string text_;
  std::string_view line_;
  std::size_t at_ = 0;
  int number_ = 0;
  std::int64_t further_ = 0;  // columns after the coordinates
  std::vector<Atom> atoms_;
};

}  // namespace

std::vector<Atom> read_xyz(const std::string& path, std::vector<std::string>& warnings, XyzElectrons* electrons) {
  return XyzReader(path, warnings).read(electrons);
}

void take_electrons(Molecule& m, const XyzElectrons& said, bool states_charge, bool states_multiplicity,
                    const std::string& path, std::vector<std::string>& warnings) {
  const auto take = [&](const char* name, bool stated, const std::optional<std::int32_t>& of_file, std::int32_t& to) {
    if (!stated) to = of_file.value_or(to);
    else if (of_file && *of_file != to)
      warnings.push_back(
          fmt::format("{}:2: the second line says {} {}, and [molecule] {}, which is taken", path, name, *of_file, to));
  };
  take("charge", states_charge, said.charge, m.charge);
  take("multiplicity", states_multiplicity, said.multiplicity, m.multiplicity);
  if (said.speaks_of_charge && !states_charge)
    warnings.push_back(fmt::format(
        "{}:2: the second line speaks of a charge, and none is taken from it: state `charge` in [molecule]", path));
  if (said.pair && *said.pair != std::pair<std::int64_t, std::int64_t>{m.charge, m.multiplicity})
    warnings.push_back(fmt::format(
        "{}:2: `{} {}` in the second line is ignored, and charge and multiplicity are {} and {}: state them in [molecule]",
        path, said.pair->first, said.pair->second, m.charge, m.multiplicity));
  if (!said.spin || said.multiplicity) return;
  std::int64_t electrons = -m.charge;
  for (const Atom& a : m.atoms) electrons += a.charge;
  // Of an odd number of electrons only one of 2S, 2S + 1 and S is possible.
  const double spin = *said.spin, two_s = std::fmod(spin, 1.0) != 0 ? 2 * spin : spin - (std::fmod(spin, 2.0) == 0);
  if (!states_multiplicity && electrons % 2 != 0 && two_s > 0 && two_s == std::round(two_s))
    m.multiplicity = static_cast<std::int32_t>(two_s) + 1;
  const std::int32_t is = m.multiplicity - 1;
  const bool is_open = !states_multiplicity && electrons % 2 == 0 && spin == 1;  // a singlet, or S = 1
  if (is_open || (spin != is && spin != is + 1 && 2 * spin != is))
    warnings.push_back(fmt::format(
        "{}:2: `spin={}` is ignored: it may be 2S or 2S + 1; state `multiplicity` in [molecule]", path, spin));
}

}  // namespace sial
