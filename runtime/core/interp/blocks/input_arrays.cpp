#include "runtime/core/interp/blocks/input_arrays.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/checkpoint/pack.h"
#include "runtime/core/interp/blocks/array_parts.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/hdf5_file.h"

namespace sial {
namespace {

constexpr std::int64_t cache_bytes = std::int64_t{64} << 20;  // of chunks that two parts share, or one chunk

/// The extents as HDF5 lists them, the slowest first, or in the order of the program.
std::string shape_text(std::span<const std::int64_t> extents, bool in_program_order) {
  return in_program_order ? fmt::format("({})", fmt::join(extents, ", "))
                          : fmt::format("({})", fmt::join(extents.rbegin(), extents.rend(), ", "));
}

Extents declared_extents(const BoundArray& array) {
  return {array.whole.extent.begin(), array.whole.extent.begin() + array.rank};
}

/// An error in an array's values, at an element of the array; before all elements: it cannot be read.
struct Finding {
  std::int64_t element = -1;
  std::string message, hint;
};

/// A rank's message to the others about its share.
std::vector<std::byte> pack(std::uint64_t sum, const std::optional<Finding>& finding) {
  Packer p;
  p.value(sum);
  p.value(finding.has_value());
  p.value(finding ? finding->element : 0);
  p.text(finding ? finding->message : std::string());
  p.text(finding ? finding->hint : std::string());
  const auto bytes = std::as_bytes(std::span(p.bytes()));
  return {bytes.begin(), bytes.end()};
}

/// Reads an array that the job gives, from memory or from its dataset, part by part, and looks at the values.
class InputValues {
 public:
  InputValues(const BoundArray& array, const DataArray* data, const ArraySource* source)
      : array_(array), data_(data), source_(source) {}

  std::string name() const {
    return data_ ? data_->origin : fmt::format("dataset `{}` in `{}`", source_->dataset, source_->file);
  }
  /// Opens a dataset that is in the file.
  Extents chunk() {
    if (data_) return {};
    return Hdf5Dataset(source_->file, source_->dataset, 0).chunk();
  }
  void open(std::int64_t cache) {
    if (source_)
      dataset_ = std::make_unique<Hdf5Dataset>(source_->file, source_->dataset, static_cast<std::size_t>(cache));
  }

  void read(std::span<const SegmentGroup> part, std::vector<double>& out) {
    Extents first, count;
    for (const SegmentGroup& g : part) {
      first.push_back(g.offset);
      count.push_back(g.extent);
    }
    if (dataset_) dataset_->read(first, count, out.data());
    else if (data_->fill) data_->fill(first, count, out.data());
    else copy_from_memory(first, count, out.data());
    look_at(first, count, out);
  }
  /// The sum of all elements that were read, with their places; sums of several ranks add up.
  std::uint64_t sum() const { return sum_; }
  const std::optional<Finding>& finding() const { return finding_; }
  void failed(const SialError& error) { finding_ = {-1, error.what(), error.hint()}; }

 private:
  void copy_from_memory(const Extents& first, const Extents& count, double* out) const {
    const std::int64_t n = std::accumulate(count.begin(), count.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t rest = i, at = 0;
      for (std::size_t d = 0; d < count.size(); ++d) {
        at += (first[d] + rest % count[d]) * array_.stride[d];
        rest /= count[d];
      }
      out[i] = data_->data[static_cast<std::size_t>(at)];
    }
  }

  /// Looks for what is no number, row by row, and sums up.
  void look_at(const Extents& first, const Extents& count, std::span<const double> values) {
    // Doubles hold the integers of lesser amount; of a larger one it is not known what was rounded.
    const double most = dataset_ && dataset_->has_wide_integers() ? 9007199254740991.0  // 2^53 - 1
                                                                  : std::numeric_limits<double>::max();
    const auto row = static_cast<std::size_t>(count[0]);
    for (std::size_t begin = 0; begin < values.size(); begin += row) {
      std::uint64_t factor = static_cast<std::uint64_t>(element_at(begin, first, count)) * sum_step + 1;
      bool good = true;
      for (std::size_t i = begin; i < begin + row; ++i) {
        good &= std::abs(values[i]) <= most;
        sum_ += std::bit_cast<std::uint64_t>(values[i]) * factor;
        factor += sum_step;
      }
      for (std::size_t i = begin; !good && i < begin + row; ++i)
        if (!(std::abs(values[i]) <= most)) found(i, values[i], first, count);
    }
  }

  /// Number of an element of the array, of the i-th one of a part.
  std::int64_t element_at(std::size_t i, const Extents& first, const Extents& count) const {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t element = 0;
    for (std::size_t d = 0; d < count.size(); ++d) {
      element += (first[d] + rest % count[d]) * array_.stride[d];
      rest /= count[d];
    }
    return element;
  }

  void found(std::size_t i, double value, const Extents& first, const Extents& count) {
    const std::int64_t element = element_at(i, first, count);
    Extents index;
    for (std::size_t d = 0; d < count.size(); ++d)
      index.push_back(element / array_.stride[d] % std::max<std::int64_t>(array_.whole.extent[d], 1));
    if (finding_ && finding_->element <= element) return;
    const bool wide = std::isfinite(value);
    if (!data_ || !data_->in_program_order) std::reverse(index.begin(), index.end());
    finding_ = {
        element,
        fmt::format("{} of the array `{}` holds {} at [{}]{}", name(), array_.name,
                    wide                ? fmt::format("{:.0f}", value)
                    : std::isnan(value) ? "NaN"
                                        : "an infinity",
                    fmt::join(index, ", "),
                    wide ? ", and integers of 2^53 and more are not exact in the program" : " (counted from 0)"),
        wide ? "store the values as float64, if they may be rounded" : "were all values written?"};
  }

  const BoundArray& array_;
  const DataArray* data_;
  const ArraySource* source_;
  std::unique_ptr<Hdf5Dataset> dataset_;
  std::optional<Finding> finding_;
  std::uint64_t sum_ = 0;
  static constexpr std::uint64_t sum_step = 0x9e3779b97f4a7c16;  // even: all factors are odd
};

}  // namespace

std::set<std::string> arrays_read_in_parts(std::span<const std::shared_ptr<const Module>> programs) {
  std::set<std::string> in_parts, whole;
  for (const auto& program : programs)
    for (const ArrayRow& a : program->arrays)
      if (a.predefined) (is_remote(a.kind) ? in_parts : whole).insert(a.name);
  std::erase_if(in_parts, [&](const std::string& name) { return whole.contains(name); });
  return in_parts;
}

void read_whole_arrays(JobData& data, std::span<const std::shared_ptr<const Module>> programs) {
  for (const auto& program : programs) {
    BoundProgram bound;
    try {
      bound = bind_program(*program, data);
    } catch (const SialError&) { continue; }  // said when the program begins
    for (std::size_t a = 0; a < bound.arrays.size(); ++a) {
      const BoundArray& array = bound.arrays[a];
      const auto source = data.sources.find(array.name);
      if (!array.predefined || array.kind != ArrayKind::static_ || !bound.array_used[a] || !array.problem.empty() ||
          source == data.sources.end())
        continue;
      double most = 1, input = 1;  // whatever segments are chosen later
      for (int d = 0; d < array.rank; ++d) {
        const std::vector<std::int32_t>* all = bound.indices[array.dim[d].index.at()].extents;
        most *= all ? std::accumulate(all->begin(), all->end(), 0.0) : static_cast<double>(array.dim[d].count());
      }
      for (const std::int64_t extent : source->second.extents) input *= static_cast<double>(extent);
      if (input <= most) continue;
      throw InputError(
          fmt::format(
              "dataset `{}` in `{}` has the shape {}, and program `{}` declares the static array `{}`, which takes {}",
              source->second.dataset, source->second.file, shape_text(source->second.extents, false), program->program,
              array.name, shape_text(declared_extents(array), false)),
          "check the segments against the data; the extents of a dataset come in reverse order: `a[i,j]` takes (extent of j, extent of i)",
          source->second.where);
    }
  }
  read_arrays(data, arrays_read_in_parts(programs));
}

void InputArrays::fill(Statement here) const {
  const std::vector<ArrayId> input = remote_input_arrays(context_.bound);
  if (input.empty()) return;
  for (const ArrayId array : input) fill(array, here);
  context_.env.store.synchronization().barrier(context_.place(here));
  context_.env.queue.new_phase(++context_.env.state.phase);
}

void InputArrays::fill(ArrayId id, Statement here) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  const JobData& job = context_.env.job;
  const auto data = job.arrays.find(array.name);
  const auto source = job.sources.find(array.name);
  const std::string kind(array_kind_text(array.kind));
  if (data == job.arrays.end() && source == job.sources.end())
    throw InputError(
        fmt::format("program `{}` needs the predefined {} array `{}`, and the job does not give it",
                    context_.module.program, kind, array.name),
        fmt::format("name its dataset under [arrays] in the job file: {} = {{file = \"data.h5\", dataset = \"{}\"}}",
                    array.name, array.name),
        context_.place_name(here));
  const bool in_memory = data != job.arrays.end();
  InputValues values(array, in_memory ? &data->second : nullptr, in_memory ? nullptr : &source->second);
  const std::string where = in_memory ? std::string() : source->second.where;
  const Extents declared = declared_extents(array);
  Extents input = in_memory ? data->second.extents : source->second.extents;
  while (std::ssize(input) > array.rank && input.back() == 1) input.pop_back();  // as legacy files pad their arrays
  const bool in_program_order = in_memory && data->second.in_program_order;
  if (input != declared)
    throw InputError(
        fmt::format("{} has the shape {}, and program `{}` declares the {} array `{}`, which takes {}", values.name(),
                    shape_text(in_memory ? data->second.extents : source->second.extents, in_program_order),
                    context_.module.program, kind, array.name, shape_text(declared, in_program_order)),
        in_program_order
            ? "check the segments against the data"
            : "check the segments against the data; the extents of a dataset come in reverse order: `a[i,j]` takes (extent of j, extent of i)",
        where.empty() ? context_.place_name(here) : where);

  // A sparse array has no blocks that are zero. With a cost model their values are not known: all are there.
  const bool sparse = context_.module.arrays[id.at()].sparse && !context_.model;
  Transport& transport = context_.env.transport;
  const std::int64_t bytes = bytes_of_parts(array, transport.size());
  try {
    const Extents chunk = context_.model ? Extents() : values.chunk();
    const ArrayParts parts(array, chunk, bytes);
    const std::int64_t rank = transport.rank(), ranks = transport.size();
    const std::int64_t begin = parts.count() * rank / ranks, end = parts.count() * (rank + 1) / ranks;
    if (begin < end && !context_.model) values.open(parts.bytes_of_chunks(chunk, cache_bytes));
    // A part is read from a file while the blocks of the one before are made.
    const auto when = in_memory ? std::launch::deferred : std::launch::async | std::launch::deferred;
    struct Part {
      std::vector<SegmentGroup> groups;
      std::vector<double> values;
    };
    Part now, next;
    const auto read = [&](std::int64_t n, Part& into) {
      into.groups = parts.part(n);
      into.values.resize(static_cast<std::size_t>(size_of(into.groups)));
      const bool has_values = !into.values.empty() && !context_.model;
      return std::async(has_values ? when : std::launch::deferred, [&values, &into, has_values] {
        if (has_values) values.read(into.groups, into.values);
      });
    };
    std::future<void> reading;
    if (begin < end) reading = read(begin, next);
    std::vector<double> block;
    for (std::int64_t n = begin; n < end; ++n) {
      reading.get();
      std::swap(now, next);
      const bool good = !values.finding();
      if (n + 1 < end) reading = read(n + 1, next);
      if (!good) continue;
      walk_part(array, now.groups, [&](const BlockAt& b) {
        const bool whole = b.size == std::ssize(now.values);
        if (!whole) {
          block.resize(static_cast<std::size_t>(b.size));
          if (b.size > 0 && !context_.model) copy_from_part(array, b, now.groups, now.values.data(), block.data());
        }
        const std::vector<double>& values_of_block = whole ? now.values : block;
        if (sparse && std::all_of(values_of_block.begin(), values_of_block.end(), [](double x) { return x == 0; }))
          return;
        context_.env.store.snapshots().load_array_block(id, b.block, values_of_block);
      });
      context_.env.store.fetch().end_statement();
    }
  } catch (const InputError& error) { values.failed(error); }

  std::optional<Finding> first;
  std::uint64_t sum = 0;
  for (const auto& bytes_there :
       transport.all_gather(pack(values.sum(), values.finding()), {CollectiveKind::gather, context_.place(here)})) {
    Unpacker u(bytes_there);
    sum += u.value<std::uint64_t>();
    const bool found = u.value<bool>();
    Finding theirs;
    theirs.element = u.value<std::int64_t>();
    theirs.message = u.text();
    theirs.hint = u.text();
    if (found && (!first || theirs.element < first->element)) first = std::move(theirs);
  }
  if (first)
    throw InputError(first->element < 0 ? fmt::format("array `{}`: {}", array.name, first->message) : first->message,
                     first->hint, where.empty() ? context_.place_name(here) : where);
  // Another program of the job has read it before this one, perhaps in a run that this one goes on from.
  const auto [earlier, is_new] = context_.env.state.input_checksums.emplace(array.name, sum);
  if (!is_new && earlier->second != sum)
    throw InputError(fmt::format("{}, of the array `{}`, has changed since an earlier program of the job read it",
                                 values.name(), array.name),
                     "run the job again from its beginning", where.empty() ? context_.place_name(here) : where);
}

}  // namespace sial
