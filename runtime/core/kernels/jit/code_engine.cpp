// The engine behind jit.h: one thread that compiles in the order asked, a table of entry points, and a disk cache of
// object files. The compiler itself is a library of its own, opened by that thread: a program that needs no generated
// code does not pay for loading LLVM.

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "runtime/core/base/error.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/jit.h"
#include "runtime/core/kernels/jit/code_library.h"
#include "runtime/core/kernels/jit/generator_memory.h"

namespace sial::kernels {
namespace {

/// Programs ask for the code of several statements in a row.
constexpr std::chrono::milliseconds until_release{20};

class NoCode final : public CodeEngine {
 public:
  NoCode(CpuFacts facts, std::string state) : facts_(facts) { stats_.state = std::move(state); }
  void* find(const CodeKey&) override { return nullptr; }
  void* find_saved(const CodeKey&) override { return nullptr; }
  void* wait(const CodeKey&) override { return nullptr; }
  CpuFacts facts() const override { return facts_; }
  CodeStats stats() const override { return stats_; }

 private:
  CpuFacts facts_;
  CodeStats stats_;
};

class Engine final : public CodeEngine {
 public:
  explicit Engine(const CodeOptions& options) : options_(options), facts_(cpu_facts(options.cpu)) {
    stats_.state = "on";
  }

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
    return request(key, true).code;
  }

  void* find_saved(const CodeKey& key) override {
    if (options_.at_once) return wait(key);
    const std::lock_guard lock(mutex_);
    if (options_.cache_folder.empty()) {
      const auto known = slots_.find(key);
      return known == slots_.end() ? nullptr : known->second.code;
    }
    return request(key, false).code;
  }

  void* wait(const CodeKey& key) override {
    std::unique_lock lock(mutex_);
    Slot& slot = request(key, true);
    done_.wait(lock, [&] { return slot.completed; });
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
    bool completed = false;
    bool made = false;  // if it is not on disk
  };

  Slot& request(const CodeKey& key, bool make) {
    const auto [at, is_new] = slots_.try_emplace(key);
    Slot& slot = at->second;
    if (is_new) ++stats_.asked;
    const bool again = make && !slot.made && slot.completed && !slot.code;
    slot.made |= make;
    if (!is_new && !again) return slot;
    slot.completed = unusable_;
    if (!unusable_) {
      queue_.push_back(key);
      start();
      wake_.notify_one();
    }
    return slot;
  }

  /// Programs run without generated code, too: where there is no thread, there is none.
  void start() {
    if (thread_.joinable()) return;
    try {
      thread_ = start_thread("the code generator", [this] { work(); });
    } catch (const ProcessLimitError& error) { disable(error.what()); }
  }

  void disable(const std::string& trouble) {
    unusable_ = true;
    stats_.state = trouble;
    stats_.failed += static_cast<std::int64_t>(queue_.size());
    queue_.clear();
    for (auto& [key, slot] : slots_) slot.completed = true;
    done_.notify_all();
  }

  void work() {
    // Opening LLVM takes tens of milliseconds and is this thread's business.
    std::string trouble;
    std::unique_ptr<CodeCompiler> compiler = open_compiler(trouble);
    std::unique_lock lock(mutex_);
    if (!compiler) {
      disable(trouble);
      return;
    }
    DiskCache cache(options_.cache_folder, compiler->identity(), ".o");
    for (;;) {
      const auto wanted = [&] { return leaving_ || !queue_.empty(); };
      if (!wake_.wait_for(lock, until_release, wanted)) {
        lock.unlock();
        GeneratorMemory::of_process().release();
        lock.lock();
        wake_.wait(lock, wanted);
      }
      if (leaving_) break;
      const CodeKey key = queue_.front();
      queue_.pop_front();
      const bool make = slots_[key].made;
      lock.unlock();
      const auto begin = std::chrono::steady_clock::now();
      bool from_disk = true;
      std::vector<char> object = cache.read(key);
      void* code = object.empty() ? nullptr : compiler->load(key, object);
      if (!code && make) {
        from_disk = false;
        object = compiler->compile(key);
        code = object.empty() ? nullptr : compiler->load(key, object);
        if (code) cache.write(key, object);
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      lock.lock();
      stats_.compile_seconds += spent.count();
      Slot& slot = slots_[key];
      if (!code && slot.made != make) {  // wanted in the meantime
        queue_.push_back(key);
        continue;
      }
      if (code || make) ++(code ? (from_disk ? stats_.from_disk : stats_.compiled) : stats_.failed);
      slot.code = code;
      slot.completed = true;
      done_.notify_all();
    }
    for (auto& [key, slot] : slots_) slot.completed = true;
    done_.notify_all();
    lock.unlock();
    GeneratorMemory::of_process().release();
    // The compiler owns the code; it goes when nobody can call any more.
    compiler_ = std::move(compiler);
  }

  std::unique_ptr<CodeCompiler> open_compiler(std::string& trouble) const {
    using Make = CodeCompiler*(const char* cpu, int vector_bits, bool fma);
    // LLVM ends the process where it gets no memory.
    constexpr std::int64_t library_and_work = 256 << 20;
    if (!has_room_for(library_and_work)) {
      trouble = "there is no memory for the code generator";
      return nullptr;
    }
    void* library = open_code_library(trouble);
    if (!library) return nullptr;
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
  else
    throw SialError(fmt::format("unknown processor `{}`", cpu),
                    "known: x86-64-v2, x86-64-v3, x86-64-v4; without the option, this one");
  if (!processor_runs(cpu))
    throw SialError(fmt::format("this processor cannot run code for `{}`", cpu),
                    "leave the option away to generate code for this processor");
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
