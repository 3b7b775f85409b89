// The engine of generated code: its disk cache, what it does with files that are damaged or foreign, and builds without
// a generator.

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "runtime/core/kernels/jit/code_library.h"

using namespace sial;
using namespace sial::kernels;

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("sialx_code_" + std::to_string(getpid()))) { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (fs::exists(path))
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  fs::path path;
};

CodeStats stats_after(const CodeOptions& options, const CodeKey& key, bool& works) {
  const auto engine = make_code_engine(options);
  const auto code = reinterpret_cast<TileCode>(engine->wait(key));
  works = false;
  if (code) {
    const double a[64] = {1, 2, 3, 4, 5, 6, 7, 8}, b[1] = {3};
    double d[64] = {};
    const std::int64_t zero[1] = {0};
    const TileWork work{1, a, zero, b, zero, zero, d, zero, 1.0, 0.0, 1};
    code(&work);
    works = d[0] == 3.0;
  }
  return engine->stats();
}

bool can_generate() {
  bool works = false;
  return stats_after({}, tile_key(1, 1, false), works).compiled > 0;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Bytes of stack that f needs, with those of a thread that it has to itself.
template <class F>
std::size_t stack_of(F f) {
  constexpr std::size_t size = std::size_t{1} << 18;
  auto* const stack =
      static_cast<unsigned char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(stack != MAP_FAILED);
  std::fill_n(stack, size, static_cast<unsigned char>(0xa5));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstack(&attributes, stack, size) == 0);
  pthread_t thread;
  const auto body = [](void* what) -> void* {
    (*static_cast<F*>(what))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, &f) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  std::size_t untouched = 0;
  while (untouched < size && stack[untouched] == 0xa5) ++untouched;
  munmap(stack, size);
  return size - untouched;
}

/// Kilobytes of a library in memory: as they are in its file, and changed.
struct Resident {
  std::int64_t as_in_file = 0, changed = 0;
};

Resident resident_part_of(const std::string& library) {
  std::ifstream smaps("/proc/self/smaps");
  Resident sum;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kilobytes = 0;
    words >> name;
    if (name.find('-') != std::string::npos) ours = line.find(library) != std::string::npos;
    if (!ours || !(words >> kilobytes)) continue;
    if (name == "Private_Dirty:") sum.changed += kilobytes;
    if (name == "Private_Clean:" || name == "Shared_Clean:") sum.as_in_file += kilobytes;
  }
  return sum;
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("generated code is kept on disk and damaged files are made again") {
  if (!can_generate()) {
    WARN("no code generator in this build: skipped");
    return;
  }
  Folder folder;
  CodeOptions options;
  options.cache_folder = folder.path.string();
  const CodeKey key = tile_key(1, 1, false);
  bool works = false;
  CodeStats stats = stats_after(options, key, works);
  CHECK(works);
  CHECK(stats.compiled == 1);
  REQUIRE(folder.files().size() == 1);
  const fs::path file = folder.files().front();
  const std::string good = read(file);
  stats = stats_after(options, key, works);
  CHECK(works);
  CHECK(stats.from_disk == 1);
  CHECK(stats.compiled == 0);

  const auto refused = [&](const std::string& text) {
    write(file, text);
    stats = stats_after(options, key, works);
    CHECK(works);
    CHECK(stats.compiled == 1);
    CHECK(stats.from_disk == 0);
    CHECK(read(file) == good);
  };
  SECTION("empty") { refused(""); }
  SECTION("cut short") { refused(good.substr(0, good.size() - 1)); }
  SECTION("only its header") { refused(good.substr(0, good.find('\n') + 1)); }
  SECTION("a flipped bit in the code") {
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
    refused(bad);
  }
  SECTION("of another processor or compiler") {
    std::string bad = good;
    bad[bad.find("LLVM") + 5] = '3';
    refused(bad);
  }
  SECTION("of another key under this name") {
    const CodeKey other = tile_key(2, 1, false);
    stats_after(options, other, works);
    const auto files = folder.files();
    REQUIRE(files.size() == 2);
    refused(read(files[0] == file ? files[1] : files[0]));
  }
}

TEST_CASE("what is not worth making is looked for on disk, and made when it has become so") {
  if (!can_generate()) {
    WARN("no code generator in this build: skipped");
    return;
  }
  Folder folder;
  const CodeKey first = tile_key(1, 1, false), second = tile_key(1, 2, false);
  {
    const auto engine = make_code_engine({true, false, "", folder.path.string()});
    CHECK(engine->find_saved(first) == nullptr);
    REQUIRE(engine->wait(second) != nullptr);  // by then the first one has been looked for
    CHECK(engine->find_saved(first) == nullptr);
    CHECK(engine->stats().compiled == 1);
    CHECK(engine->stats().failed == 0);
    CHECK(folder.files().size() == 1);
    void* const made = engine->wait(first);
    REQUIRE(made != nullptr);
    CHECK(engine->find_saved(first) == made);
    CHECK(engine->stats().compiled == 2);
    CHECK(engine->stats().asked == 2);
  }
  {
    const auto engine = make_code_engine({true, false, "", folder.path.string()});
    engine->find_saved(first);
    engine->wait(second);
    CHECK(engine->find_saved(first) != nullptr);
    CHECK(engine->stats().from_disk == 2);
    CHECK(engine->stats().compiled == 0);
  }
  const auto nowhere = make_code_engine({true, false, "", ""});
  CHECK(nowhere->find_saved(first) == nullptr);
  CHECK(nowhere->stats().asked == 0);
  REQUIRE(nowhere->wait(first) != nullptr);
  CHECK(nowhere->find_saved(first) != nullptr);
  CHECK(make_code_engine({false, false, "", ""})->find_saved(first) == nullptr);
}

TEST_CASE("code that others could have written is not run") {
  if (!can_generate()) return;
  Folder folder;
  CodeOptions options;
  options.cache_folder = folder.path.string();
  const CodeKey key = tile_key(1, 1, false);
  bool works = false;
  CHECK(stats_after(options, key, works).compiled == 1);
  REQUIRE(folder.files().size() == 1);
  const fs::path file = folder.files().front();
  for (const fs::path& path : {folder.path, file.parent_path()})
    CHECK(fs::status(path).permissions() == fs::perms(0700));
  CHECK(fs::status(file).permissions() == fs::perms(0600));
  CHECK(cache_trouble(options.cache_folder).empty());

  const auto refused = [&](const char* why) {
    const CodeStats stats = stats_after(options, key, works);
    CHECK(works);
    CHECK(stats.from_disk == 0);
    CHECK(stats.compiled == 1);
    CHECK(cache_trouble(options.cache_folder).find(why) == 0);
  };
  for (const fs::path& path : {folder.path, file.parent_path(), file})
    for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
      const fs::perms before = fs::status(path).permissions();
      fs::permissions(path, others, fs::perm_options::add);
      refused(("others may write to `" + path.string() + "`").c_str());
      fs::permissions(path, before);
    }
  if (geteuid() == 0)
    for (const fs::path& path : {folder.path, file.parent_path(), file}) {
      REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
      refused(("`" + path.string() + "` belongs to another user").c_str());
      REQUIRE(chown(path.c_str(), 0, 0) == 0);
    }
  // A link is made again, whatever it leads to.
  fs::rename(file, folder.path / "aside");
  fs::create_symlink(folder.path / "aside", file);
  CHECK(stats_after(options, key, works).compiled == 1);
  CHECK(fs::is_regular_file(fs::symlink_status(file)));
  CHECK(stats_after(options, key, works).from_disk == 1);
}

TEST_CASE("a cache folder that cannot be written costs nothing but itself") {
  if (!can_generate()) return;
  Folder folder;
  fs::create_directories(folder.path);
  write(folder.path / "file", "x");
  CodeOptions options;
  options.cache_folder = (folder.path / "file").string();
  bool works = false;
  CHECK(stats_after(options, tile_key(1, 1, false), works).compiled == 1);
  CHECK(works);
}

TEST_CASE("code that is off is never there, and unknown processors are refused") {
  CodeOptions off;
  off.on = false;
  const auto engine = make_code_engine(off);
  CHECK(engine->find(tile_key(1, 1, false)) == nullptr);
  CHECK(engine->wait(tile_key(1, 1, false)) == nullptr);
  CHECK(engine->stats().state == "off");
  CodeOptions odd;
  odd.cpu = "pentium";
  try {
    make_code_engine(odd);
    FAIL("no error");
  } catch (const SialError& error) {
    CHECK(std::string(error.what()).find("pentium") != std::string::npos);
    CHECK(error.hint().find("x86-64-v3") != std::string::npos);
  }
}

TEST_CASE("the code of LLVM leaves memory while nothing is generated, and comes back") {
  if (!can_generate()) return;
  const auto engine = make_code_engine({});
  REQUIRE(engine->wait(tile_key(2, 1, false)) != nullptr);
  const Resident used = resident_part_of("libLLVM");
  Resident rested = used;
  for (int round = 0; round < 200 && rested.as_in_file > 1024; ++round) {  // other engines may just have used it
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rested = resident_part_of("libLLVM");
  }
  CHECK(rested.as_in_file <= 1024);
  CHECK(rested.changed > 0);
  CHECK(rested.changed >= used.changed);  // addresses that the loader has written, and the library's data
  bool works = false;
  for (int n = 1; n < 4; ++n) CHECK(engine->wait(tile_key(3, n, false)) != nullptr);
  CHECK(stats_after({}, tile_key(1, 1, false), works).failed == 0);
  CHECK(works);
}

TEST_CASE("keys that cannot be compiled are completed without code") {
  if (!can_generate()) return;
  const auto engine = make_code_engine({});
  CHECK(engine->wait({CodeKind::fused, {-1}}) == nullptr);
  CHECK(engine->stats().failed >= 1);
}

TEST_CASE("generated tiles keep their sums in registers") {
  if (!can_generate()) {
    WARN("skipped: this build has no code generator");
    return;
  }
  const auto engine = make_code_engine({});
  const TileShape shape = generated_tile_shape(processor_facts());
  const std::size_t vector = static_cast<std::size_t>(shape.width) * sizeof(double);
  constexpr std::int64_t most = 64, apart = 64;
  std::vector<double> a(most * apart, 1.0), b(most * apart, 2.0), d(most * apart);
  std::vector<std::int64_t> at(most);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i) * apart;
  for (const int count : {0, 8, 32})
    for (int v = 1; v <= shape.tallest(); ++v)
      for (int c = 1; c <= (v <= shape.max_vectors ? shape.max_columns : shape.tall_columns); ++c)
        for (const bool masked : {false, true}) {
          const auto code = reinterpret_cast<TileCode>(engine->wait(tile_key(v, c, masked, count)));
          REQUIRE(code);
          TileWork work;
          work.count = count > 0 ? count : most;
          work.a = a.data(), work.a_at = at.data();
          work.b = b.data(), work.b_at = at.data(), work.b_column = at.data();
          work.d = d.data(), work.d_column = at.data();
          work.rows = v * shape.width - (masked ? 1 : 0);
          work.d_fetch = std::int64_t{1} << (count == 0 ? 12 : 40);  // what is fetched may lie anywhere
          const std::size_t without = stack_of([] {}), with = stack_of([&] { code(&work); });
          INFO(v << " vectors, " << c << " columns, masked " << masked << ", sums of " << count << ": " << with
                 << " bytes of stack, " << without << " without");
          CHECK(d[0] == 2.0 * static_cast<double>(work.count));
          // Addresses and counts may lie there; of the sums at most a few at the end.
          CHECK(with < without + 512 + 2 * vector);
        }
}
