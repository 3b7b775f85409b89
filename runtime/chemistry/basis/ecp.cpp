#include "runtime/chemistry/basis/ecp.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw InputError(message,
                   "the arrays of effective core potentials are clp, zlp, nlp, kfirst, klast, llmax and nelecp");
}

template <class Arrays>
const auto& array(const Arrays& arrays, const char* name) {
  auto it = arrays.find(name);
  if (it == arrays.end()) fail(fmt::format("the job has effective core potentials, but no array `{}`", name));
  return it->second.data;
}

/// Terms [first, last) of part k of a centre.
struct Parts {
  const std::vector<std::int32_t>&first, &last;
  std::size_t part_stride, centre_stride, n_parts;
  std::pair<std::int64_t, std::int64_t> of(std::size_t centre, std::size_t part) const {
    if (part >= n_parts) return {-1, 0};
    const std::size_t at = centre * centre_stride + part * part_stride;
    return {std::int64_t{first[at]} - 1, last[at]};
  }
};

/// How well a reading of kfirst and klast explains them, the least first: some part is not within the terms; all are;
/// those of a centre do not overlap; are in order; follow on each other; all centres do, one after the other.
enum class Fit { outside, valid, apart, in_order, joined, listed };

struct Reading {
  Fit fit = Fit::listed;
  std::int64_t outside = 0;  // parts that are not within the terms, and the first of them
  std::size_t bad_centre = 0;
  std::int32_t bad_part = 0;
};

Reading judge(const Parts& parts, const std::vector<std::int32_t>& top, const std::vector<std::int32_t>& electrons,
              std::int64_t n_terms) {
  using Range = std::pair<std::int64_t, std::int64_t>;
  Reading reading;
  std::int64_t done = 0;
  bool gaps = false;
  const auto no_better_than = [&](Fit fit) { reading.fit = std::min(reading.fit, fit); };
  for (std::size_t c = 0; c < electrons.size(); ++c) {
    if (electrons[c] <= 0) continue;
    std::vector<Range> ranges;
    for (std::int32_t part = 0; part <= top[c]; ++part) {
      const Range range = parts.of(c, part);
      if (range.first >= 0 && range.second >= range.first && range.second <= n_terms) {
        ranges.push_back(range);
        continue;
      }
      if (reading.outside++ == 0) reading.bad_centre = c, reading.bad_part = part;
      no_better_than(Fit::outside);
    }
    const auto any = [&](auto found) {
      return std::adjacent_find(ranges.begin(), ranges.end(), found) != ranges.end();
    };
    const auto overlap = [](const Range& p, const Range& q) { return q.first < p.second; };
    if (!ranges.empty() && ranges.front().first < done) no_better_than(Fit::joined);
    gaps = gaps || any([](const Range& p, const Range& q) { return q.first > p.second; });
    if (any(overlap)) no_better_than(Fit::apart);
    if (!ranges.empty()) done = ranges.back().second;
    std::sort(ranges.begin(), ranges.end());
    if (any(overlap)) no_better_than(Fit::valid);
  }
  if (gaps && reading.fit != Fit::listed) no_better_than(Fit::in_order);
  return reading;
}

}  // namespace

std::vector<Ecp> ecps_of_arrays(const JobData& job) {
  auto found = job.int_arrays.find("nelecp");
  if (found == job.int_arrays.end()) return {};
  const std::vector<std::int32_t>& electrons = found->second.data;
  bool any = false;
  for (std::int32_t e : electrons) any = any || e > 0;
  if (!any) return {};
  const auto &coefficient = array(job.arrays, "clp"), &exponent = array(job.arrays, "zlp");
  const auto &power = array(job.int_arrays, "nlp"), &first = array(job.int_arrays, "kfirst"),
             &last = array(job.int_arrays, "klast"), &top = array(job.int_arrays, "llmax");
  if (exponent.size() != coefficient.size() || power.size() != coefficient.size())
    fail(
        fmt::format("clp, zlp and nlp have {}, {} and {} elements", coefficient.size(), exponent.size(), power.size()));
  if (top.size() != electrons.size())
    fail(fmt::format("llmax has {} elements, nelecp {}", top.size(), electrons.size()));
  if (chemistry(job).has_molecule && electrons.size() > chemistry(job).molecule.atoms.size())
    fail(fmt::format("nelecp has {} elements for {} atoms", electrons.size(), chemistry(job).molecule.atoms.size()));
  if (first.size() != last.size() || first.size() % electrons.size() != 0)
    fail(fmt::format("kfirst has {} elements, klast {}, for {} centres", first.size(), last.size(), electrons.size()));
  // Which of the two indices runs fastest differs between writers; what matters is that each part is a range of the
  // terms. Centres alike may share theirs. Of two possible readings the one with the parts of a centre side by side is
  // meant.
  const std::size_t n_centres = electrons.size(), n_parts = first.size() / n_centres;
  const auto n_terms = static_cast<std::int64_t>(coefficient.size());
  const Parts by_part{first, last, 1, n_parts, n_parts}, by_centre{first, last, n_centres, 1, n_parts};
  const Reading part_fastest = judge(by_part, top, electrons, n_terms),
                centre_fastest = judge(by_centre, top, electrons, n_terms);
  const bool centres_first = centre_fastest.fit > part_fastest.fit ||
                             (centre_fastest.fit == Fit::outside && centre_fastest.outside < part_fastest.outside);
  const Parts& parts = centres_first ? by_centre : by_part;
  if (const Reading& reading = centres_first ? centre_fastest : part_fastest; reading.fit == Fit::outside) {
    if (static_cast<std::size_t>(reading.bad_part) >= n_parts)
      fail(fmt::format("llmax of centre {} is {}, but kfirst and klast have {} parts of each centre",
                       reading.bad_centre + 1, top[reading.bad_centre], n_parts));
    const auto [begin, end] = parts.of(reading.bad_centre, reading.bad_part);
    fail(fmt::format("kfirst and klast give part {} of centre {} the terms {} to {}, and clp has {}",
                     reading.bad_part + 1, reading.bad_centre + 1, begin + 1, end, n_terms));
  }
  std::vector<Ecp> ecps;
  for (std::size_t c = 0; c < electrons.size(); ++c) {
    if (electrons[c] <= 0) continue;
    Ecp ecp{static_cast<std::int32_t>(c), electrons[c], {}};
    for (std::int32_t part = 0; part <= top[c]; ++part) {
      auto [begin, end] = parts.of(c, part);
      for (std::int64_t t = begin; t < end; ++t) ecp.terms.push_back({part - 1, power[t], exponent[t], coefficient[t]});
    }
    ecps.push_back(std::move(ecp));
  }
  return ecps;
}

std::vector<Ecp> ecps_of_job(const JobData& job) {
  return chemistry(job).molecule.ecps.empty() ? ecps_of_arrays(job) : chemistry(job).molecule.ecps;
}

EcpArrays arrays_of_ecps(const Molecule& molecule) {
  EcpArrays arrays;
  const std::size_t n_atoms = molecule.atoms.size();
  auto& electrons = arrays.integers["nelecp"];
  electrons.assign(n_atoms, 0);
  if (molecule.ecps.empty()) return arrays;
  auto& top = arrays.integers["llmax"];
  top.assign(n_atoms, 0);
  for (const Ecp& e : molecule.ecps)
    for (const EcpTerm& t : e.terms) top[e.atom] = std::max(top[e.atom], t.l + 1);
  const std::int32_t n_parts = *std::max_element(top.begin(), top.end()) + 1;
  auto &first = arrays.integers["kfirst"], &last = arrays.integers["klast"], &power = arrays.integers["nlp"];
  auto &coefficient = arrays.reals["clp"], &exponent = arrays.reals["zlp"];
  first.assign(n_parts * n_atoms, 0);
  last.assign(n_parts * n_atoms, 0);
  arrays.extents["kfirst"] = arrays.extents["klast"] = {n_parts, static_cast<std::int32_t>(n_atoms)};
  for (const Ecp& e : molecule.ecps) {
    electrons[e.atom] = e.electrons;
    for (std::int32_t part = 0; part <= top[e.atom]; ++part) {
      const std::size_t at = e.atom * static_cast<std::size_t>(n_parts) + part;
      first[at] = static_cast<std::int32_t>(power.size()) + 1;
      for (const EcpTerm& t : e.terms) {
        if (t.l != part - 1) continue;
        power.push_back(t.power);
        exponent.push_back(t.exponent);
        coefficient.push_back(t.coefficient);
      }
      last[at] = static_cast<std::int32_t>(power.size());
    }
  }
  return arrays;
}

}  // namespace sial
