// Values of a dataset that are not there: HDF5 gives fill values in their place, without a word.

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "runtime/core/base/error.h"
#include "runtime/core/job/hdf5_file.h"
#include "runtime/core/job/hdf5_handle.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

/// Looks at a dataset, and at the sources of a virtual one.
class MissingValues {
 public:
  std::string look(hid_t file, const std::string& path, const std::string& name) {
    const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
    const Handle own(dataset < 0 ? -1 : H5Iget_file_id(dataset));  // another file where a link leads there
    if (own < 0) return {};                                        // who reads says what is wrong
    std::array<char, 4096> text{};
    Place place{H5Fget_name(own, text.data(), text.size()) > 0 ? text.data() : path, name};
    while (place.dataset.starts_with('/')) place.dataset.erase(0, 1);
    std::error_code ignored;
    const std::pair<std::string, std::string> here{fs::weakly_canonical(place.path, ignored).string(), place.dataset};
    if (std::find(above_.begin(), above_.end(), here) != above_.end())
      place.fail("is virtual and made of itself", "write its values");
    above_.push_back(here);
    std::string warning = look_at(own, dataset, place);
    above_.pop_back();
    return warning;
  }

 private:
  struct Place {
    std::string path, dataset;
    [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
      throw InputError(fmt::format("dataset `{}` in `{}` {}", dataset, path, what), hint);
    }
  };

  std::string look_at(hid_t file, hid_t dataset, const Place& place) {
    const Handle how(H5Dget_create_plist(dataset)), space(H5Dget_space(dataset));
    const hssize_t elements = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
    if (how < 0 || elements < 1) return {};
    switch (H5Pget_layout(how)) {
      case H5D_VIRTUAL: return look_at_sources(file, place, how, elements);
      case H5D_CONTIGUOUS:
        if (H5Pget_external_count(how) > 0) {
          look_at_external(place, dataset, how, elements);
          return {};
        }
        if (H5Dget_offset(dataset) == HADDR_UNDEF) require_fill_value(place, how);
        return {};
      case H5D_CHUNKED: return look_at_chunks(place, dataset, how, space);
      default: return {};
    }
  }

  /// Elements without a value are what the maker of a dataset meant who states the value that they have instead.
  static bool states_fill_value(hid_t how) {
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    return H5Pfill_value_defined(how, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED;
  }

  static void require_fill_value(const Place& place, hid_t how) {
    if (states_fill_value(how)) return;
    place.fail("has no values: nothing was ever written into it",
               "write its values; where zeros are meant write them, or make the dataset with the fill value 0");
  }

  static std::string look_at_chunks(const Place& place, hid_t dataset, hid_t how, hid_t space) {
    std::array<hsize_t, H5S_MAX_RANK> extents{}, chunk{};
    const int rank = H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    hsize_t there = 0, all = 1;
    if (H5Dget_storage_size(dataset) == 0) {
      require_fill_value(place, how);
      return {};
    }
    if (rank < 1 || H5Pget_chunk(how, rank, chunk.data()) != rank || H5Dget_num_chunks(dataset, space, &there) < 0)
      return {};
    for (int d = 0; d < rank; ++d) all *= (extents[d] + chunk[d] - 1) / std::max<hsize_t>(chunk[d], 1);
    if (there == 0 || there >= all || states_fill_value(how)) return {};
    return fmt::format(
        "dataset `{}` in `{}`: {} of its {} chunks were never written, and count as zeros; was it to be written whole?",
        place.dataset, place.path, all - there, all);
  }

  static void look_at_external(const Place& place, hid_t dataset, hid_t how, hssize_t elements) {
    if (std::getenv("HDF5_EXTFILE_PREFIX")) return;  // the files lie where the library alone knows
    const Handle type(H5Dget_type(dataset));
    auto missing = static_cast<std::uint64_t>(elements) * H5Tget_size(type);
    for (int i = 0; i < H5Pget_external_count(how) && missing > 0; ++i) {
      std::array<char, 4096> name{};
      off_t begin = 0;
      hsize_t size = 0;
      if (H5Pget_external(how, static_cast<unsigned>(i), name.size() - 1, name.data(), &begin, &size) < 0) return;
      const std::uint64_t needed = static_cast<std::uint64_t>(begin) + std::min<std::uint64_t>(missing, size);
      struct stat file{};
      if (::stat(name.data(), &file) != 0)
        place.fail(fmt::format("has its values in the file `{}`, which is not there", name.data()),
                   "relative names of such files are relative to the working directory");
      if (static_cast<std::uint64_t>(file.st_size) < needed)
        place.fail(fmt::format("has its values in the file `{}`, which ends after {} of {} bytes", name.data(),
                               file.st_size, needed),
                   "is the file complete?");
      missing -= std::min<std::uint64_t>(missing, size);
    }
  }

  std::string look_at_sources(hid_t file, const Place& place, hid_t how, hssize_t elements) {
    std::size_t count = 0;
    hssize_t mapped = 0;
    std::string warning;
    const bool may_lack = states_fill_value(how);
    if (std::getenv("HDF5_VDS_PREFIX") || H5Pget_virtual_count(how, &count) < 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
      std::array<char, 4096> name{}, source{};
      if (H5Pget_virtual_filename(how, i, name.data(), name.size()) < 0 ||
          H5Pget_virtual_dsetname(how, i, source.data(), source.size()) < 0)
        return {};
      const Handle part(H5Pget_virtual_vspace(how, i));
      const hssize_t n = part < 0 ? -1 : H5Sget_select_npoints(part);
      const std::string text = name.data(), dataset = source.data();
      if (n < 0 || text.find('%') != std::string::npos || dataset.find('%') != std::string::npos)
        return {};  // of any number of sources, by a pattern
      mapped += n;
      std::string more = look_at_source(file, place, text, dataset, may_lack);
      if (warning.empty()) warning = std::move(more);
    }
    if (mapped < elements && !may_lack)
      warning = fmt::format(
          "dataset `{}` in `{}`: {} of its {} elements come from no source, and count as fill values; was it to be whole?",
          place.dataset, place.path, elements - mapped, elements);
    return warning;
  }

  std::string look_at_source(hid_t file, const Place& place, const std::string& name, const std::string& dataset,
                             bool may_lack) {
    std::string path = place.path;
    if (name != ".") {
      const fs::path folder = fs::path(place.path).parent_path(), stated = name;
      std::error_code ignored;
      for (const fs::path& at : {folder / stated, folder / stated.filename(),
                                 fs::weakly_canonical(place.path, ignored).parent_path() / stated.filename(), stated})
        if (path = at.string(); fs::exists(at, ignored)) break;
    }
    const Handle other(name == "." ? -1 : H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const hid_t where = name == "." ? file : hid_t{other};
    if (const Handle source(where < 0 ? -1 : H5Dopen2(where, dataset.c_str(), H5P_DEFAULT)); source.ok())
      return look(where, path, dataset);
    const std::string lack = where < 0
                                 ? fmt::format("is virtual, and its source `{}` is not there, or no HDF5 file", name)
                                 : fmt::format("is virtual, and its source `{}` has no dataset `{}`", path, dataset);
    if (!may_lack) place.fail(lack, "bring the source back, or write the values into the file");
    return fmt::format("dataset `{}` in `{}` {}: its elements count as the fill value", place.dataset, place.path,
                       lack);
  }

  std::vector<std::pair<std::string, std::string>> above_;  // virtual datasets that led here
};

}  // namespace

std::string Hdf5File::missing_values(const std::string& dataset) const {
  return MissingValues().look(id_, path_, dataset);
}

}  // namespace sial
