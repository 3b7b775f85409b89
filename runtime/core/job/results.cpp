#include "runtime/core/job/results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <numeric>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/formats.h"
#include "runtime/core/base/number.h"
#include "runtime/core/base/rows.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr double read_whole = 1 << 24;                // elements of an array that is kept for all its blocks
constexpr std::size_t max_described_segments = 8000;  // of a static array: an attribute holds 64 kB

/// Labels and names may hold what HDF5 reserves, a NUL, at which it would cut them, or what terminals obey.
std::string encode(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    out += c == '/' || c == '%' || c == '.' || code < 0x20 || code == 0x7F ? fmt::format("%{:02X}", code)
                                                                           : std::string(1, c);
  }
  return out.empty() ? "%" : out;
}

std::string decode(const std::string& name) {
  if (name == "%") return {};
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto code = name[i] == '%' && i + 2 < name.size() ? read_hexadecimal(std::string_view(name).substr(i + 1, 2))
                                                            : std::nullopt;
    if (code) {
      out += static_cast<char>(*code);
      i += 2;
    } else {
      out += name[i];
    }
  }
  return out;
}

std::vector<std::int64_t> dense_extents(const SavedLayout& layout) {
  std::vector<std::int64_t> extents;
  for (const auto& e : layout.extents) extents.push_back(std::accumulate(e.begin(), e.end(), std::int64_t{0}));
  return extents;
}

double size_of(const SavedLayout& layout) {
  double size = 1.0;
  for (const std::int64_t e : dense_extents(layout)) size *= static_cast<double>(e);
  return size;
}

/// The place of a block in the dense array.
struct Box {
  int rank = 0;
  std::array<std::int64_t, max_rank> first{}, extent{}, stride{};
  std::int64_t offset = 0, size = 1;
};

Box box_of(const SavedLayout& layout, const BlockIndex& block) {
  Box box;
  box.rank = static_cast<int>(layout.extents.size());
  std::int64_t stride = 1;
  for (int d = 0; d < box.rank; ++d) {
    const std::vector<std::int64_t>& e = layout.extents[d];
    const std::int64_t segment = std::int64_t{block.segment[d]} - layout.first_segment[d];
    SIAL_CHECK(block.rank == box.rank && segment >= 0 && segment < std::ssize(e), "block outside array {}",
               layout.array);
    box.extent[d] = e[segment];
    box.stride[d] = stride;
    box.first[d] = std::accumulate(e.begin(), e.begin() + segment, std::int64_t{0});
    box.offset += stride * box.first[d];
    box.size *= box.extent[d];
    stride *= std::accumulate(e.begin(), e.end(), std::int64_t{0});
  }
  return box;
}

/// Calls body(position in the dense array, position in the block, number) for every row of elements.
template <class Body>
void rows_of(const Box& box, Body body) {
  const auto rank = static_cast<std::size_t>(box.rank);
  for_rows(std::span(box.extent).first(rank), std::span(box.stride).first(rank),
           [&](std::int64_t place, std::int64_t i, std::int64_t n) { body(box.offset + place, i, n); });
}

std::string block_name(const BlockIndex& block) {
  return fmt::format("{}", fmt::join(block.segment.begin(), block.segment.begin() + block.rank, "."));
}

}  // namespace

bool is_possible(const SavedLayout& layout) {
  const std::size_t rank = layout.extents.size();
  if (rank == 0 || rank > max_rank || layout.first_segment.size() != rank) return false;
  std::int64_t size = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t sum = 0;
    for (const std::int64_t e : layout.extents[d])
      if (e < 0 || __builtin_add_overflow(sum, e, &sum)) return false;
    if (sum > 0 && __builtin_mul_overflow(size, sum, &size)) return false;
    if (layout.first_segment[d] + std::ssize(layout.extents[d]) > std::numeric_limits<std::int32_t>::max())
      return false;
  }
  return true;
}

std::int64_t block_size(const SavedLayout& layout, const BlockIndex& block) {
  if (block.rank != std::ssize(layout.extents)) return -1;
  std::int64_t size = 1;
  for (int d = 0; d < max_rank; ++d) {
    if (d >= block.rank) {
      if (block.segment[d] != 0) return -1;
      continue;
    }
    const std::int64_t segment = std::int64_t{block.segment[d]} - layout.first_segment[d];
    if (segment < 0 || segment >= std::ssize(layout.extents[d])) return -1;
    size *= layout.extents[d][segment];
  }
  return size;
}

ResultsWriter::ResultsWriter(const std::string& path, std::int64_t dense_limit)
    : part_(
          [&] {
            std::error_code error;
            const fs::path folder = fs::path(link_end(path)).parent_path();
            if (!folder.empty()) fs::create_directories(folder, error);
            if (error) throw EnvironmentError(fmt::format("cannot make the folder of `{}`: {}", path, error.message()));
            return path;
          }(),
          "is the disk full, or the folder read-only?"),
      dense_limit_(dense_limit),
      file_(Hdf5File::create(part_)) {
  for (const char* group :
       {"scalars", "ints", "statics", "saved", "saved/scalars", "saved/statics", "saved/arrays", "saved/blocks"})
    file_.make_group(group);
}

void ResultsWriter::about(const std::string& version, std::int64_t created,
                          const std::map<std::string, std::vector<std::int32_t>>& segments, const std::string& stamp) {
  file_.set_attribute("/", "format", std::string("sialx results"));
  file_.set_attribute("/", "format_version", std::int64_t{results_format});
  file_.set_attribute("/", "sialx_version", version);
  file_.set_attribute("/", "created",
                      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(created))));
  file_.set_attribute("/", "units", std::string("atomic units: energies in hartree, lengths in bohr"));
  file_.set_attribute(
      "/", "storage_order",
      std::string("x[i,j] of a program is element [j,i] of its dataset: extents are listed slowest first"));
  if (!stamp.empty()) file_.set_attribute("/", "stamp", stamp);
  file_.make_group("segments");
  for (const auto& [kind, extents] : segments) {
    const std::vector<std::int64_t> wide(extents.begin(), extents.end());
    file_.write("segments/" + kind, std::vector<std::int64_t>{std::ssize(wide)}, std::span<const std::int64_t>(wide));
  }
}

void ResultsWriter::program(const ProgramDescription& description) {
  program_ = description;
  for (const auto& [label, array] : description.saved) saved_[label] = array;
  program_group_ = fmt::format("programs/{}_{}", ++programs_, encode(description.name));
  file_.make_group("programs");
  file_.make_group(program_group_);
  file_.set_attribute(program_group_, "name", description.name);
  file_.set_attribute(program_group_, "source_hash", description.source_hash);
}

/// The target of an item of the current program. Modules that it imports may give one name to items of different kinds.
std::string ResultsWriter::place(const std::string& name) const {
  SIAL_CHECK(!program_group_.empty(), "{} belongs to no program", name);
  std::string path = program_group_ + "/" + encode(name);
  while (file_.exists(path)) path += "'";
  return path;
}

void ResultsWriter::scalar(const std::string& name, double value) {
  file_.write(scalars_[name] = place(name), std::vector<std::int64_t>{}, std::span<const double>(&value, 1));
}

void ResultsWriter::integer(const std::string& name, std::int64_t value) {
  file_.write(ints_[name] = place(name), std::vector<std::int64_t>{}, std::span<const std::int64_t>(&value, 1));
}

void ResultsWriter::static_array(const std::string& name, const DataArray& array) {
  const std::string path = place(name);
  file_.write(path, array.extents, std::span<const double>(array.data));
  if (const auto found = program_.statics.find(name); found != program_.statics.end())
    describe_static(path, found->second);
  statics_[name] = path;
}

void ResultsWriter::describe_static(const std::string& object, const ArrayDescription& array) {
  std::size_t n = 0;
  for (const auto& extents : array.extents) n += extents.size();
  describe(object, array);
  if (n <= max_described_segments) describe_segments(object, array.first_segment, array.extents);
}

void ResultsWriter::describe(const std::string& object, const ArrayDescription& array) {
  const auto joined = [](const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ",")); };
  file_.set_attribute(object, "declared", array.declared);
  file_.set_attribute(object, "indices", joined(array.indices));
  file_.set_attribute(object, "index_kinds", joined(array.kinds));
}

void ResultsWriter::describe_segments(const std::string& object, std::span<const std::int32_t> first_segment,
                                      std::span<const std::vector<std::int64_t>> segments) {
  const std::vector<std::int64_t> first(first_segment.begin(), first_segment.end());
  std::vector<std::int64_t> count, extents;
  for (const auto& e : segments) {
    count.push_back(std::ssize(e));
    extents.insert(extents.end(), e.begin(), e.end());
  }
  file_.set_attribute(object, "first_segment", first);
  file_.set_attribute(object, "n_segments", count);
  file_.set_attribute(object, "segment_extents", extents);
}

void ResultsWriter::saved_scalar(const std::string& label, double value) { saved_scalars_[label] = value; }

void ResultsWriter::saved_static(const std::string& label, const DataArray& array) {
  const std::string path = "saved/statics/" + encode(label);
  file_.write(path, array.extents, std::span<const double>(array.data));
  if (const auto found = saved_.find(label); found != saved_.end() && found->second.declared == "static")
    describe_static(path, found->second);
}

void ResultsWriter::property(const std::string& name, std::span<const double> values, const std::string& units) {
  file_.make_group("properties");
  file_.write("properties/" + name, std::vector<std::int64_t>{std::ssize(values)}, values);
  file_.set_attribute("properties/" + name, "units", units);
}

void ResultsWriter::begin_saved(const std::string& label, const SavedLayout& layout, std::optional<bool> plain) {
  SIAL_CHECK(label_.empty() && layout.first_segment.size() == layout.extents.size(), "saved array {}", label);
  label_ = "saved/arrays/" + encode(label);
  saved_label_ = label;
  layout_ = layout;
  blocks_.clear();
  is_dense_ = plain.value_or(size_of(layout) <= static_cast<double>(dense_limit_));
  values_ = {};
  if (is_dense_) values_ = {part_.part_path(), file_.reserve(label_, dense_extents(layout))};
  else file_.make_group(label_);
}

void ResultsWriter::has_block(const BlockIndex& block) {
  blocks_.insert(blocks_.end(), block.segment.begin(), block.segment.begin() + block.rank);
}

void ResultsWriter::write_values(std::int64_t first, std::span<const double> data) {
  file_.write_raw(part_.descriptor(), values_.offset + first * std::int64_t{sizeof(double)}, std::as_bytes(data));
}

void ResultsWriter::saved_block(const BlockIndex& block, std::span<const double> data) {
  Box box = box_of(layout_, block);
  SIAL_CHECK(box.size == std::ssize(data), "block of {} elements, {} expected", data.size(), box.size);
  has_block(block);
  if (is_dense_)
    rows_of(box, [&](std::int64_t position, std::int64_t i, std::int64_t n) {
      write_values(position, data.subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(n)));
    });
  else file_.write(label_ + "/" + block_name(block), std::span<const std::int64_t>(box.extent.data(), box.rank), data);
}

void ResultsWriter::end_saved() {
  file_.set_attribute(label_, "array", layout_.array);
  describe_segments(label_, layout_.first_segment, layout_.extents);
  if (const auto found = saved_.find(saved_label_); found != saved_.end()) describe(label_, found->second);
  std::int64_t rank = std::ssize(layout_.extents);
  file_.write("saved/blocks/" + label_.substr(std::string("saved/arrays/").size()),
              std::vector<std::int64_t>{rank, std::ssize(blocks_) / rank}, std::span<const std::int64_t>(blocks_));
  label_.clear();
}

void ResultsWriter::finish() {
  SIAL_CHECK(label_.empty(), "array {} is not ended", label_);
  const std::vector<std::int64_t> single;
  for (const auto& [label, value] : saved_scalars_) {
    file_.write("saved/scalars/" + encode(label), single, std::span<const double>(&value, 1));
    scalars_[label] = "saved/scalars/" + encode(label);
  }
  const auto link = [&](const std::string& group, const std::map<std::string, std::string>& paths) {
    for (const auto& [name, path] : paths) file_.link(path, group + encode(name));
  };
  link("scalars/", scalars_);
  link("ints/", ints_);
  link("statics/", statics_);
  file_.close();
  part_.finish(Durability::on_disk);
}

ResultsReader::ResultsReader(const std::string& path) : path_(path), file_(Hdf5File::open(path)) {
  if (!file_.exists("saved/blocks"))
    throw InputError(fmt::format("`{}` is not a results file", path), "restore reads the results.h5 of an earlier job");
}

std::map<std::string, double> ResultsReader::saved_scalars() const {
  std::map<std::string, double> values;
  for (const std::string& name : file_.list("saved/scalars")) {
    std::vector<double> value = file_.read("saved/scalars/" + name);
    if (value.size() != 1)
      throw InputError(fmt::format("saved scalar `{}` in `{}` has {} elements", decode(name), path_, value.size()));
    values[decode(name)] = value[0];
  }
  return values;
}

std::map<std::string, DataArray> ResultsReader::saved_statics() const {
  std::map<std::string, DataArray> arrays;
  for (const std::string& name : file_.list("saved/statics")) {
    std::string dataset = "saved/statics/" + name;
    arrays[decode(name)] = {file_.extents(dataset), file_.read(dataset), path_ + ":" + decode(name)};
  }
  return arrays;
}

std::map<std::string, std::vector<std::int32_t>> ResultsReader::segments() const {
  std::map<std::string, std::vector<std::int32_t>> all;
  if (!file_.exists("segments")) return all;
  for (const std::string& kind : file_.list("segments")) all[kind] = file_.read_ints("segments/" + kind);
  return all;
}

std::vector<std::string> ResultsReader::saved_arrays() const {
  std::vector<std::string> labels;
  for (const std::string& name : file_.list("saved/arrays")) labels.push_back(decode(name));
  return labels;
}

SavedLayout ResultsReader::layout(const std::string& label) const {
  std::string object = "saved/arrays/" + encode(label);
  if (!file_.exists(object))
    throw InputError(fmt::format("`{}` has no saved array `{}`", path_, label),
                     fmt::format("it has: {}", fmt::join(saved_arrays(), ", ")));
  std::vector<std::int64_t> first = file_.attribute_ints(object, "first_segment"),
                            count = file_.attribute_ints(object, "n_segments"),
                            extents = file_.attribute_ints(object, "segment_extents");
  SavedLayout result;
  result.array = label;
  result.first_segment.assign(first.begin(), first.end());
  std::size_t at = 0;
  bool fits = first.size() == count.size() && !first.empty() && first.size() <= max_rank;
  for (std::size_t d = 0; fits && d < count.size(); ++d) {
    fits = count[d] >= 0 && static_cast<std::size_t>(count[d]) <= extents.size() - at &&
           first[d] >= std::numeric_limits<std::int32_t>::min() && first[d] <= std::numeric_limits<std::int32_t>::max();
    if (fits)
      result.extents.emplace_back(extents.begin() + static_cast<std::ptrdiff_t>(at),
                                  extents.begin() + static_cast<std::ptrdiff_t>(at + count[d]));
    if (fits) at += static_cast<std::size_t>(count[d]);
  }
  if (!fits || at != extents.size() || !is_possible(result))
    throw InputError(fmt::format("the layout of saved array `{}` in `{}` is damaged", label, path_));
  return result;
}

std::vector<BlockIndex> ResultsReader::blocks(const std::string& label) const {
  SavedLayout l = layout(label);
  std::vector<std::int32_t> numbers = file_.read_ints("saved/blocks/" + encode(label));
  std::size_t rank = l.extents.size();
  std::vector<BlockIndex> result;
  bool fits = numbers.size() % rank == 0;
  for (std::size_t i = 0; fits && i < numbers.size(); i += rank) {
    BlockIndex b;
    b.rank = static_cast<std::int32_t>(rank);
    for (std::size_t d = 0; d < rank; ++d) b.segment[d] = numbers[i + d];
    fits = block_size(l, b) >= 0;
    result.push_back(b);
  }
  if (!fits) throw InputError(fmt::format("the list of blocks of saved array `{}` in `{}` is damaged", label, path_));
  return result;
}

std::vector<double> ResultsReader::block(const std::string& label, const BlockIndex& block) {
  std::string object = "saved/arrays/" + encode(label), dataset = object + "/" + block_name(block);
  if (cached_label_ != label || cached_layout_.extents.empty()) {
    cached_layout_ = layout(label);
    cached_label_ = label;
    cached_.clear();
    plain_.reset();
    bool by_blocks = file_.exists(dataset);
    if (!by_blocks) {
      if (file_.extents(object) != dense_extents(cached_layout_))
        throw InputError(fmt::format("saved array `{}` in `{}` does not have the shape of its layout", label, path_));
      if (size_of(cached_layout_) <= read_whole) cached_ = file_.read(object);
      else plain_ = std::make_unique<Hdf5Dataset>(path_, object, 0);
    }
  }
  Box box = box_of(cached_layout_, block);
  std::vector<double> data;
  if (!cached_.empty()) {
    data.resize(static_cast<std::size_t>(box.size));
    rows_of(box, [&](std::int64_t position, std::int64_t i, std::int64_t n) {
      std::copy_n(cached_.begin() + position, n, data.begin() + i);
    });
  } else if (plain_) {
    data.resize(static_cast<std::size_t>(box.size));
    if (box.size > 0)
      plain_->read(std::span(box.first.data(), static_cast<std::size_t>(box.rank)),
                   std::span(box.extent.data(), static_cast<std::size_t>(box.rank)), data.data());
  } else if (box.size > 0) {
    data = file_.read(dataset);
    if (std::ssize(data) != box.size)
      throw InputError(fmt::format("a block of saved array `{}` in `{}` has the wrong size", label, path_));
  }
  return data;
}

}  // namespace sial
