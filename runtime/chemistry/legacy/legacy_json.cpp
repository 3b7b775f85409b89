// The JSON form of initial-data files: the same content under the keys SialPrograms, PredefinedIntegers,
// PredefinedScalars, SegmentSizeArrays, PredefinedScalarArrays, PredefinedIntegerArrays and SialConfiguration. ACES4's
// own writer puts integer arrays under the key of the real ones; those are recognised by name and sorted back.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/legacy/legacy_dat.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/names.h"

namespace sial {
namespace {

constexpr std::string_view known_keys[] = {"SialPrograms",      "PredefinedIntegers",     "PredefinedScalars",
                                           "SegmentSizeArrays", "PredefinedScalarArrays", "PredefinedIntegerArrays",
                                           "SialConfiguration"};

/// Arrays that are integers in every initial-data file.
constexpr std::string_view integer_names[] = {
    "ao_seg_ranges", "atom",           "ccbeg",          "ccend",          "end_nfps",  "indx_cc",
    "ipseux",        "iqmstr",         "ivangmom",       "ixalphas",       "ixpcoeffs", "jcostr",
    "jrs",           "jstrt",          "kfirst",         "klast",          "llmax",     "ncfps",
    "mo_seg_ranges", "moa_seg_ranges", "mob_seg_ranges", "nelecp",         "nlp",       "npfps",
    "nrcstr",        "nucstr",         "fragao",         "int_array_data", "w_frag_ao", "w_frag_aocc",
    "w_frag_avirt",  "w_frag_bocc",    "w_frag_bvirt"};

class JsonReader {
 public:
  explicit JsonReader(const std::string& file) : file_(file) {}

  LegacyDat read(std::string_view text) {
    Json root;
    try {
      root = parse_json(text);
    } catch (const Json::parse_error& error) {
      throw InputError(fmt::format("not valid JSON: {}", plain(error.what())),
                       "the file is damaged or was not written completely",
                       fmt::format("{}: byte {}", file_, error.byte));
    } catch (const Json::exception& error) {  // a number beyond every double
      fail("", plain(error.what()));
    }
    if (!root.is_object()) fail("", "an object is expected, not " + std::string(root.type_name()));
    for (const auto& [key, value] : root.items())
      if (std::find(std::begin(known_keys), std::end(known_keys), key) == std::end(known_keys))
        fail(key, "unknown key", did_you_mean(key, known_keys, fmt::format("known: {}", fmt::join(known_keys, ", "))));
    LegacyDat dat;
    if (const Json* list = section(root, "SialPrograms", Json::value_t::array))
      for (const Json& name : *list) dat.programs.push_back(text_of(name, "SialPrograms"));
    if (const Json* table = section(root, "PredefinedIntegers", Json::value_t::object))
      for (const auto& [name, value] : table->items())
        dat.ints.emplace_back(name_of(name, "PredefinedIntegers"), integer(value, path("PredefinedIntegers", name)));
    if (const Json* table = section(root, "PredefinedScalars", Json::value_t::object))
      for (const auto& [name, value] : table->items())
        dat.scalars.emplace_back(name_of(name, "PredefinedScalars"), real(value, path("PredefinedScalars", name)));
    if (const Json* table = section(root, "SegmentSizeArrays", Json::value_t::object))
      for (const auto& [kind, sizes] : table->items())
        dat.segments.emplace_back(kind_of(kind), sizes_of(sizes, path("SegmentSizeArrays", kind)));
    const Json* real_arrays = section(root, "PredefinedScalarArrays", Json::value_t::object);
    const Json* int_arrays = section(root, "PredefinedIntegerArrays", Json::value_t::object);
    if (real_arrays)
      for (const auto& [name, value] : real_arrays->items()) {
        const std::string where = path("PredefinedScalarArrays", name);
        if (is_misplaced(name, value) && !(int_arrays && int_arrays->contains(name)))
          dat.int_arrays.push_back(array<std::int32_t>(name, value, where));
        else dat.arrays.push_back(array<double>(name, value, where));
      }
    if (int_arrays)
      for (const auto& [name, value] : int_arrays->items())
        dat.int_arrays.push_back(array<std::int32_t>(name, value, path("PredefinedIntegerArrays", name)));
    if (const Json* table = section(root, "SialConfiguration", Json::value_t::object))
      for (const auto& [program, pairs] : table->items()) {
        LegacyConfig config{name_of(program, "SialConfiguration"), {}};
        const std::string where = path("SialConfiguration", program);
        if (!pairs.is_object() && !pairs.is_null()) fail(where, "an object is expected");
        for (const auto& [key, value] : pairs.items())
          config.pairs.emplace_back(name_of(key, where), text_of(value, path(where, key)));
        dat.configs.push_back(std::move(config));
      }
    return dat;
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& message, const std::string& hint = {}) const {
    throw InputError(field.empty() ? message : fmt::format("{}: {}", field, message), hint, file_);
  }

  static std::string path(std::string_view outer, std::string_view inner) { return fmt::format("{}.{}", outer, inner); }

  /// The library's message without its own numbering.
  static std::string plain(std::string_view what) {
    const std::size_t end = what.find("] ");
    return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
  }

  const Json* section(const Json& root, const char* key, Json::value_t type) const {
    const auto found = root.find(key);
    if (found == root.end() || found->is_null()) return nullptr;
    if (found->type() != type)
      fail(key, fmt::format("{} is expected, not {}", type == Json::value_t::array ? "a list" : "an object",
                            found->type_name()));
    return &*found;
  }

  std::string name_of(const std::string& name, std::string_view where) const {
    if (name.empty() || name.find('\0') != std::string::npos)
      fail(std::string(where), "an empty name, or one with a NUL in it");
    return name;
  }

  std::string text_of(const Json& value, const std::string& where) const {
    if (!value.is_string()) fail(where, "a text is expected, not " + std::string(value.type_name()));
    std::string text = value.get<std::string>();
    if (text.find('\0') != std::string::npos) fail(where, "a text with a NUL in it");
    return text;
  }

  std::int32_t integer(const Json& value, const std::string& where) const {
    if (!value.is_number_integer()) fail(where, "an integer is expected, not " + json_text(value, -1));
    const bool fits =
        value.is_number_unsigned()
            ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())
            : value.get<std::int64_t>() >= std::numeric_limits<std::int32_t>::min();
    if (!fits) fail(where, fmt::format("{} does not fit a 32-bit integer", json_text(value, -1)));
    return value.get<std::int32_t>();
  }

  double real(const Json& value, const std::string& where) const {
    if (!value.is_number()) fail(where, "a number is expected, not " + json_text(value, -1));
    return value.get<double>();
  }

  IndexKind kind_of(const std::string& key) const {
    for (int kind = 1001; kind <= 1007; ++kind)
      if (key == std::to_string(kind)) return static_cast<IndexKind>(kind);
    fail(path("SegmentSizeArrays", key), "not an index kind", "kinds are numbered from 1001 (ao) to 1007");
  }

  std::vector<std::int32_t> sizes_of(const Json& list, const std::string& where) const {
    if (!list.is_array() && !list.is_null()) fail(where, "a list is expected, not " + std::string(list.type_name()));
    std::vector<std::int32_t> sizes;
    std::int64_t sum = 0;
    for (const Json& size : list) {
      sizes.push_back(integer(size, where));
      if (sizes.back() < 1)
        fail(where, fmt::format("a segment of {} elements", sizes.back()), "segments hold at least one element");
      if ((sum += sizes.back()) > std::numeric_limits<std::int32_t>::max())
        fail(where, fmt::format("the segments add up to {} elements, more than a range can have", sum));
    }
    return sizes;
  }

  static bool is_misplaced(const std::string& name, const Json& value) {
    if (std::find(std::begin(integer_names), std::end(integer_names), name) == std::end(integer_names)) return false;
    if (!value.is_object() || !value.contains("Data") || !value["Data"].is_array()) return true;
    return std::all_of(value["Data"].begin(), value["Data"].end(), [](const Json& x) { return x.is_number_integer(); });
  }

  template <class T>
  LegacyArray<T> array(const std::string& name, const Json& value, const std::string& where) const {
    if (!value.is_object()) fail(where, "an object with Rank, Dims and Data is expected");
    for (const auto& [key, ignored] : value.items())
      if (key != "Rank" && key != "Dims" && key != "Data")
        fail(path(where, key), "unknown key", "known: Rank, Dims, Data");
    LegacyArray<T> a;
    a.name = name_of(name, where);
    for (const char* key : {"Rank", "Dims"})
      if (!value.contains(key)) fail(where, fmt::format("`{}` is missing", key));
    const Json& dims = value["Dims"];
    if (!dims.is_array() && !dims.is_null()) fail(path(where, "Dims"), "a list is expected");
    std::int64_t size = 1;
    for (const Json& extent : dims) {
      a.dims.push_back(integer(extent, path(where, "Dims")));
      if (a.dims.back() < 0) fail(path(where, "Dims"), fmt::format("an extent of {} is negative", a.dims.back()));
      if (__builtin_mul_overflow(size, static_cast<std::int64_t>(a.dims.back()), &size))
        fail(path(where, "Dims"), "the extents multiply to more than any file can hold");
    }
    const std::int32_t rank = integer(value["Rank"], path(where, "Rank"));
    if (rank != std::ssize(a.dims))
      fail(path(where, "Rank"), fmt::format("{} extents for {} dimensions", a.dims.size(), rank));
    if (rank > max_rank)
      fail(path(where, "Rank"), fmt::format("{} dimensions; an array has at most {}", rank, max_rank));
    if (value.contains("Data") && !value["Data"].is_null()) {
      const Json& data = value["Data"];
      if (!data.is_array()) fail(path(where, "Data"), "a list is expected");
      for (const Json& x : data) {
        if constexpr (std::is_same_v<T, double>) a.data.push_back(real(x, path(where, "Data")));
        else a.data.push_back(integer(x, path(where, "Data")));
      }
    }
    if (std::ssize(a.data) != size)
      fail(path(where, "Data"), fmt::format("{} elements, and the extents ask for {}", a.data.size(), size));
    return a;
  }

  std::string file_;
};

template <class T>
Json arrays_json(const std::vector<LegacyArray<T>>& arrays) {
  Json table = Json::object();
  for (const LegacyArray<T>& a : arrays) {
    if constexpr (std::is_same_v<T, double>)
      if (!std::all_of(a.data.begin(), a.data.end(), [](double x) { return std::isfinite(x); }))
        throw InputError(
            fmt::format("array `{}` holds a value that is not a number (NaN or infinite), which JSON cannot state",
                        a.name),
            "write a .dat file instead");
    table[a.name] = {{"Rank", a.dims.size()}, {"Dims", a.dims}, {"Data", a.data}};
  }
  return table;
}

}  // namespace

LegacyDat parse_legacy_json(std::string_view text, const std::string& file) { return JsonReader(file).read(text); }

std::string format_legacy_json(const LegacyDat& dat) {
  Json root = Json::object();
  root["SialPrograms"] = dat.programs;
  for (const char* key : {"PredefinedIntegers", "PredefinedScalars", "SegmentSizeArrays"}) root[key] = Json::object();
  for (const auto& [name, value] : dat.ints) root["PredefinedIntegers"][name] = value;
  for (const auto& [name, value] : dat.scalars) {
    if (!std::isfinite(value))
      throw InputError(fmt::format("scalar `{}` is not a number (NaN or infinite), which JSON cannot state", name),
                       "write a .dat file instead");
    root["PredefinedScalars"][name] = value;
  }
  for (const auto& [kind, sizes] : dat.segments)
    root["SegmentSizeArrays"][std::to_string(static_cast<int>(kind))] = sizes;
  root["PredefinedScalarArrays"] = arrays_json(dat.arrays);
  root["PredefinedIntegerArrays"] = arrays_json(dat.int_arrays);
  root["SialConfiguration"] = Json::object();
  for (const LegacyConfig& config : dat.configs) {
    Json& pairs = root["SialConfiguration"][config.program] = Json::object();
    for (const auto& [key, value] : config.pairs) pairs[key] = value;
  }
  try {
    return json_text(root, 1, Json::error_handler_t::strict) + "\n";
  } catch (const Json::type_error&) {
    throw InputError("a name or setting is not UTF-8 text, which JSON cannot state", "write a .dat file instead");
  }
}

}  // namespace sial
