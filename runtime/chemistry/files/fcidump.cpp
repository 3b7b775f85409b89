#include "runtime/chemistry/files/fcidump.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/files/guess.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

constexpr double same = 1e-8;  // up to which elements that a file has twice are equal; relative to those above 1
constexpr std::int32_t max_orbitals = 5000;
constexpr const char* line_form =
    "a line is `value i j k l`: (ij|kl) has four indices, h has `i j 0 0`, the energy of an orbital `i 0 0 0`, the energy of the core `0 0 0 0`";

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

/// Elements in the order of InputHamiltonian; what is not set has no number.
using Indices = std::array<std::int32_t, 4>;

/// One kind of element and its place in its list.
struct Element {
  enum class Kind { one, two, energy, core } kind = Kind::core;
  std::size_t at = 0;
  auto operator<=>(const Element&) const = default;
};

Element element_of(const Indices& i) {
  const auto pair = [](std::int32_t p, std::int32_t q) {
    return InputHamiltonian::pair(static_cast<std::size_t>(p) - 1, static_cast<std::size_t>(q) - 1);
  };
  if (i[2] > 0) return {Element::Kind::two, InputHamiltonian::pair(pair(i[0], i[1]), pair(i[2], i[3]))};
  if (i[1] > 0) return {Element::Kind::one, pair(i[0], i[1])};
  if (i[0] > 0) return {Element::Kind::energy, static_cast<std::size_t>(i[0]) - 1};
  return {};
}

/// Also `1.0-101`: Fortran leaves out the letter before three digits.
std::optional<double> fortran_real(std::string_view text) {
  const std::size_t sign = text.find_last_of("+-");
  const bool is_bare = sign != std::string_view::npos && sign > 0 &&
                       (std::isdigit(static_cast<unsigned char>(text[sign - 1])) || text[sign - 1] == '.');
  return is_bare ? read_real(fmt::format("{}e{}", text.substr(0, sign), text.substr(sign))) : read_real(text);
}

class Reader {
 public:
  Reader(const std::string& path, std::vector<std::string>& warnings) : path_(path), warnings_(warnings) {
    std::string problem;
    text_ = read_file(path, input_limit::initial_data, problem);
    if (!problem.empty()) throw InputError(fmt::format("cannot read the FCIDUMP file `{}`: {}", path, problem));
  }

  InputHamiltonian read() {
    header();
    refuse();
    found_.file = path_;
    found_.orbitals = integer("NORB", std::nullopt, 1, max_orbitals);
    const std::int32_t most = 2 * found_.orbitals;
    found_.electrons = integer("NELEC", std::nullopt, 0, most);
    const std::int32_t unpaired = integer("MS2", 0, 0, most);
    if (unpaired > found_.electrons || (found_.electrons - unpaired) % 2 != 0 ||
        (found_.electrons + unpaired) / 2 > found_.orbitals)
      fail(keys_.at("NELEC").at,
           fmt::format("NELEC={} and MS2={} do not fit NORB={}", found_.electrons, unpaired, found_.orbitals),
           "MS2 is the number of unpaired electrons, even where NELEC is, and orbitals hold two electrons each");
    found_.multiplicity = unpaired + 1;
    symmetries();
    allocate();
    records();
    finish();
    return std::move(found_);
  }

 private:
  struct Key {
    std::size_t at = 0;
    std::vector<std::string_view> values;
  };
  struct Token {
    std::string_view text;
    std::size_t at = 0;
  };

  std::string place(std::size_t at) const {
    const std::string_view before = std::string_view(text_).substr(0, at);
    const std::size_t line_begin = before.rfind('\n');
    const std::size_t column = line_begin == std::string_view::npos ? at + 1 : at - line_begin;
    return fmt::format("{}:{}:{}", path_, 1 + std::count(before.begin(), before.end(), '\n'), column);
  }

  [[noreturn]] void fail(std::size_t at, const std::string& message, const std::string& hint) const {
    throw InputError(message, hint, place(at));
  }

  std::size_t at_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }

  std::string_view line_at(std::size_t begin) const {
    const std::size_t end = text_.find('\n', begin);
    return std::string_view(text_).substr(begin, (end == std::string::npos ? text_.size() : end) - begin);
  }

  /// Words of the namelist, `=` and the end by themselves; sets records_begin_.
  std::vector<Token> tokens() {
    std::vector<Token> out;
    for (std::size_t begin = 0; begin < text_.size();) {
      std::string_view line = line_at(begin);
      const std::size_t next = begin + line.size() + 1;
      line = line.substr(0, line.find('!'));
      for (std::size_t at = 0; at < line.size();) {
        const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; };
        if (is_blank(line[at])) {
          ++at;
          continue;
        }
        std::size_t end = at + 1;
        if (line[at] != '=' && line[at] != '/')
          while (end < line.size() && !is_blank(line[end]) && line[end] != '=' && line[end] != '/') ++end;
        const Token token{line.substr(at, end - at), begin + at};
        at = end;
        const std::string word = upper_case(token.text);
        if (word != "/" && word != "&END" && word != "$END") {
          out.push_back(token);
          continue;
        }
        const std::size_t more = line.find_first_not_of(" \t\r", at);
        if (more != std::string_view::npos)
          fail(begin + more, "there is text after the end of the namelist", "integrals begin in a line of their own");
        records_begin_ = next;
        return out;
      }
      // An unclosed namelist would take all integrals for keys.
      if (out.empty() ? false : upper_case(out.front().text) != "&FCI" && upper_case(out.front().text) != "$FCI") break;
      begin = next;
    }
    if (out.empty())
      throw InputError("the FCIDUMP file is empty", "it begins with &FCI NORB=...,NELEC=...,MS2=...,", path_);
    check_opening(out.front());
    fail(out.front().at, "the namelist &FCI has no end", "it ends with a line &END or /");
  }

  void check_opening(const Token& first) const {
    if (const std::string word = upper_case(first.text); word != "&FCI" && word != "$FCI")
      fail(first.at, "an FCIDUMP file begins with the namelist &FCI", "is this another file?");
  }

  void header() {
    const std::vector<Token> words = tokens();
    if (words.empty()) fail(0, "an FCIDUMP file begins with the namelist &FCI", "is this another file?");
    check_opening(words.front());
    Key* key = nullptr;
    for (std::size_t w = 1; w < words.size(); ++w) {
      if (w + 1 < words.size() && words[w + 1].text == "=") {
        std::string name = upper_case(words[w].text);
        name.resize(std::min(name.find('('), name.size()));  // ORBSYM(1)=
        const auto [entry, is_new] = keys_.try_emplace(name, Key{words[w].at, {}});
        if (!is_new)
          fail(words[w].at, fmt::format("{} is there twice", printable(name)),
               fmt::format("it is at {} already; leave one out", place(entry->second.at)));
        key = &entry->second;
        ++w;
      } else if (!key || words[w].text == "=") {
        fail(words[w].at, fmt::format("`{}` is no key of the namelist with a value", printable(words[w].text)),
             "keys look like NORB=7");
      } else {
        key->values.push_back(words[w].text);
      }
    }
  }

  static std::string printable(std::string_view text) {
    std::string out(text.substr(0, 60));
    for (char& c : out)
      if (!std::isprint(static_cast<unsigned char>(c))) c = '?';
    return out;
  }

  /// Files that hold something else than real integrals over orbitals of both spins; keys that nobody knows.
  void refuse() {
    constexpr const char* spins =
        "orbitals that differ between alpha and beta (six groups of integrals) cannot be read: write the file with restricted orbitals";
    constexpr const char* spinors = "integrals over spinors cannot be read: write the file without spin-orbit coupling";
    static const std::map<std::string, const char*, std::less<>> refused = {
        {"UHF", spins}, {"IUHF", spins}, {"TREL", spinors}, {"RELCC", spinors}};
    static constexpr std::string_view known[] = {
        "NORB",       "NELEC", "MS2", "ISYM",   "ORBSYM", "UHF",  "IUHF", "TREL", "RELCC", "SYML",   "SYMLZ",
        "PROPBITLEN", "NPROP", "OCC", "CLOSED", "FROZEN", "CORE", "ST",   "III",  "NPRTL", "MEMORY", "THRESH"};
    for (const auto& [name, key] : keys_) {
      if (const auto why = refused.find(name); why != refused.end()) {
        std::string value = key.values.empty() ? "" : upper_case(key.values.front());
        value.erase(0, value.find_first_not_of('.'));
        if (!value.empty() && value.front() != 'F' && value != "0")
          fail(key.at, fmt::format("{}={}", name, printable(key.values.front())), why->second);
      }
      if (std::find(std::begin(known), std::end(known), name) == std::end(known)) {
        const auto close = close_names(name, std::vector<std::string_view>(std::begin(known), std::end(known)));
        warnings_.push_back(fmt::format("{}: `{}` of the namelist is not known and left out{}", place(key.at),
                                        printable(name),
                                        close.empty() ? "" : fmt::format(" (did you mean {}?)", close[0])));
      }
    }
  }

  std::int32_t integer(const std::string& name, std::optional<std::int32_t> usual, std::int32_t least,
                       std::int32_t most) const {
    const auto key = keys_.find(name);
    if (key == keys_.end()) {
      if (usual) return *usual;
      fail(0, fmt::format("the namelist has no {}", name),
           fmt::format("add {}=... to &FCI: the number of {}", name, name == "NORB" ? "orbitals" : "electrons"));
    }
    const std::vector<std::string_view>& values = key->second.values;
    const auto value = values.size() == 1 ? read_integer(values.front()) : std::nullopt;
    if (!value)
      fail(key->second.at,
           fmt::format("{}={} is no integer", name, printable(fmt::format("{}", fmt::join(values, ",")))),
           fmt::format("{} takes one integer", name));
    if (*value < least || *value > most)
      fail(key->second.at, fmt::format("{}={} is not within {} to {}", name, *value, least, most),
           name == "NORB" ? "a Hamiltonian has at least one orbital; larger ones do not fit memory"
                          : "MS2 is the number of unpaired electrons, and orbitals hold two electrons each");
    return static_cast<std::int32_t>(*value);
  }

  /// One number for each orbital, also as 4*1. They are not used.
  void symmetries() const {
    integer("ISYM", 1, 0, std::numeric_limits<std::int32_t>::max());
    const auto key = keys_.find("ORBSYM");
    if (key == keys_.end()) return;
    std::int64_t count = 0;
    for (const std::string_view word : key->second.values) {
      const std::size_t star = word.find('*');
      const auto times = star == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                        : read_integer(word.substr(0, star), 1, max_orbitals);
      if (!times || !read_integer(star == std::string_view::npos ? word : word.substr(star + 1)))
        fail(at_of(word), fmt::format("`{}` in ORBSYM is no integer", printable(word)),
             "ORBSYM has the number of an irreducible representation per orbital");
      count += *times;
    }
    if (count != found_.orbitals)
      fail(key->second.at, fmt::format("ORBSYM has {} numbers, and NORB={}", count, found_.orbitals),
           "ORBSYM has one number per orbital");
  }

  void allocate() {
    const double bytes = packed_bytes(found_.orbitals);
    const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const std::size_t at = keys_.at("NORB").at;
    if (bytes > 0.75 * memory)
      fail(at,
           fmt::format("the integrals of NORB={} take {}, and this machine has {}", found_.orbitals,
                       bytes_text(static_cast<std::int64_t>(std::min(bytes, 9e18))),
                       bytes_text(static_cast<std::int64_t>(memory))),
           "take fewer orbitals");
    const auto n = static_cast<std::size_t>(found_.orbitals), pairs = n * (n + 1) / 2;
    constexpr double unset = std::numeric_limits<double>::quiet_NaN();
    try {
      found_.two.assign(pairs * (pairs + 1) / 2, unset);
    } catch (const std::bad_alloc&) {
      fail(at, fmt::format("the integrals of NORB={} do not fit the memory", found_.orbitals), "take fewer orbitals");
    }
    found_.one.assign(pairs, unset);
    found_.energies.assign(n, unset);
    found_.core_energy = unset;
  }

  /// Nothing where the line is empty.
  std::optional<std::pair<double, Indices>> record(std::string_view line) const {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return std::nullopt;
    if (words[0].front() == '(')
      fail(at_of(words[0]), "complex integrals cannot be read", "write the file with real orbitals");
    if (words.size() != 5)
      fail(at_of(words[0]), fmt::format("{} words where a value and four indices are expected", words.size()),
           words.size() == 6 ? "is this the complex form, with two numbers?" : line_form);
    const std::optional<double> value = fortran_real(words[0]);
    if (!value) fail(at_of(words[0]), fmt::format("`{}` is no finite number", printable(words[0])), line_form);
    Indices i{};
    for (std::size_t d = 0; d < 4; ++d) {
      const auto index = read_integer(words[d + 1]);
      if (!index) fail(at_of(words[d + 1]), fmt::format("`{}` is no index", printable(words[d + 1])), line_form);
      if (*index < 0 || *index > found_.orbitals)
        fail(at_of(words[d + 1]), fmt::format("the index {} is outside 1 to NORB={}", *index, found_.orbitals),
             "indices count from 1; 0 stands for none");
      i[d] = static_cast<std::int32_t>(*index);
    }
    const bool two = i[0] > 0 && i[1] > 0 && i[2] > 0 && i[3] > 0;
    if (!two && (i[2] > 0 || i[3] > 0 || (i[0] == 0 && i[1] > 0)))
      fail(at_of(words[1]), "indices of no integral", line_form);
    return std::pair{*value, i};
  }

  double& at(const Element& e) {
    switch (e.kind) {
      case Element::Kind::two: return found_.two[e.at];
      case Element::Kind::one: return found_.one[e.at];
      case Element::Kind::energy: return found_.energies[e.at];
      case Element::Kind::core: break;
    }
    return found_.core_energy;
  }

  void records() {
    for (std::size_t begin = records_begin_; begin < text_.size();) {
      const std::string_view line = line_at(begin);
      if (const auto found = record(line)) {
        double& element = at(element_of(found->second));
        if (std::isnan(element)) element = found->first;
        else if (std::abs(element - found->first) > same * std::max(1.0, std::abs(element)))
          refuse_second(begin, element_of(found->second), element);
      }
      begin += line.size() + 1;
    }
  }

  [[noreturn]] void refuse_second(std::size_t second, const Element& element, double value) const {
    std::size_t begin = records_begin_;
    for (; begin < second; begin += line_at(begin).size() + 1)
      if (const auto found = record(line_at(begin)); found && element_of(found->second) == element) break;
    fail(
        second, fmt::format("the element has another value at {}, {}", place(begin), value),
        "an integral equals those with i and j, k and l, or ij and kl exchanged, over real orbitals, and has one value; integrals of alpha and beta orbitals (UHF) cannot be read");
  }

  void finish() {
    if (std::isnan(found_.core_energy))
      fail(text_.empty() ? 0 : text_.size() - 1, "there is no energy of the core, `value 0 0 0 0`, which ends a file",
           "is the file complete? Else add the line `0.0 0 0 0 0`");
    if (text_.back() != '\n')
      warnings_.push_back(fmt::format("{}: the last line has no end: is the file complete?", place(text_.size() - 1)));
    const auto unset = [](double x) { return std::isnan(x); };
    if (std::any_of(found_.energies.begin(), found_.energies.end(), unset)) found_.energies.clear();
    for (std::vector<double>* list : {&found_.one, &found_.two})
      std::replace_if(list->begin(), list->end(), unset, 0.0);
  }

  std::string path_, text_;
  std::vector<std::string>& warnings_;
  std::map<std::string, Key> keys_;
  std::size_t records_begin_ = 0;
  InputHamiltonian found_;
};

/// The orbitals, the lowest first, where these nearly solve RHF, as those of a file that an SCF wrote: from orbitals of
/// one electron it may end in a higher state. Else nothing. As Hamiltonian.hartree_fock() of the Python package.
std::vector<std::size_t> solution(const InputHamiltonian& h) {
  const auto n = static_cast<std::size_t>(h.orbitals), occupied = static_cast<std::size_t>(h.electrons) / 2;
  if (h.multiplicity != 1 || occupied == 0 || occupied == n) return {};
  std::vector<std::size_t> order(n), filled;
  std::iota(order.begin(), order.end(), 0);
  if (!h.energies.empty()) std::ranges::stable_sort(order, {}, [&](std::size_t p) { return h.energies[p]; });
  const auto fock = [&](std::size_t p, std::size_t q) {
    double sum = h.one[InputHamiltonian::pair(p, q)];
    for (const std::size_t i : filled) sum += 2.0 * h.repulsion(p, q, i, i) - h.repulsion(p, i, i, q);
    return sum;
  };
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto lowest = std::span(order).first(occupied);
    filled.assign(lowest.begin(), lowest.end());
    std::vector<double> level(n);
    for (std::size_t p = 0; p < n; ++p) level[p] = fock(p, p);
    std::ranges::stable_sort(order, {}, [&](std::size_t p) { return level[p]; });
    if (!std::ranges::is_permutation(lowest, filled)) continue;
    const double gap = level[order[occupied]] - level[order[occupied - 1]];
    for (const std::size_t i : lowest)
      for (const std::size_t a : std::span(order).subspan(occupied))
        if (std::abs(fock(i, a)) >= 0.01 * gap) return {};
    return order;
  }
  return {};
}

}  // namespace

InputHamiltonian read_fcidump(const std::string& path, std::vector<std::string>& warnings) {
  return Reader(path, warnings).read();
}

void take_fcidump(Job& job, const std::string& path) {
  const auto hamiltonian = std::make_shared<const InputHamiltonian>(read_fcidump(path, job.warnings));
  chemistry(job.data).hamiltonian = hamiltonian;
  job.data.scalars["given_core_energy"] = hamiltonian->core_energy;
  chemistry(job.data).molecule.basis_name =
      fmt::format("the job gives integrals over orbitals, from `{}`, and this needs atoms and basis functions", path);
  give_arrays(hamiltonian, job.data);
  if (const std::vector<std::size_t> order = solution(*hamiltonian); !order.empty()) {
    const std::int64_t n = std::ssize(order);
    DataArray orbitals{{n, n}, std::vector<double>(order.size() * order.size()), path};
    for (std::size_t p = 0; p < order.size(); ++p) orbitals.data[p * order.size() + order[p]] = 1.0;
    set_guess(job, orbitals, orbitals);
  }
}

}  // namespace sial
