#pragma once
// Code that is generated for one specialisation of a kernel while programs run, without LLVM in sight. A CodeKey names
// a specialisation; the CodeEngine hands out its entry point once a thread of its own has compiled it or read it from
// the disk cache, and callers use built-in code until then. Whatever is generated computes bit for bit what the
// built-in code does, so results never depend on when it becomes ready. Engines own the code: entry points die with
// them.

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sial::kernels {

/// The numbers are part of the names in the disk cache.
enum class CodeKind : std::int32_t { tile = 1, transpose = 2, fused = 3, pack = 4, device_fused = 5, device_sum = 7 };

struct CodeKey {
  CodeKind kind = CodeKind::tile;
  std::array<std::int32_t, 10> p{};  // see the builder of the kind
  auto operator<=>(const CodeKey&) const = default;
};

/// "tile_3_4_0": the symbol and the file name of a specialisation.
std::string code_name(const CodeKey& key);
/// The key that has this name; false when none has.
bool code_key_of(std::string_view name, CodeKey& key);

/// The instructions that generated code may use.
struct CpuFacts {
  int vector_bits = 128;
  bool fma = false;
};

/// The processor that code is generated for: `cpu` empty means this one, else x86-64-v2, x86-64-v3 or x86-64-v4. Throws
/// SialError for other names and for what this processor cannot run.
CpuFacts cpu_facts(const std::string& cpu);

/// Turns keys into machine code. Used by one thread at a time.
class CodeCompiler {
 public:
  virtual ~CodeCompiler() = default;
  /// Processor, its features and the compiler's version: code made under another identity is not for us.
  virtual std::string identity() const = 0;
  /// The object file, empty when the key cannot be compiled.
  virtual std::vector<char> compile(const CodeKey& key) = 0;
  /// The entry point of an object file; null when it cannot be linked.
  virtual void* load(const CodeKey& key, std::span<const char> object) = 0;
};

struct CodeOptions {
  bool on = true;
  bool at_once = false;      // callers of find() wait for the code: for tests and measurements
  std::string cpu;           // see cpu_facts
  std::string cache_folder;  // empty: nothing is kept on disk
};

struct CodeStats {
#define CODE_COST(type, field) type field = 0;
#include "runtime/core/stats/costs.def"
  std::string state;  // "on", "off", or why there is no code
};

class CodeEngine {
 public:
  virtual ~CodeEngine() = default;
  /// Ready code, or null: it is then made in the background. Any thread.
  virtual void* find(const CodeKey& key) = 0;
  /// The same as find(), for code that is not yet worth making: only what was saved on disk becomes ready.
  virtual void* find_saved(const CodeKey& key) = 0;
  /// Ready code after waiting for it, or null when there is none.
  virtual void* wait(const CodeKey& key) = 0;
  virtual CpuFacts facts() const = 0;
  virtual CodeStats stats() const = 0;
};

/// The engine of this process for these options. Throws SialError for a bad `cpu`. An engine whose compiler is not
/// installed never has code and says so in stats().
std::shared_ptr<CodeEngine> make_code_engine(const CodeOptions& options);

/// The folder of the disk cache: $XDG_CACHE_HOME/sialx or ~/.cache/sialx; empty when neither is known.
std::string default_cache_folder();

}  // namespace sial::kernels
