#include "runtime/job/results.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

/// Labels and names may hold what HDF5 reserves.
std::string encode(const std::string& name) {
  std::string out;
  for (char c : name) out += c == '/' || c == '%' || c == '.' ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  return out.empty() ? "%" : out;
}

std::string decode(const std::string& name) {
  if (name == "%") return {};
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%' && i + 2 < name.size()) {
      out += static_cast<char>(std::stoi(name.substr(i + 1, 2), nullptr, 16));
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

/// Where a block lies in the dense array.
struct Box {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{1, 1, 1, 1, 1, 1}, stride{};
  std::int64_t offset = 0, size = 1;
};

Box box_of(const SavedLayout& layout, const BlockIndex& block) {
  Box box;
  box.rank = static_cast<int>(layout.extents.size());
  std::int64_t stride = 1;
  for (int d = 0; d < box.rank; ++d) {
    const std::vector<std::int64_t>& e = layout.extents[d];
    std::int64_t segment = block.segment[d] - layout.first_segment[d];
    SIAL_CHECK(block.rank == box.rank && segment >= 0 && segment < std::ssize(e), "block outside array {}", layout.array);
    box.extent[d] = e[segment];
    box.stride[d] = stride;
    box.offset += stride * std::accumulate(e.begin(), e.begin() + segment, std::int64_t{0});
    box.size *= box.extent[d];
    stride *= std::accumulate(e.begin(), e.end(), std::int64_t{0});
  }
  return box;
}

/// Calls body(position in the dense array, position in the block) for every element.
template <class Body>
void for_box(const Box& box, Body body) {
  std::array<std::int64_t, max_rank> at{};
  for (std::int64_t i = 0; i < box.size; ++i) {
    std::int64_t position = box.offset;
    for (int d = 0; d < box.rank; ++d) position += at[d] * box.stride[d];
    body(position, i);
    for (int d = 0; d < box.rank && ++at[d] == box.extent[d]; ++d) at[d] = 0;
  }
}

std::string block_name(const BlockIndex& block) { return fmt::format("{}", fmt::join(block.segment.begin(), block.segment.begin() + block.rank, ".")); }

}  // namespace

ResultsWriter::ResultsWriter(const std::string& path, std::int64_t dense_limit)
    : part_(path), dense_limit_(dense_limit), file_([&] {
        std::error_code error;
        fs::path folder = fs::path(part_.name()).parent_path();
        if (!folder.empty()) fs::create_directories(folder, error);
        if (error) throw WorldError(fmt::format("cannot make the folder of `{}`: {}", path, error.message()));
        return Hdf5File::create(part_.name());
      }()) {
  for (const char* group : {"scalars", "ints", "statics", "saved", "saved/scalars", "saved/statics", "saved/arrays", "saved/blocks"}) file_.make_group(group);
}

void ResultsWriter::saved_scalar(const std::string& label, double value) { saved_scalars_[label] = value; }

void ResultsWriter::saved_static(const std::string& label, const DataArray& array) { file_.write("saved/statics/" + encode(label), array.extents, std::span<const double>(array.data)); }

void ResultsWriter::begin_saved(const std::string& label, const SavedLayout& layout) {
  SIAL_CHECK(label_.empty() && layout.first_segment.size() == layout.extents.size(), "saved array {}", label);
  label_ = "saved/arrays/" + encode(label);
  layout_ = layout;
  blocks_.clear();
  double size = 1.0;
  for (std::int64_t e : dense_extents(layout)) size *= static_cast<double>(e);
  is_dense_ = size <= static_cast<double>(dense_limit_);
  if (is_dense_) dense_.assign(static_cast<std::size_t>(size), 0.0);
  else file_.make_group(label_);
}

void ResultsWriter::saved_block(const BlockIndex& block, std::span<const double> data) {
  Box box = box_of(layout_, block);
  SIAL_CHECK(box.size == std::ssize(data), "block of {} elements, {} expected", data.size(), box.size);
  blocks_.insert(blocks_.end(), block.segment.begin(), block.segment.begin() + block.rank);
  if (is_dense_) for_box(box, [&](std::int64_t position, std::int64_t i) { dense_[position] = data[i]; });
  else file_.write(label_ + "/" + block_name(block), std::span<const std::int64_t>(box.extent.data(), box.rank), data);
}

void ResultsWriter::end_saved() {
  if (is_dense_) file_.write(label_, dense_extents(layout_), std::span<const double>(dense_));
  std::vector<std::int64_t> first(layout_.first_segment.begin(), layout_.first_segment.end()), count, extents;
  for (const auto& e : layout_.extents) {
    count.push_back(std::ssize(e));
    extents.insert(extents.end(), e.begin(), e.end());
  }
  file_.set_attribute(label_, "array", layout_.array);
  file_.set_attribute(label_, "first_segment", first);
  file_.set_attribute(label_, "n_segments", count);
  file_.set_attribute(label_, "segment_extents", extents);
  std::int64_t rank = std::ssize(layout_.extents);
  file_.write("saved/blocks/" + label_.substr(std::string("saved/arrays/").size()), std::vector<std::int64_t>{rank, std::ssize(blocks_) / rank}, std::span<const std::int64_t>(blocks_));
  dense_ = {};
  label_.clear();
}

void ResultsWriter::finish() {
  SIAL_CHECK(label_.empty(), "array {} is not ended", label_);
  const std::vector<std::int64_t> single;
  auto write_scalars = [&](const char* group, const std::map<std::string, double>& values) {
    for (const auto& [name, value] : values) file_.write(group + encode(name), single, std::span<const double>(&value, 1));
  };
  write_scalars("saved/scalars/", saved_scalars_);
  for (const auto& [label, value] : saved_scalars_) scalars_[label] = value;
  write_scalars("scalars/", scalars_);
  for (const auto& [name, value] : ints_) file_.write("ints/" + encode(name), single, std::span<const std::int64_t>(&value, 1));
  for (const auto& [name, array] : statics_) file_.write("statics/" + encode(name), array.extents, std::span<const double>(array.data));
  file_.close();
  part_.finish();
}

ResultsReader::ResultsReader(const std::string& path) : path_(path), file_(Hdf5File::open(path)) {
  if (!file_.exists("saved/blocks")) throw SialError(fmt::format("`{}` is not a results file", path), "restore reads the results.h5 of an earlier job");
}

std::map<std::string, double> ResultsReader::saved_scalars() const {
  std::map<std::string, double> values;
  for (const std::string& name : file_.list("saved/scalars")) {
    std::vector<double> value = file_.read("saved/scalars/" + name);
    if (value.size() != 1) throw SialError(fmt::format("saved scalar `{}` in `{}` has {} elements", decode(name), path_, value.size()));
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

std::vector<std::string> ResultsReader::saved_arrays() const {
  std::vector<std::string> labels;
  for (const std::string& name : file_.list("saved/arrays")) labels.push_back(decode(name));
  return labels;
}

SavedLayout ResultsReader::layout(const std::string& label) const {
  std::string object = "saved/arrays/" + encode(label);
  if (!file_.exists(object)) throw SialError(fmt::format("`{}` has no saved array `{}`", path_, label), fmt::format("it has: {}", fmt::join(saved_arrays(), ", ")));
  std::vector<std::int64_t> first = file_.attribute_ints(object, "first_segment"), count = file_.attribute_ints(object, "n_segments"), extents = file_.attribute_ints(object, "segment_extents");
  SavedLayout result;
  result.array = label;
  result.first_segment.assign(first.begin(), first.end());
  std::size_t at = 0;
  bool fits = first.size() == count.size() && !first.empty() && first.size() <= max_rank;
  for (std::size_t d = 0; fits && d < count.size(); ++d) {
    fits = count[d] >= 0 && at + static_cast<std::size_t>(count[d]) <= extents.size();
    if (fits) result.extents.emplace_back(extents.begin() + static_cast<std::ptrdiff_t>(at), extents.begin() + static_cast<std::ptrdiff_t>(at + count[d]));
    at += static_cast<std::size_t>(count[d]);
  }
  if (!fits || at != extents.size()) throw SialError(fmt::format("the layout of saved array `{}` in `{}` is damaged", label, path_));
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
    for (std::size_t d = 0; d < rank; ++d) {
      b.segment[d] = numbers[i + d];
      std::int64_t segment = b.segment[d] - l.first_segment[d];
      fits = fits && segment >= 0 && segment < std::ssize(l.extents[d]);
    }
    result.push_back(b);
  }
  if (!fits) throw SialError(fmt::format("the list of blocks of saved array `{}` in `{}` is damaged", label, path_));
  return result;
}

std::vector<double> ResultsReader::block(const std::string& label, const BlockIndex& block) {
  std::string object = "saved/arrays/" + encode(label), dataset = object + "/" + block_name(block);
  if (cached_label_ != label || cached_layout_.extents.empty()) {
    cached_layout_ = layout(label);
    cached_label_ = label;
    cached_.clear();
    bool by_blocks = file_.exists(dataset);
    if (!by_blocks) {
      if (file_.extents(object) != dense_extents(cached_layout_)) throw SialError(fmt::format("saved array `{}` in `{}` does not have the shape of its layout", label, path_));
      cached_ = file_.read(object);
    }
  }
  Box box = box_of(cached_layout_, block);
  std::vector<double> data(box.size);
  if (!cached_.empty()) {
    for_box(box, [&](std::int64_t position, std::int64_t i) { data[i] = cached_[position]; });
  } else if (box.size > 0) {
    data = file_.read(dataset);
    if (std::ssize(data) != box.size) throw SialError(fmt::format("a block of saved array `{}` in `{}` has the wrong size", label, path_));
  }
  return data;
}

}  // namespace sial
