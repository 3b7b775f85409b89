#include "runtime/chemistry/legacy/legacy_dat.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/output_file.h"

namespace sial {
namespace {

constexpr std::int32_t magic = 23121991;
constexpr std::int32_t version = 1;
constexpr std::int64_t max_elements = std::numeric_limits<std::int32_t>::max();

std::uint32_t swapped(std::uint32_t x) { return __builtin_bswap32(x); }
std::uint64_t swapped(std::uint64_t x) { return __builtin_bswap64(x); }

bool must_swap(ByteOrder order) { return (order == ByteOrder::little) != (std::endian::native == std::endian::little); }

/// What the beginning of a file that is no data file looks like, for the message.
std::string looks_like(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return "the file is empty";
  if (text.starts_with("\x89HDF")) return "this is an HDF5 file";
  if (text.substr(0, 8).ends_with("SIOX")) return "this is a compiled program";
  bool printable = true;
  for (const unsigned char c : text.substr(0, 64)) printable &= c >= 32 || c == '\n' || c == '\t' || c == '\r';
  if (printable) return "this is a text file";
  return {};
}

class DatReader {
 public:
  DatReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  LegacyDat read(ByteOrder* order) {
    header(order);
    LegacyDat dat;
    field_ = "program list";
    for (std::int32_t n = count(5); n > 0; --n) {
      dat.programs.push_back(string());
      field_ = fmt::format("program list after `{}`", dat.programs.back());
    }
    read_values(dat.ints, "predefined ints", 9, [&] { return integer(); });
    read_values(dat.scalars, "predefined scalars", 13, [&] { return real(); });
    read_segments(dat);
    read_arrays(dat.arrays, "arrays", 8, [&] { return real(); });
    read_arrays(dat.int_arrays, "integer arrays", 4, [&] { return integer(); });
    read_configs(dat);
    if (at_ != bytes_.size())
      fail(at_, fmt::format("{} bytes follow the end of the data", bytes_.size() - at_),
           "the file is damaged, or two files were joined");
    return dat;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message,
                         const std::string& hint = "the file is damaged or was not written completely") const {
    throw InputError(field_.empty() ? message : fmt::format("{}: {}", field_, message), hint,
                     fmt::format("{}: byte {}", file_, at));
  }

  std::size_t left() const { return bytes_.size() - at_; }

  void need(std::size_t n) const {
    if (n > left())
      fail(at_, fmt::format("the file ends here: {} more byte{} needed, {} left", n, n == 1 ? " is" : "s are", left()));
  }

  template <class T>
  T raw() {
    need(sizeof(T));
    T x;
    std::memcpy(&x, bytes_.data() + at_, sizeof x);
    at_ += sizeof x;
    return swap_ ? swapped(x) : x;
  }
  std::int32_t integer() { return std::bit_cast<std::int32_t>(raw<std::uint32_t>()); }
  double real() { return std::bit_cast<double>(raw<std::uint64_t>()); }

  /// A number of items, each at least `item` bytes long: never more than the rest of the file can hold.
  std::int32_t count(std::size_t item) {
    const std::size_t here = at_;
    const std::int32_t n = integer();
    if (n < 0) fail(here, fmt::format("a count of {} is negative", n));
    if (static_cast<std::size_t>(n) > left() / item)
      fail(here, fmt::format("a count of {} is more than the {} bytes that follow can hold", n, left()));
    return n;
  }

  std::string string() {
    const std::size_t here = at_;
    const std::int32_t n = count(1);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + at_), static_cast<std::size_t>(n));
    if (n < 1 || text.find('\0') != text.size() - 1)
      fail(here, fmt::format("a text of {} bytes does not end in its only NUL", n));
    at_ += text.size();
    return std::string(text.substr(0, text.size() - 1));
  }

  void unique(std::set<std::string>& names, const std::string& name, std::size_t here) const {
    if (!names.insert(name).second) fail(here, fmt::format("`{}` appears twice", name));
  }

  void header(ByteOrder* order) {
    if (bytes_.size() < 4)
      fail(0, fmt::format("not an initial-data file: {} bytes long", bytes_.size()), looks_like(bytes_));
    const std::int32_t first = integer();
    const auto other = std::bit_cast<std::int32_t>(swapped(std::bit_cast<std::uint32_t>(first)));
    if (first != magic && other != magic) {
      const std::string seen = looks_like(bytes_);
      fail(0,
           fmt::format("not an initial-data file: it begins with {}, not with {} in either byte order", first, magic),
           seen.empty() ? "a `.dat` file of ACES4, or its JSON form, is expected" : seen);
    }
    swap_ = first != magic;
    if (order) *order = swap_ == (std::endian::native == std::endian::little) ? ByteOrder::big : ByteOrder::little;
    field_ = "format version";
    if (const std::int32_t v = integer(); v != version)
      fail(4, fmt::format("version {} is not known, this program reads version {}", v, version), {});
  }

  template <class T, class Value>
  void read_values(std::vector<std::pair<std::string, T>>& values, const std::string& section, std::size_t item,
                   Value value) {
    field_ = section;
    std::set<std::string> names;
    for (std::int32_t n = count(item); n > 0; --n) {
      const std::size_t here = at_;
      std::string name = string();
      unique(names, name, here);
      field_ = fmt::format("{}, value of `{}`", section, name);
      values.emplace_back(name, value());
      field_ = fmt::format("{} after `{}`", section, name);
    }
  }

  void read_segments(LegacyDat& dat) {
    field_ = "segment tables";
    std::set<std::string> kinds;
    for (std::int32_t n = count(8); n > 0; --n) {
      const std::size_t here = at_;
      const std::int32_t kind = integer();
      if (kind < 1001 || kind > 1007)
        fail(here, fmt::format("{} is not an index kind", kind), "kinds are numbered from 1001 (ao) to 1007");
      unique(kinds, fmt::format("kind {}", kind), here);
      field_ = fmt::format("segment sizes of kind {}", kind);
      std::vector<std::int32_t> sizes;
      std::int64_t sum = 0;
      for (std::int32_t i = count(4); i > 0; --i) {
        const std::size_t at = at_;
        sizes.push_back(integer());
        if (sizes.back() < 1)
          fail(at, fmt::format("a segment of {} elements", sizes.back()), "segments hold at least one element");
        if ((sum += sizes.back()) > max_elements)
          fail(at, fmt::format("the segments add up to {} elements, more than a range can have", sum));
      }
      dat.segments.emplace_back(static_cast<IndexKind>(kind), std::move(sizes));
      field_ = fmt::format("segment tables after kind {}", kind);
    }
  }

  template <class T, class Value>
  void read_arrays(std::vector<LegacyArray<T>>& arrays, const std::string& section, std::size_t item, Value value) {
    field_ = section;
    std::set<std::string> names;
    for (std::int32_t n = count(17); n > 0; --n) {
      LegacyArray<T> array;
      const std::size_t here = at_;
      array.offset = static_cast<std::int64_t>(here);
      array.name = string();
      unique(names, array.name, here);
      field_ = fmt::format("{}, rank of `{}`", section, array.name);
      const std::size_t at_rank = at_;
      const std::int32_t rank = integer();
      if (rank < 0 || rank > max_rank)
        fail(at_rank, fmt::format("{} dimensions; an array has at most {}", rank, max_rank));
      field_ = fmt::format("{}, extents of `{}`", section, array.name);
      const std::size_t at_dims = at_;
      if (const std::int32_t again = count(4); again != rank)
        fail(at_dims, fmt::format("{} extents for {} dimensions", again, rank));
      std::int64_t size = 1;
      for (std::int32_t d = 0; d < rank; ++d) {
        const std::size_t at = at_;
        const std::int32_t extent = integer();
        if (extent < 0) fail(at, fmt::format("an extent of {} is negative", extent));
        array.dims.push_back(extent);
        if (__builtin_mul_overflow(size, static_cast<std::int64_t>(extent), &size))
          fail(at, "the extents multiply to more than any file can hold");
      }
      field_ = fmt::format("{}, elements of `{}`", section, array.name);
      const std::size_t at_data = at_;
      const std::int32_t elements = count(item);
      if (elements != size) fail(at_data, fmt::format("{} elements, and the extents ask for {}", elements, size));
      array.data.reserve(static_cast<std::size_t>(elements));
      for (std::int32_t i = 0; i < elements; ++i) array.data.push_back(value());
      field_ = fmt::format("{} after `{}`", section, array.name);
      arrays.push_back(std::move(array));
    }
  }

  void read_configs(LegacyDat& dat) {
    field_ = "settings";
    std::set<std::string> programs;
    for (std::int32_t n = count(9); n > 0; --n) {
      LegacyConfig config;
      const std::size_t here = at_;
      config.program = string();
      unique(programs, config.program, here);
      field_ = fmt::format("settings of `{}`", config.program);
      std::set<std::string> keys;
      for (std::int32_t i = count(10); i > 0; --i) {
        const std::size_t at_key = at_;
        std::string key = string();
        unique(keys, key, at_key);
        config.pairs.emplace_back(key, string());
      }
      dat.configs.push_back(std::move(config));
    }
  }

  std::span<const std::byte> bytes_;
  std::string file_;
  std::string field_;
  std::size_t at_ = 0;
  bool swap_ = false;
};

class Writer {
 public:
  explicit Writer(ByteOrder order) : swap_(must_swap(order)) {}

  std::vector<std::byte> write(const LegacyDat& dat) {
    integer(magic);
    integer(version);
    count(dat.programs.size());
    for (const std::string& name : dat.programs) string(name);
    count(dat.ints.size());
    for (const auto& [name, value] : dat.ints) string(name), integer(value);
    count(dat.scalars.size());
    for (const auto& [name, value] : dat.scalars) string(name), real(value);
    count(dat.segments.size());
    for (const auto& [kind, sizes] : dat.segments) integer(static_cast<std::int32_t>(kind)), integers(sizes);
    arrays(dat.arrays, [&](double x) { real(x); });
    arrays(dat.int_arrays, [&](std::int32_t x) { integer(x); });
    count(dat.configs.size());
    for (const LegacyConfig& config : dat.configs) {
      string(config.program);
      count(config.pairs.size());
      for (const auto& [key, value] : config.pairs) string(key), string(value);
    }
    return std::move(bytes_);
  }

 private:
  template <class T>
  void raw(T x) {
    if (swap_) x = swapped(x);
    const auto* p = reinterpret_cast<const std::byte*>(&x);
    bytes_.insert(bytes_.end(), p, p + sizeof x);
  }
  void integer(std::int32_t x) { raw(std::bit_cast<std::uint32_t>(x)); }
  void real(double x) { raw(std::bit_cast<std::uint64_t>(x)); }

  void count(std::size_t n) {
    if (n > static_cast<std::size_t>(max_elements))
      throw InputError(fmt::format("{} items do not fit an initial-data file, which counts in 32 bits", n),
                       "keep large arrays in HDF5 files, under [arrays] of a job file");
    integer(static_cast<std::int32_t>(n));
  }

  void string(const std::string& text) {
    count(text.size() + 1);
    const auto* p = reinterpret_cast<const std::byte*>(text.c_str());
    bytes_.insert(bytes_.end(), p, p + text.size() + 1);
  }

  void integers(const std::vector<std::int32_t>& list) {
    count(list.size());
    for (const std::int32_t x : list) integer(x);
  }

  template <class T, class Value>
  void arrays(const std::vector<LegacyArray<T>>& list, Value value) {
    count(list.size());
    for (const LegacyArray<T>& a : list) {
      string(a.name);
      count(a.dims.size());
      integers(a.dims);
      count(a.data.size());
      for (const T x : a.data) value(x);
    }
  }

  bool swap_;
  std::vector<std::byte> bytes_;
};

}  // namespace

LegacyDat parse_legacy_dat(std::span<const std::byte> bytes, const std::string& file, ByteOrder* order) {
  return DatReader(bytes, file).read(order);
}

std::vector<std::byte> format_legacy_dat(const LegacyDat& dat, ByteOrder order) { return Writer(order).write(dat); }

LegacyDat read_legacy_file(const std::string& path) {
  std::string problem;
  const std::string content = read_file(path, input_limit::initial_data, problem);
  if (!problem.empty())
    throw InputError(fmt::format("cannot read the data file `{}`: {}", path, problem),
                     "check the path given with --dat");
  const std::string_view text(content);
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && text[first] == '{')
    return parse_legacy_json(text, path);
  return parse_legacy_dat(std::as_bytes(std::span(content)), path);
}

void write_legacy_file(const LegacyDat& dat, const std::string& path) {
  std::string content;
  if (path.ends_with(".json")) {
    content = format_legacy_json(dat);
  } else {
    const std::vector<std::byte> bytes = format_legacy_dat(dat);
    content.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (const std::string_view kind = special_kind(path); !kind.empty())
    throw EnvironmentError(fmt::format("cannot write the data file `{}`: it is {}", path, kind), "choose another name");
  write_file(path, content, Durability::until_crash, "check the folder and the space left on its disk");
}

}  // namespace sial
