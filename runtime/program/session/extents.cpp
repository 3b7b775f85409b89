#include "runtime/program/session/extents.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/job/segments.h"

namespace sial {
namespace {

/// Elements of a segment where nobody says how long they are: the same on any number of ranks.
std::int32_t usual_target(std::int32_t elements) { return std::clamp(elements / 48, 16, 256); }

struct InputShape {
  const std::vector<std::int64_t>* extents = nullptr;
  std::string from, where;
};

std::optional<InputShape> shape_of(const JobData& data, const std::string& name) {
  if (const auto source = data.sources.find(name); source != data.sources.end())
    return InputShape{&source->second.extents,
                      fmt::format("dataset `{}` in `{}`", source->second.dataset, source->second.file),
                      source->second.where};
  if (const auto array = data.arrays.find(name); array != data.arrays.end())
    return InputShape{&array->second.extents, array->second.origin, {}};
  return std::nullopt;
}

class Extents {
 public:
  explicit Extents(Job& job) : job_(job) {}

  void take(const Module& program) {
    for (const ArrayRow& array : program.arrays) {
      const std::optional<InputShape> shape = array.predefined ? shape_of(job_.data, array.name) : std::nullopt;
      if (!shape || shape->extents->size() != array.dims.size()) continue;  // what does not fit is said later
      for (std::size_t d = 0; d < array.dims.size(); ++d) {
        const IndexRow& index = program.indices[array.dims[d].at()];
        if (index.kind == IndexKind::sub || !index.hi.symbolic || !unknown(program, index.hi)) continue;
        const std::optional<std::int32_t> lo = value_of(program, index.lo);
        if (lo) take(array, index, program.ints[index.hi.value].name, *lo, (*shape->extents)[d], *shape);
      }
    }
  }

 private:
  struct Found {
    std::int32_t value = 0;
    std::string array;
  };

  std::optional<std::int32_t> value_of(const Module& program, const Bound& bound) const {
    if (!bound.symbolic) return bound.value;
    const auto known = job_.data.ints.find(program.ints[bound.value].name);
    return known == job_.data.ints.end() ? std::nullopt : std::optional(known->second);
  }

  /// Of a bound that the job does not state and nothing else says.
  bool unknown(const Module& program, const Bound& bound) const {
    const std::string& name = program.ints[bound.value].name;
    if (job_.values_of_arrays.contains(name)) return true;
    return !job_.data.ints.contains(name) &&
           !job_.data.scalars.contains(name);  // a real number is an error, said later
  }

  void take(const ArrayRow& array, const IndexRow& index, const std::string& name, std::int32_t lo, std::int64_t extent,
            const InputShape& shape) {
    if (extent < 0 || extent > 1'000'000'000) return;
    const std::optional<std::int32_t> value = index.kind == IndexKind::simple
                                                  ? std::optional(static_cast<std::int32_t>(lo + extent - 1))
                                                  : last_segment(array, index, lo, static_cast<std::int32_t>(extent));
    if (!value) refuse(array, index, extent, shape);
    const auto [known, is_new] = found_.try_emplace(name, Found{*value, array.name});
    if (!is_new && known->second.value != *value)
      throw InputError(fmt::format("`{}` is {} by the shape of the array `{}`, and {} by that of `{}`", name,
                                   known->second.value, known->second.array, *value, array.name),
                       fmt::format("are these the arrays of one job? `{}` may also be stated under [values]", name),
                       shape.where);
    if (!is_new) return;
    job_.data.ints[name] = *value;
    job_.values_of_arrays.insert(name);
    say(fmt::format("{} = {}: from the shape of the array {}", name, *value, array.name));
  }

  [[noreturn]] void refuse(const ArrayRow& array, const IndexRow& index, std::int64_t extent,
                           const InputShape& shape) const {
    const std::string kind = kind_name(index.kind),
                      what = fmt::format("{} has {} elements where the array `{}` has the index `{}`", shape.from,
                                         extent, array.name, index.name);
    if (const auto first = divided_.find(index.kind); first != divided_.end())
      throw InputError(
          fmt::format("{}, and the segments of kind {} are those of {}", what, kind, first->second),
          fmt::format(
              "do the shapes of both belong together, in this order of indices? Else state segments of kind {} that end at both",
              kind),
          shape.where);
    const auto segments = job_.data.segments.find(index.kind);
    if (segments == job_.data.segments.end())
      throw InputError(
          fmt::format("{}, which does not begin at segment 1: the segments of kind {} do not follow from the shape",
                      what, kind),
          "state them under [segments]", shape.where);
    throw InputError(
        fmt::format("{}, and no number of segments of kind {} has as many", what, kind),
        fmt::format("all indices of kind {} have these segments, from the first on: {}; state others under [segments]",
                    kind, fmt::join(segments->second, ", ")),
        shape.where);
  }

  /// Nothing where segments do not end there.
  std::optional<std::int32_t> last_segment(const ArrayRow& array, const IndexRow& index, std::int32_t lo,
                                           std::int32_t extent) {
    const IndexKind kind = index.kind;
    if (!job_.data.segments.contains(kind)) {
      if (lo != 1) return std::nullopt;
      const auto request = job_.segment_requests.find(kind_name(kind));
      const bool stated = request != job_.segment_requests.end() && request->second.target > 0;
      job_.data.segments[kind] = equal_segments(extent, stated ? request->second.target : usual_target(extent));
      divided_[kind] = fmt::format("the array `{}`, which has {} where it has `{}`", array.name, extent, index.name);
      say(fmt::format("segments {} = auto: {} of {} elements or less", kind_name(kind), job_.data.segments[kind].size(),
                      extent == 0 ? 0 : job_.data.segments[kind].front()));
    }
    const std::vector<std::int32_t>& sizes = job_.data.segments.at(kind);
    std::int32_t sum = 0, s = lo;
    for (; s >= 1 && s <= std::ssize(sizes) && sum < extent; ++s) sum += sizes[static_cast<std::size_t>(s - 1)];
    return sum == extent ? std::optional(s - 1) : std::nullopt;
  }

  void say(const std::string& line) {
    if (std::vector<std::string>& lines = job_.segment_choices;
        std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  }

  Job& job_;
  std::map<std::string, Found> found_;
  std::map<IndexKind, std::string> divided_;  // the array whose shape was divided into segments
};

}  // namespace

bool lacks_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  return std::any_of(programs.begin(), programs.end(), [&](const auto& program) {
    return std::any_of(program->ints.begin(), program->ints.end(), [&](const IntVar& v) {
      return v.predefined && (!job.data.ints.contains(v.name) || job.values_of_arrays.contains(v.name));
    });
  });
}

void take_extents(Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  Extents extents(job);
  for (const auto& program : programs) extents.take(*program);
}

}  // namespace sial
