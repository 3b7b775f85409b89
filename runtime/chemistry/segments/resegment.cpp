#include "runtime/chemistry/segments/resegment.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

using Sizes = std::vector<std::int32_t>;

constexpr std::int32_t max_segments = 1'000'000;

/// Orbital spaces of one kind: positions where segments must end, and the active occupied and virtual orbitals between
/// them.
struct Spaces {
  std::set<std::int32_t> cuts;
  std::int32_t occ_begin = 0, occ_end = 0, virt_begin = 0, virt_end = 0;
};

/// The ints that name segments of a kind: `b`/`e` + letter + `occ`/`virt`.
std::string range_name(bool begin, const std::string& letter, const char* space) {
  return (begin ? "b" : "e") + letter + space;
}

class Resegmenter {
 public:
  Resegmenter(JobData& data, const std::map<std::string, SegmentRequest>& requests)
      : data_(data), requests_(requests) {}

  void run() {
    if (const auto fragments = data_.ints.find("nfrags"); fragments != data_.ints.end() && fragments->second > 1)
      throw InputError(fmt::format("the segments of a job of {} fragments cannot be cut anew", fragments->second),
                       "its tables name the fragment of every segment: run it with the segments it has");
    if (const SegmentRequest* r = request("ao")) basis_functions(*r);
    if (const SegmentRequest* r = request("la"); r && !r->sizes.empty()) data_.segments[IndexKind::la] = r->sizes;
    const std::optional<Sizes> alpha_before = sizes_of(IndexKind::moa), mo_before = sizes_of(IndexKind::mo),
                               beta_before = sizes_of(IndexKind::mob);
    const bool closed = alpha_before && beta_before && *alpha_before == *beta_before;
    orbitals(IndexKind::moa, "moa", "a", request("occ"), request("virt"));
    const auto for_beta = [&](const char* own, const char* common) {
      const SegmentRequest* r = request(own) ? request(own) : request(common);
      // A list for the alpha orbitals says nothing about beta orbitals of another number.
      return r && !request(own) && !r->sizes.empty() && !closed ? nullptr : r;
    };
    if (closed && request("moa") && !request("mob"))
      data_.segments[IndexKind::mob] = *sizes_of(IndexKind::moa),
      rename(IndexKind::mob, "b", *beta_before, *sizes_of(IndexKind::mob));
    else orbitals(IndexKind::mob, "mob", "b", for_beta("beta_occ", "occ"), for_beta("beta_virt", "virt"));
    // Orbitals without spin are cut as the alpha ones when they were.
    if (mo_before && alpha_before && *mo_before == *alpha_before && !request("mo")) {
      data_.segments[IndexKind::mo] = *sizes_of(IndexKind::moa);
      rename(IndexKind::mo, "", *mo_before, *sizes_of(IndexKind::mo));
    } else {
      orbitals(IndexKind::mo, "mo", "", request("occ"), request("virt"));
    }
    for (auto [kind, name] : {std::pair{IndexKind::mo, "mo_seg_ranges"},
                              {IndexKind::moa, "moa_seg_ranges"},
                              {IndexKind::mob, "mob_seg_ranges"}})
      if (const auto sizes = sizes_of(kind)) set_array(name, *sizes);
  }

 private:
  const SegmentRequest* request(const std::string& key) const {
    const auto found = requests_.find(key);
    return found == requests_.end() ? nullptr : &found->second;
  }

  std::optional<Sizes> sizes_of(IndexKind kind) const {
    const auto found = data_.segments.find(kind);
    return found == data_.segments.end() ? std::nullopt : std::optional(found->second);
  }

  static Sizes pieces(std::int32_t n, std::int32_t target) {
    if (n / target > max_segments)
      throw InputError(fmt::format("segments of {} cut {} elements into more than {} pieces", target, n, max_segments),
                       "take larger segments");
    return equal_segments(n, target);
  }

  void set_array(const std::string& name, const Sizes& values) {
    const auto found = data_.int_arrays.find(name);
    if (found == data_.int_arrays.end()) return;
    found->second.extents = {std::ssize(values)};
    found->second.data = values;
  }

  void basis_functions(const SegmentRequest& r) {
    const std::optional<Sizes> before = sizes_of(IndexKind::ao);
    if (!before) throw InputError("the data file has no AO segments to cut", "leave `ao` out");
    Sizes sizes = r.sizes;
    if (sizes.empty())
      sizes = chemistry(data_).has_molecule ? ao_segments(chemistry(data_).molecule, r.target)
                                            : pieces(all_elements(*before), r.target);
    if (all_elements(sizes) != all_elements(*before))
      throw InputError(fmt::format("segments `ao` add up to {}, but the data file has {} basis functions",
                                   all_elements(sizes), all_elements(*before)),
                       "make them add up, or give a target with --resegment ao=N");
    if (chemistry(data_).has_molecule) check_ao_segments(sizes, chemistry(data_).molecule);
    data_.segments[IndexKind::ao] = sizes;
    data_.ints["norb"] = static_cast<std::int32_t>(sizes.size());
    Sizes ends(sizes.size());
    std::partial_sum(sizes.begin(), sizes.end(), ends.begin());
    set_array("ao_seg_ranges", ends);
  }

  /// Segment number held by an int, as a position: where it begins, or ends.
  std::optional<std::int32_t> position(const std::string& name, bool begin, const Sizes& sizes) const {
    const auto found = data_.ints.find(name);
    if (found == data_.ints.end()) return std::nullopt;
    const std::int32_t before = begin ? found->second - 1 : found->second;
    if (before < 0 || before > std::ssize(sizes))
      throw InputError(
          fmt::format("predefined int `{}` is {}, and there are {} segments", name, found->second, sizes.size()),
          "the segment ranges of the data file are wrong");
    return std::accumulate(sizes.begin(), sizes.begin() + before, 0);
  }

  Spaces spaces(const std::string& letter, const Sizes& sizes) const {
    Spaces s;
    const std::int32_t n = all_elements(sizes);
    s.occ_begin = position(range_name(true, letter, "occ"), true, sizes).value_or(0);
    s.occ_end = position(range_name(false, letter, "occ"), false, sizes).value_or(s.occ_begin);
    s.virt_begin = position(range_name(true, letter, "virt"), true, sizes).value_or(s.occ_end);
    s.virt_end = position(range_name(false, letter, "virt"), false, sizes).value_or(n);
    s.cuts = {s.occ_begin, s.occ_end, s.virt_begin, s.virt_end, n};
    return s;
  }

  /// The segments between two positions.
  static Sizes between(const Sizes& sizes, std::int32_t from, std::int32_t to) {
    Sizes part;
    std::int32_t at = 0;
    for (const std::int32_t size : sizes) {
      if (at >= from && at + size <= to) part.push_back(size);
      at += size;
    }
    return part;
  }

  Sizes cut(const Sizes& before, std::int32_t from, std::int32_t to, const SegmentRequest* r,
            const std::string& what) const {
    if (to <= from) return {};
    if (!r) return between(before, from, to);
    if (r->sizes.empty()) return pieces(to - from, r->target);
    if (all_elements(r->sizes) != to - from)
      throw InputError(
          fmt::format("segments of the {} add up to {}, but there are {}", what, all_elements(r->sizes), to - from),
          "frozen orbitals keep their own segments and are not counted");
    return r->sizes;
  }

  void orbitals(IndexKind kind, const std::string& key, const std::string& letter, const SegmentRequest* occ,
                const SegmentRequest* virt) {
    const std::optional<Sizes> before = sizes_of(kind);
    if (!before) return;
    const Spaces s = spaces(letter, *before);
    Sizes after;
    if (const SegmentRequest* whole = request(key); whole && !whole->sizes.empty()) {
      after = whole->sizes;
      std::set<std::int32_t> ends{0};
      std::int32_t end = 0;
      for (const std::int32_t size : after) ends.insert(end += size);
      for (const std::int32_t position : s.cuts)
        if (end != all_elements(*before) || !ends.count(position))
          throw InputError(
              fmt::format("segments `{}` ({}) do not end at orbital {}", key, fmt::join(after, ", "), position),
              "frozen, occupied and virtual orbitals have segments of their own, together all orbitals");
    } else if (occ || virt) {
      const auto add = [&](const Sizes& part) { after.insert(after.end(), part.begin(), part.end()); };
      add(between(*before, 0, s.occ_begin));
      add(cut(*before, s.occ_begin, s.occ_end, occ, "occupied orbitals"));
      add(between(*before, s.occ_end, s.virt_begin));
      add(cut(*before, s.virt_begin, s.virt_end, virt, "virtual orbitals"));
      add(between(*before, s.virt_end, all_elements(*before)));
    } else {
      return;
    }
    data_.segments[kind] = after;
    rename(kind, letter, *before, after);
  }

  /// The ints that named segments of `before` name those of `after` at the same positions.
  void rename(IndexKind, const std::string& letter, const Sizes& before, const Sizes& after) {
    for (const char* space : {"occ", "virt"})
      for (const bool begin : {true, false}) {
        const std::string name = range_name(begin, letter, space);
        const std::optional<std::int32_t> at = position(name, begin, before);
        if (!at) continue;
        std::int32_t segments = 0, end = 0;
        while (segments < std::ssize(after) && end < *at) end += after[segments++];
        data_.ints[name] = begin ? segments + 1 : segments;
      }
  }

  JobData& data_;
  const std::map<std::string, SegmentRequest>& requests_;
};

}  // namespace

void resegment(JobData& data, const std::map<std::string, SegmentRequest>& requests) {
  if (!requests.empty()) Resegmenter(data, requests).run();
}

void apply_resegment(Job& job, std::string_view text) {
  std::string_view rest = text;
  const std::string example = "for example --resegment ao=8,occ=3,virt=4";
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    const std::string key(item.substr(0, equals));
    const std::string_view number = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    const std::optional<std::int64_t> target = read_integer(number, 1, std::numeric_limits<std::int32_t>::max());
    if (!target) throw InputError(fmt::format("`{}` in `--resegment {}` is not kind=size", item, text), example);
    if (key != "ao" && key != "occ" && key != "virt" && key != "beta_occ" && key != "beta_virt")
      throw InputError(fmt::format("unknown kind `{}` in `--resegment {}`", key, text),
                       "known: ao, occ, virt, beta_occ, beta_virt; --segments gives the sizes of a kind one by one");
    SegmentRequest r;
    r.target = static_cast<std::int32_t>(*target);
    job.segment_requests[key] = r;
    // A target for a space replaces lists that fixed it.
    if (key != "ao")
      for (const char* list : {"mo", "moa", "mob"}) job.segment_requests.erase(list);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (job.legacy) {
    try {
      resegment(job.data, job.segment_requests);
    } catch (SialError& e) {
      if (e.where().empty()) e.set_where(job.file);
      throw;
    }
  } else {
    derive_job_data(job);
  }
}

}  // namespace sial
