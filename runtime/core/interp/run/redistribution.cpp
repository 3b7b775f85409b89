#include "runtime/core/interp/run/redistribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/interp/context/checkpoint_records.h"
#include "runtime/core/interp/rank_check/divergence.h"

namespace sial {
namespace {

/// Relative difference between ranks that have computed the same, on processors that round in different ways.
constexpr double rounding = 1e-8;

// Findings of the files about a value:
constexpr std::uint8_t differs = 1;       // not the same bits in all files
constexpr std::uint8_t differs_much = 2;  // ... and not by rounding
constexpr std::uint8_t is_nonzero = 4;    // somewhere

std::uint8_t compare(std::span<const double> first, std::span<const double> other) {
  std::uint8_t found = 0;
  double largest = 0, difference = 0;
  for (const double x : first) largest = std::max(largest, std::abs(x));
  if (largest != 0 || std::any_of(first.begin(), first.end(), [](double x) { return std::isnan(x); }))
    found |= is_nonzero;
  if (first.size() != other.size()) return found | differs | differs_much | is_nonzero;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (other[i] != 0 || std::isnan(other[i])) found |= is_nonzero;
    if (std::bit_cast<std::uint64_t>(first[i]) == std::bit_cast<std::uint64_t>(other[i])) continue;
    found |= differs;
    largest = std::max(largest, std::abs(other[i]));
    if (!(std::abs(first[i] - other[i]) <= difference)) difference = std::abs(first[i] - other[i]);
  }
  if (!(difference <= rounding * largest)) found |= differs_much;
  return found;
}

ArrayId array_of(const SavedRecord& record) { return Unpacker(record.head).value<ArrayId>(); }

/// The key of a block, region or array: the same text for the same one.
std::string key_of(const Module& module, const SavedRecord& record) {
  if (record.type != record_region) return {reinterpret_cast<const char*>(record.head.data()), record.head.size()};
  Unpacker head(record.head);
  const auto array = head.value<ArrayId>();
  std::string key = fmt::format("{}", array.at());
  const auto lo = head.value<std::array<std::int32_t, max_rank>>(),
             hi = head.value<std::array<std::int32_t, max_rank>>();
  for (std::size_t d = 0; d < module.arrays[array.at()].dims.size(); ++d) key += fmt::format(" {}:{}", lo[d], hi[d]);
  return key;
}

using RecordsByKey = std::map<std::string, const SavedRecord*>;

std::map<ArrayId, RecordsByKey> by_array(const Module& module, const SavedMachine& machine) {
  std::map<ArrayId, RecordsByKey> found;
  for (const SavedRecord& r : machine.records) found[array_of(r)][key_of(module, r)] = &r;
  return found;
}

class Sharing {
 public:
  Sharing(const Module& module, std::int32_t pc, const SavedMachine& first, const std::vector<SavedMachine>& mine,
          std::size_t files, int rank, const std::string& where)
      : m_(module),
        pc_(pc),
        first_(first),
        mine_(mine),
        files_(files),
        rank_(rank),
        where_(where),
        divergence_(module),
        values_(divergence_.at(pc)),
        found_(divergence_.variables()) {
    look_at(first_);
    for (const SavedMachine& machine : mine_) look_at(machine);
  }

  std::vector<std::uint8_t>& found() { return found_; }

  Redistributed result() {
    Redistributed result;
    SavedMachine& machine = result.machine;
    machine.ints = first_.ints;
    machine.scalars = first_.scalars;
    machine.rest = first_.rest;
    const SavedMachine& own = mine_.empty() ? first_ : mine_.front();
    for (std::size_t i = 0; i < machine.ints.size(); ++i)
      if (choice(divergence_.of_int(i)) == Choice::own) machine.ints[i] = own.ints[i];
    for (std::size_t i = 0; i < machine.scalars.size(); ++i) {
      const Choice c = choice(divergence_.of_scalar(i));
      if (c == Choice::own) machine.scalars[i] = own.scalars[i];
      if (c == Choice::number) machine.scalars[i] = rank_;
      if (c != Choice::sum) continue;
      machine.scalars[i] = 0;
      for (const SavedMachine& m : mine_) machine.scalars[i] += m.scalars[i];
    }
    for (const SavedRecord& r : own.records)
      if (choice(array_of(r)) == Choice::own) machine.records.push_back(r);
    for (const SavedRecord& r : first_.records) {
      const Choice c = choice(array_of(r));
      if (c == Choice::first) machine.records.push_back(r);
      if (c == Choice::sum) std::ranges::fill(machine.records.emplace_back(r).data, 0.0);
    }
    for (const SavedMachine& m : mine_)
      for (const SavedRecord& r : m.records)
        if (choice(array_of(r)) == Choice::sum) add(r, machine);
    result.rounded = rounded_;
    return result;
  }

 private:
  enum class Choice { first, own, sum, number };

  static void add(const SavedRecord& record, SavedMachine& to) {
    const auto there = std::ranges::find_if(to.records, [&](const SavedRecord& r) {
      return r.type == record.type && std::ranges::equal(r.head, record.head);
    });
    if (there == to.records.end()) to.records.push_back(record);
    else
      for (std::size_t i = 0; i < record.data.size(); ++i) there->data[i] += record.data[i];
  }

  void look_at(const SavedMachine& machine) {
    for (std::size_t i = 0; i < machine.ints.size(); ++i) {
      const auto a = static_cast<double>(first_.ints[i]), b = static_cast<double>(machine.ints[i]);
      found_[divergence_.of_int(i)] |= compare({&a, 1}, {&b, 1});
    }
    for (std::size_t i = 0; i < machine.scalars.size(); ++i)
      found_[divergence_.of_scalar(i)] |= compare({&first_.scalars[i], 1}, {&machine.scalars[i], 1});
    const auto base = by_array(m_, first_), other = by_array(m_, machine);
    static const RecordsByKey none;
    for (std::size_t a = 0; a < m_.arrays.size(); ++a) {
      const auto in_base = base.find(ArrayId(a)), in_other = other.find(ArrayId(a));
      const RecordsByKey& left = in_base == base.end() ? none : in_base->second;
      const RecordsByKey& right = in_other == other.end() ? none : in_other->second;
      std::uint8_t& found = found_[divergence_.of_array(ArrayId(a))];
      if (left.size() != right.size()) found |= differs | differs_much | is_nonzero;
      for (const auto& [key, record] : left) {
        const auto same = right.find(key);
        if (same == right.end()) found |= differs | differs_much | is_nonzero;
        else found |= compare(record->data, same->second->data);
      }
    }
  }

  /// One of the two variables of an array may be of no use any more; what ranks have of both tells nothing of the
  /// other.
  Choice choice(ArrayId array) {
    const std::size_t variable = divergence_.of_array(array), rest = divergence_.of_rest(array);
    if (values_[rest].use == 0 || rest == variable) return choice(variable);
    if (values_[variable].use == 0 && values_[rest].origin <= ValueAcrossRanks::uniform) return Choice::first;
    values_[variable].use |= values_[rest].use;
    values_[variable].origin |= values_[rest].origin;
    return choice(variable);
  }

  Choice choice(std::size_t variable) {
    const ValueAcrossRanks& value = values_[variable];
    const std::uint8_t found = found_[variable];
    if (value.use == 0) return Choice::own;
    if (value.origin == ValueAcrossRanks::number && is_scalar(variable)) return Choice::number;
    const bool numbered = (value.origin & ValueAcrossRanks::numbered) != 0;
    // Zero is everybody's, unless it is the number of rank 0, or was made of it.
    if ((found & (differs | is_nonzero)) == 0 && (!numbered || value.use == ValueAcrossRanks::summed))
      return Choice::first;
    if (value.origin == ValueAcrossRanks::uniform) {
      if ((found & differs_much) != 0) refuse(variable, "differs between the ranks");
      rounded_ = rounded_ || (found & differs) != 0;
      return Choice::first;
    }
    // Summed only, it counts once, whoever has it: of a program whose result does not depend on the number of ranks it
    // is a share wherever it may be one.
    if (value.use == ValueAcrossRanks::summed && !numbered && adds_up(variable)) return Choice::sum;
    if (value.use == ValueAcrossRanks::broadcast) return Choice::own;
    const bool surely = (value.origin & ValueAcrossRanks::uniform) == 0 || (found & differs) != 0;
    refuse(variable, numbered ? "depends on the number of the rank, or of ranks,"
                     : surely ? "holds what each rank has added to it by itself"
                              : "may hold what each rank has added to it by itself");
  }

  bool adds_up(std::size_t variable) const {
    if (variable < divergence_.of_array(ArrayId(0))) return is_scalar(variable);
    const ArrayKind kind = m_.arrays[variable - divergence_.of_array(ArrayId(0))].kind;
    return kind == ArrayKind::static_ || kind == ArrayKind::local;
  }

  bool is_scalar(std::size_t variable) const {
    return variable >= divergence_.of_scalar(0) && variable < divergence_.of_array(ArrayId(0));
  }

  std::string name_of(std::size_t variable) const {
    if (variable < divergence_.of_scalar(0))
      return variable < m_.ints.size() ? fmt::format("the int `{}`", m_.ints[variable].name) : "an intermediate value";
    if (is_scalar(variable)) {
      const std::size_t slot = variable - divergence_.of_scalar(0);
      return slot < m_.scalars.size() ? fmt::format("the scalar `{}`", m_.scalars[slot].name) : "an intermediate value";
    }
    return fmt::format("the array `{}`", m_.arrays[variable - divergence_.of_array(ArrayId(0))].name);
  }

  [[noreturn]] void refuse(std::size_t variable, const std::string& why) const {
    const std::int32_t reader = divergence_.reader(variable, pc_);
    const SourcePlace& place = m_.places[static_cast<std::size_t>(reader >= 0 ? reader : pc_ - 1)];
    throw InputError(
        fmt::format("{}: {} {} there{}", where_, name_of(variable), why,
                    reader >= 0 ? ", and is used here" : ", and is used later"),
        fmt::format("start {} rank{}, or continue from a checkpoint taken between programs", files_,
                    files_ == 1 ? "" : "s"),
        fmt::format("{}:{}:{}", m_.files.at(static_cast<std::size_t>(place.file)), place.line, place.column));
  }

  const Module& m_;
  std::int32_t pc_;
  const SavedMachine& first_;
  const std::vector<SavedMachine>& mine_;
  std::size_t files_;
  int rank_;
  const std::string& where_;
  Divergence divergence_;
  std::vector<ValueAcrossRanks> values_;
  std::vector<std::uint8_t> found_;  // by variable
  bool rounded_ = false;
};

}  // namespace

Redistributed redistribute(const Module& module, std::int32_t pc, const SavedMachine& first,
                           const std::vector<SavedMachine>& mine, std::size_t files, Transport& transport,
                           CollectiveTag tag, const std::string& where) {
  Sharing sharing(module, pc, first, mine, files, transport.rank(), where);
  std::vector<std::uint8_t>& found = sharing.found();
  for (const auto& theirs : transport.all_gather(std::as_bytes(std::span(found)), tag))
    for (std::size_t v = 0; v < found.size(); ++v) found[v] |= std::to_integer<std::uint8_t>(theirs[v]);
  return sharing.result();
}

}  // namespace sial
