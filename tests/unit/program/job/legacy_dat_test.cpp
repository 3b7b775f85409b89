// The binary and JSON forms of initial-data files: what is read is written back byte for byte, either byte order, and
// every damaged file is refused with one error that names the file, the byte and the field. Mutants are seeded;
// SIALX_MUTATIONS and SIALX_SEED set their number and the first seed.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>

#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/segments/resegment.h"
#include "runtime/program/job/describe.h"
#include "tests/unit/main/source_path.h"
#include "tests/unit/program/job/folder.h"
#include "tests/unit/program/job/legacy_sample.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto* p = reinterpret_cast<const std::byte*>(text.data());
  return {p, p + text.size()};
}

std::string error(const Bytes& b) {
  return error_of([&] { parse_legacy_dat(b, "x.dat"); });
}
std::string json_error(const std::string& text) {
  return error_of([&] { parse_legacy_json(text, "x.json"); });
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Everything that can be done with initial data short of running it.
void use(LegacyDat dat) {
  Job job = legacy_job(std::move(dat), "x.dat");
  describe_job(job, {"."});
  apply_resegment(job, "ao=4,occ=2,virt=3");
  format_legacy_dat(to_legacy_dat(job));
}

}  // namespace

TEST_CASE("an initial-data file, byte by byte") {
  using namespace std::string_view_literals;
  // One program, one int (-2), one scalar (1.0), AO segments 3 and 4, a 1 x 2 array (1.0, 2.0), an empty integer array,
  // one setting.
  const Bytes file = bytes_of(
      "\x47\xd0\x60\x01\x01\0\0\0"
      "\x01\0\0\0\x07\0\0\0a.siox\0"
      "\x01\0\0\0\x02\0\0\0n\0\xfe\xff\xff\xff"
      "\x01\0\0\0\x02\0\0\0x\0\0\0\0\0\0\0\xf0\x3f"
      "\x01\0\0\0\xe9\x03\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0"
      "\x01\0\0\0\x02\0\0\0v\0\x02\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40"
      "\x01\0\0\0\x02\0\0\0k\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0"
      "\x01\0\0\0\x07\0\0\0a.siox\0\x01\0\0\0\x02\0\0\0o\0\x02\0\0\0t\0"sv);
  ByteOrder order = ByteOrder::big;
  const LegacyDat dat = parse_legacy_dat(file, "x.dat", &order);
  CHECK(order == ByteOrder::little);
  CHECK(dat.programs == std::vector<std::string>{"a.siox"});
  CHECK(dat.ints == decltype(dat.ints){{"n", -2}});
  CHECK(dat.scalars == decltype(dat.scalars){{"x", 1.0}});
  CHECK(dat.segments == decltype(dat.segments){{IndexKind::ao, {3, 4}}});
  REQUIRE(dat.arrays.size() == 1);
  CHECK(dat.arrays[0] == LegacyArray<double>{"v", {1, 2}, {1.0, 2.0}});
  CHECK(dat.arrays[0].offset == 79);
  CHECK(dat.int_arrays == decltype(dat.int_arrays){{"k", {0}, {}}});
  CHECK(dat.configs == decltype(dat.configs){{"a.siox", {{"o", "t"}}}});
  CHECK(format_legacy_dat(dat) == file);
  const Bytes reversed = format_legacy_dat(dat, ByteOrder::big);
  CHECK(reversed[0] == std::byte{0x01});
  CHECK(reversed[3] == std::byte{0x47});
  CHECK(parse_legacy_dat(reversed, "x.dat", &order) == dat);
  CHECK(order == ByteOrder::big);
}

TEST_CASE("both forms are written back as they were read") {
  const LegacyDat dat = sample_dat();
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    const Bytes b = format_legacy_dat(dat, order);
    const LegacyDat again = parse_legacy_dat(b, "x.dat");
    CHECK(again == dat);
    CHECK(format_legacy_dat(again, order) == b);
  }
  const std::string text = format_legacy_json(dat);
  CHECK(parse_legacy_json(text, "x.json") == dat);
  CHECK(format_legacy_json(parse_legacy_json(text, "x.json")) == text);
  // -0.0 and every digit survive the way through JSON.
  CHECK(format_legacy_dat(parse_legacy_json(text, "x.json")) == format_legacy_dat(dat));

  Folder f;
  write_legacy_file(dat, f.path("a.dat"));
  write_legacy_file(dat, f.path("a.json"));
  CHECK(read_legacy_file(f.path("a.dat")) == dat);
  CHECK(read_legacy_file(f.path("a.json")) == dat);
  CHECK_FALSE(std::filesystem::exists(f.path("a.dat.part")));
  CHECK_THAT(error_of([&] { read_legacy_file(f.path("none.dat")); }), Contains("none.dat"));
  CHECK_THAT(error_of([&] { read_legacy_file(f.path("")); }), Contains("cannot read"));
  CHECK_THAT(error_of([&] { write_legacy_file(dat, f.path("no/folder.dat")); }), Contains("no/folder.dat"));
}

TEST_CASE("files of other programs come back byte for byte") {
  const char* folder = std::getenv("SIALX_LEGACY_DATA");
  const std::filesystem::path data = folder ? folder : source_path("../shared/data");
  if (!std::filesystem::is_directory(data)) {
    std::cout << "skipped: there is no folder " << data << " of initial-data files\n";
    return;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (entry.path().extension() != ".dat") continue;
    INFO(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const LegacyDat dat = parse_legacy_dat(bytes_of(content), "x.dat");
    CHECK((format_legacy_dat(dat) == bytes_of(content)));
    CHECK((format_legacy_dat(parse_legacy_json(format_legacy_json(dat), "x.json")) == bytes_of(content)));
    CHECK((format_legacy_dat(parse_legacy_dat(format_legacy_dat(dat, ByteOrder::big), "x.dat")) == bytes_of(content)));
    // Unchanged as a job, too.
    const Job job = legacy_job(dat, "x.dat");
    CHECK(chemistry(job.data).has_molecule);
    CHECK((format_legacy_dat(to_legacy_dat(job)) == bytes_of(content)));
    ++files;
  }
  CHECK(files > 0);
}

TEST_CASE("a file cut short says where and in which field") {
  const Bytes whole = format_legacy_dat(sample_dat());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string message = error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    INFO(n << ": " << message);
    REQUIRE_THAT(message, Contains("x.dat: byte "));
  }
  Bytes longer = whole;
  longer.resize(whole.size() + 3);
  CHECK_THAT(error(longer), Contains("3 bytes follow the end") && Contains("byte " + std::to_string(whole.size())));
}

TEST_CASE("what is wrong in a damaged file is named") {
  const Bytes good = format_legacy_dat(sample_dat());
  const auto with = [&](std::size_t at, std::int32_t value) {
    Bytes b = good;
    std::memcpy(&b[at], &value, 4);
    return error(b);
  };
  CHECK_THAT(with(0, 42), Contains("it begins with 42, not with 23121991") && Contains("byte 0"));
  CHECK_THAT(with(4, 2), Contains("version 2") && Contains("byte 4"));
  CHECK_THAT(with(8, -1), Contains("program list") && Contains("negative") && Contains("byte 8"));
  CHECK_THAT(with(8, 1 << 30), Contains("more than the") && Contains("byte 8"));
  CHECK_THAT(with(12, 1000),
             Contains("program list") && Contains("does not end in its only NUL") && Contains("byte 12"));
  CHECK_THAT(error({}), Contains("empty"));
  CHECK_THAT(error(bytes_of("\x89HDF\r\n\x1a\n")), Contains("HDF5"));
  CHECK_THAT(error(bytes_of("programs = [\"a\"]\n")), Contains("text file"));
  // A good file whose second half has the other byte order.
  const Bytes other = format_legacy_dat(sample_dat(), ByteOrder::big);
  Bytes mixed = good;
  std::copy(other.begin() + 60, other.end(), mixed.begin() + 60);
  CHECK_THAT(error(mixed), Contains("predefined ints"));

  LegacyDat d = sample_dat();
  d.arrays[3].dims = {3, 3};
  CHECK_THAT(error(format_legacy_dat(d)),
             Contains("arrays, elements of `coords`") && Contains("6 elements, and the extents ask for 9"));
  d = sample_dat();
  d.arrays[3].dims = {1, 1, 1, 1, 1, 1, 1, 1, 6};
  CHECK_THAT(error(format_legacy_dat(d)), Contains("rank of `coords`") && Contains("9 dimensions"));
  d = sample_dat();
  d.segments[1].second[2] = 0;
  CHECK_THAT(error(format_legacy_dat(d)), Contains("segment sizes of kind 1002") && Contains("0 elements"));
  d = sample_dat();
  d.segments[1].second = {2000000000, 2000000000};
  CHECK_THAT(error(format_legacy_dat(d)), Contains("add up to 4000000000"));
  d = sample_dat();
  d.segments[1].first = static_cast<IndexKind>(77);
  CHECK_THAT(error(format_legacy_dat(d)), Contains("77 is not an index kind"));
  d = sample_dat();
  d.ints[1].first = "baocc";
  CHECK_THAT(error(format_legacy_dat(d)), Contains("predefined ints") && Contains("`baocc` appears twice"));
}

TEST_CASE("mistakes in the JSON form are named") {
  CHECK_THAT(json_error("{"), Contains("not valid JSON") && Contains("x.json: byte"));
  CHECK_THAT(json_error("[1]"), Contains("object is expected"));
  CHECK_THAT(json_error(R"({"PredefinedInteger": {}})"), Contains("did you mean `PredefinedIntegers`"));
  CHECK_THAT(json_error(R"({"PredefinedIntegers": {"n": 1.5}})"), Contains("PredefinedIntegers.n") && Contains("1.5"));
  CHECK_THAT(json_error(R"({"PredefinedIntegers": {"n": 3000000000}})"), Contains("32-bit"));
  CHECK_THAT(json_error(R"({"PredefinedScalars": {"x": "1"}})"), Contains("PredefinedScalars.x"));
  CHECK_THAT(json_error(R"({"SegmentSizeArrays": {"1009": [1]}})"), Contains("1009"));
  CHECK_THAT(json_error(R"({"SegmentSizeArrays": {"1001": [0]}})"), Contains("SegmentSizeArrays.1001"));
  CHECK_THAT(json_error(R"({"PredefinedScalarArrays": {"v": {"Rank": 1, "Dims": [2], "Data": [1.0]}}})"),
             Contains("PredefinedScalarArrays.v.Data") && Contains("1 elements"));
  CHECK_THAT(json_error(R"({"PredefinedScalarArrays": {"v": {"Rank": 2, "Dims": [2], "Data": [1.0, 2.0]}}})"),
             Contains("Rank"));
  CHECK_THAT(json_error(R"({"SialPrograms": [1]})"), Contains("SialPrograms"));
  CHECK_THAT(json_error(R"({"PredefinedScalars": {"x": 1e999}})"), Contains("x.json") && Contains("overflow"));
  LegacyDat d = sample_dat();
  d.scalars[0].second = std::numeric_limits<double>::infinity();
  CHECK_THAT(error_of([&] { format_legacy_json(d); }), Contains("cc_conv"));
  // ACES4 writes integer arrays under the key of the real ones; a real array of whole numbers stays real.
  const LegacyDat mixed = parse_legacy_json(
      R"({"PredefinedScalarArrays": {"npfps": {"Rank": 1, "Dims": [2], "Data": [3, 6]}, "charge": {"Rank": 1, "Dims": [1], "Data": [8]},)"
      R"("nlp": {"Rank": 1, "Dims": [0], "Data": null}, "w_frag_avirt": {"Rank": 1, "Dims": [2], "Data": [1, 2]}}})",
      "x.json");
  CHECK(mixed.arrays == decltype(mixed.arrays){{"charge", {1}, {8.0}}});
  CHECK(mixed.int_arrays ==
        decltype(mixed.int_arrays){{"npfps", {2}, {3, 6}}, {"nlp", {0}, {}}, {"w_frag_avirt", {2}, {1, 2}}});
}

TEST_CASE("any mutant is used or refused with one error") {
  const Bytes little = format_legacy_dat(sample_dat()), big = format_legacy_dat(sample_dat(), ByteOrder::big);
  const Bytes json = bytes_of(format_legacy_json(sample_dat()));
  const std::uint64_t mutants = setting("SIALX_MUTATIONS", 20000) / 3, first = setting("SIALX_SEED", 1);
  std::uint64_t refused = 0, accepted = 0;
  for (const Bytes* original : {&little, &big, &json})
    for (std::uint64_t m = 0; m < mutants; ++m) {
      const std::uint64_t seed = first + m;
      std::mt19937_64 random(seed);
      const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
      Bytes b = *original;
      for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) {
        switch (below(6)) {
          case 0: b.resize(below(b.size() + 1)); break;
          case 1:
            if (!b.empty()) b[below(b.size())] ^= static_cast<std::byte>(1u << below(8));
            break;
          case 2:
            if (!b.empty()) b[below(b.size())] = static_cast<std::byte>(random());
            break;
          case 3: {
            static constexpr std::int32_t values[] = {0,
                                                      1,
                                                      2,
                                                      -1,
                                                      7,
                                                      1005,
                                                      65536,
                                                      std::numeric_limits<std::int32_t>::max(),
                                                      std::numeric_limits<std::int32_t>::min()};
            if (b.size() >= 4) std::memcpy(&b[below(b.size() - 3)], &values[below(std::size(values))], 4);
            break;
          }
          case 4: {
            const std::size_t n = std::min(below(16) + 1, b.size());
            const auto at = b.begin() + static_cast<std::ptrdiff_t>(below(b.size() - n + 1));
            b.erase(at, at + static_cast<std::ptrdiff_t>(n));
            break;
          }
          default:
            b.insert(b.begin() + static_cast<std::ptrdiff_t>(below(b.size() + 1)), below(16),
                     static_cast<std::byte>(random()));
            break;
        }
      }
      INFO("seed " << seed << (original == &json ? ", JSON" : original == &big ? ", big-endian" : ", little-endian"));
      try {
        const std::string text(reinterpret_cast<const char*>(b.data()), b.size());
        use(original == &json ? parse_legacy_json(text, "x.dat") : parse_legacy_dat(b, "x.dat"));
        ++accepted;
      } catch (const SialError& e) {
        ++refused;
        if (std::string(e.what()).empty() || e.where().find("x.dat") == std::string::npos)
          FAIL(e.what() << " at `" << e.where() << "`");
      } catch (const std::exception& e) { FAIL("not a SialError: " << e.what()); }
    }
  CHECK(accepted > 0);
  CHECK(refused > accepted);
}

TEST_CASE("texts that the binary form could not hold are refused in JSON") {
  for (const char* text :
       {R"({"SialConfiguration": {"a\u0000b": {}}})", R"({"SialConfiguration": {"p": {"k\u0000": "v"}}})",
        R"({"SialConfiguration": {"p": {"k": "v\u0000"}}})"})
    CHECK_THAT(error_of([&] { parse_legacy_json(text, "x.json"); }), Contains("NUL") && Contains("x.json"));
}
