#include "runtime/core/job/array_source.h"

#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"
#include "runtime/core/job/hdf5_file.h"

namespace sial {

namespace {

/// Errors of reading get the array's name.
template <class Body>
auto of_array(const std::string& name, const std::string& where, Body body) {
  try {
    return body();
  } catch (const SialError& error) {
    throw InputError(fmt::format("array `{}`: {}", name, error.what()), error.hint(),
                     error.where().empty() ? where : error.where());
  }
}

}  // namespace

ArraySource look_at_array(const std::string& name, const std::string& file, const std::string& dataset,
                          std::vector<std::string>& warnings) {
  return of_array(name, {}, [&] {
    if (std::error_code ignored; !std::filesystem::exists(file, ignored))
      throw InputError(fmt::format("there is no file `{}`", file),
                       "`file` under [arrays] is relative to the job file's folder");
    const Hdf5File h5 = Hdf5File::open(file);
    if (!h5.exists(dataset))
      throw InputError(fmt::format("there is no dataset `{}` in `{}`", dataset, file),
                       fmt::format("the file holds: {}", fmt::join(h5.list("/"), ", ")));
    if (const std::string text = h5.missing_values(dataset); !text.empty())
      warnings.push_back(fmt::format("array `{}`: {}", name, text));
    ArraySource source{file, dataset, h5.extents(dataset), h5.is_integer(dataset)};
    if (source.extents.size() > max_rank)
      throw InputError(fmt::format("dataset `{}` in `{}` has {} dimensions; an array has at most {}", dataset, file,
                                   source.extents.size(), max_rank));
    return source;
  });
}

void read_arrays(JobData& data, const std::set<std::string>& in_parts) {
  for (const auto& [name, source] : data.sources) {
    const std::string origin = fmt::format("{}:{}", source.file, source.dataset);
    const auto found = data.arrays.find(name);
    if (in_parts.contains(name) || (found != data.arrays.end() && found->second.origin == origin)) continue;
    of_array(name, source.where, [&] {
      const Hdf5File h5 = Hdf5File::open(source.file);
      // Integer data serves both the int arrays of super instructions and static arrays of numbers.
      if (source.integers) data.int_arrays[name] = {source.extents, h5.read_ints(source.dataset), origin};
      data.arrays[name] = {source.extents, h5.read(source.dataset), origin};
    });
  }
}

void make_arrays(JobData& data, const std::set<std::string>& in_parts) {
  for (auto& [name, array] : data.arrays) {
    if (!array.fill || in_parts.contains(name)) continue;
    const std::vector<std::int64_t> first(array.extents.size(), 0);
    const auto size = std::accumulate(array.extents.begin(), array.extents.end(), std::int64_t{1}, std::multiplies<>());
    array.data.resize(static_cast<std::size_t>(size));
    const FillPart fill = std::exchange(array.fill, {});
    if (size > 0) fill(first, array.extents, array.data.data());
  }
}

}  // namespace sial
