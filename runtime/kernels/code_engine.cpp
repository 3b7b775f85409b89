// The engine behind jit.h: one thread that compiles in the order asked, a table of entry points, and a disk cache of object
// files. The compiler itself is a library of its own, opened by that thread: a program that needs no generated code does not
// pay for loading LLVM.

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/kernels/implementations.h"
#include "runtime/kernels/jit.h"

namespace sial::kernels {
namespace {

/// Of the builders and of what they share with their callers.
constexpr std::string_view code_state = SIALX_CODE_STATE;

std::filesystem::path compiler_library() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path("libsialx_jit.so") : self.parent_path() / "libsialx_jit.so";
}

std::string digest_of(std::span<const char> bytes) {
  Sha256 hash;
  hash.update(std::string_view(bytes.data(), bytes.size()));
  return hash.hex();
}

/// A file of the cache: header line, SHA-256 of the object in hexadecimal, the object.
class DiskCache {
 public:
  DiskCache(const std::string& folder, const std::string& identity) : head_(fmt::format("sialx code {} {}\n", code_state.substr(0, 16), identity)) {
    if (folder.empty()) return;
    folder_ = std::filesystem::path(folder) / digest_of(head_).substr(0, 16);
  }

  /// Empty when there is none, and when it is damaged or someone else's.
  std::vector<char> read(const CodeKey& key) const {
    if (folder_.empty()) return {};
    std::ifstream in(file(key), std::ios::binary);
    std::vector<char> all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const std::string head = head_ + code_name(key) + "\n";
    constexpr std::size_t digest = 64;
    if (!in.is_open() || in.bad() || all.size() < head.size() + digest || std::memcmp(all.data(), head.data(), head.size()) != 0) return {};
    std::vector<char> object(all.begin() + static_cast<std::ptrdiff_t>(head.size() + digest), all.end());
    if (std::string_view(all.data() + head.size(), digest) != digest_of(object)) return {};
    return object;
  }

  /// A cache that cannot be written is no cache; nothing depends on it.
  void write(const CodeKey& key, std::span<const char> object) const {
    if (folder_.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return;
    const std::filesystem::path target = file(key);
    const std::filesystem::path partial = target.string() + fmt::format(".{}", getpid());
    {
      std::ofstream out(partial, std::ios::binary);
      out << head_ << code_name(key) << '\n' << digest_of(object);
      out.write(object.data(), static_cast<std::streamsize>(object.size()));
      out.close();
      if (!out) {
        std::filesystem::remove(partial, error);
        return;
      }
    }
    std::filesystem::rename(partial, target, error);
    if (error) std::filesystem::remove(partial, error);
  }

 private:
  std::filesystem::path file(const CodeKey& key) const { return folder_ / (code_name(key) + ".o"); }

  std::string head_;
  std::filesystem::path folder_;
};

class NoCode final : public CodeEngine {
 public:
  NoCode(CpuFacts facts, std::string state) : facts_(facts) { stats_.state = std::move(state); }
  void* find(const CodeKey&) override { return nullptr; }
  void* wait(const CodeKey&) override { return nullptr; }
  CpuFacts facts() const override { return facts_; }
  CodeStats stats() const override { return stats_; }

 private:
  CpuFacts facts_;
  CodeStats stats_;
};

class Engine final : public CodeEngine {
 public:
  explicit Engine(const CodeOptions& options) : options_(options), facts_(cpu_facts(options.cpu)) { stats_.state = "on"; }

  ~Engine() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void* find(const CodeKey& key) override {
    if (options_.at_once) return wait(key);
    const std::lock_guard lock(mutex_);
    return request(key).code;
  }

  void* wait(const CodeKey& key) override {
    std::unique_lock lock(mutex_);
    Slot& slot = request(key);
    done_.wait(lock, [&] { return slot.settled; });
    return slot.code;
  }

  CpuFacts facts() const override { return facts_; }

  CodeStats stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Slot {
    void* code = nullptr;
    bool settled = false;
  };

  Slot& request(const CodeKey& key) {
    const auto [at, is_new] = slots_.try_emplace(key);
    if (is_new) {
      ++stats_.asked;
      if (unusable_) {
        at->second.settled = true;
      } else {
        queue_.push_back(key);
        if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
        wake_.notify_one();
      }
    }
    return at->second;
  }

  void work() {
    // Opening LLVM takes tens of milliseconds and is this thread's business.
    std::string trouble;
    std::unique_ptr<CodeCompiler> compiler = open_compiler(trouble);
    std::unique_lock lock(mutex_);
    if (!compiler) {
      unusable_ = true;
      stats_.state = trouble;
      stats_.failed += static_cast<std::int64_t>(queue_.size());
      for (auto& [key, slot] : slots_) slot.settled = true;
      done_.notify_all();
      return;
    }
    const DiskCache cache(options_.cache_folder, compiler->identity());
    for (;;) {
      wake_.wait(lock, [&] { return leaving_ || !queue_.empty(); });
      if (leaving_) break;
      const CodeKey key = queue_.front();
      queue_.pop_front();
      lock.unlock();
      const auto begin = std::chrono::steady_clock::now();
      bool from_disk = true;
      std::vector<char> object = cache.read(key);
      void* code = object.empty() ? nullptr : compiler->load(key, object);
      if (!code) {
        from_disk = false;
        object = compiler->compile(key);
        code = object.empty() ? nullptr : compiler->load(key, object);
        if (code) cache.write(key, object);
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      lock.lock();
      ++(code ? (from_disk ? stats_.from_disk : stats_.compiled) : stats_.failed);
      stats_.compile_seconds += spent.count();
      slots_[key] = {code, true};
      done_.notify_all();
    }
    for (auto& [key, slot] : slots_) slot.settled = true;
    done_.notify_all();
    // The compiler owns the code; it goes when nobody can call any more.
    compiler_ = std::move(compiler);
  }

  std::unique_ptr<CodeCompiler> open_compiler(std::string& trouble) const {
    using Make = CodeCompiler*(const char* cpu, int vector_bits, bool fma);
    // Never closed: libraries like LLVM do not survive it.
    void* library = dlopen(compiler_library().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      trouble = "this build has no code generator";
      return nullptr;
    }
    auto* state = reinterpret_cast<const char* (*)()>(dlsym(library, "sialx_code_state"));
    if (!state || state() != code_state) {
      trouble = "the code generator beside the program is of another build";
      return nullptr;
    }
    auto* make = reinterpret_cast<Make*>(dlsym(library, "sialx_make_code_compiler"));
    if (make) {
      std::unique_ptr<CodeCompiler> compiler(make(options_.cpu.c_str(), facts_.vector_bits, facts_.fma));
      if (compiler) return compiler;
    }
    trouble = "the code generator does not know this processor";
    return nullptr;
  }

  const CodeOptions options_;
  const CpuFacts facts_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::map<CodeKey, Slot> slots_;
  std::deque<CodeKey> queue_;
  CodeStats stats_;
  bool leaving_ = false, unusable_ = false;
  std::unique_ptr<CodeCompiler> compiler_;
  std::thread thread_;
};

}  // namespace

CpuFacts cpu_facts(const std::string& cpu) {
  const CpuFacts own = processor_facts();
  if (cpu.empty()) return own;
  CpuFacts wanted;
  if (cpu == "x86-64-v2") wanted = {128, false};
  else if (cpu == "x86-64-v3") wanted = {256, true};
  else if (cpu == "x86-64-v4") wanted = {512, true};
  else throw SialError(fmt::format("unknown processor `{}`", cpu), "known: x86-64-v2, x86-64-v3, x86-64-v4; without the option, this one");
  if (!processor_runs(cpu))
    throw SialError(fmt::format("this processor cannot run code for `{}`", cpu), "leave the option away to generate code for this processor");
  return wanted;
}

std::string default_cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/sialx";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/sialx";
  return {};
}

std::shared_ptr<CodeEngine> make_code_engine(const CodeOptions& options) {
  if (!options.on) return std::make_shared<NoCode>(cpu_facts(options.cpu), "off");
  // Ranks that are threads of one process share what is generated.
  static std::mutex mutex;
  static std::map<std::tuple<bool, std::string, std::string>, std::weak_ptr<CodeEngine>> engines;
  const std::lock_guard lock(mutex);
  std::weak_ptr<CodeEngine>& known = engines[{options.at_once, options.cpu, options.cache_folder}];
  std::shared_ptr<CodeEngine> engine = known.lock();
  if (!engine) known = engine = std::make_shared<Engine>(options);
  return engine;
}

}  // namespace sial::kernels
