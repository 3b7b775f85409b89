#pragma once
// Launches of generated kernels on the interpreter, for tests: PTX from the code generator, parsed once a kernel.

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/kernels/gpu/device_code.h"
#include "tests/device/ptx/machine.h"

namespace ptx {

/// Memory registered as long as this lives.
class Registered {
 public:
  explicit Registered(Memory& memory) : memory_(memory) {}
  ~Registered() {
    for (const void* p : pieces_) memory_.remove(p);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  void add(const double* p, std::int64_t n, std::string name, bool constant) {
    if (n <= 0 || memory_.has(p)) return;
    memory_.add(p, static_cast<std::size_t>(n) * 8, std::move(name), constant);
    pieces_.push_back(p);
  }
  /// What lies between a view's first and last element.
  template <class View>
  void add_view(const View& v, std::string name, bool constant) {
    std::int64_t last = 0;
    for (int d = 0; d < v.rank; ++d) {
      const auto k = static_cast<std::size_t>(d);
      if (v.extent[k] == 0) return;
      last += (v.extent[k] - 1) * v.stride[k];
    }
    add(v.data, last + 1, std::move(name), constant);
  }

 private:
  Memory& memory_;
  std::vector<const void*> pieces_;
};

class Runner {
 public:
  /// `major`: of the compute capability that PTX is made for.
  explicit Runner(int major = 8) : source_(sial::kernels::make_device_code_source(major, 0, "")) {}
  explicit Runner(std::shared_ptr<sial::kernels::DeviceCodeSource> source) : source_(std::move(source)) {}

  struct Kernel {
    Program program;
    std::unique_ptr<Machine> machine;
  };

  Kernel& kernel(const sial::kernels::CodeKey& key) {
    auto& k = kernels_[key];
    if (!k) {
      k = std::make_unique<Kernel>();
      const std::string& text = source_->ptx(key);
      k->program = parse(edit ? edit(text) : text);
      k->machine = std::make_unique<Machine>(k->program, memory);
      k->machine->max_steps = max_steps;
    }
    return *k;
  }

  void run(std::vector<sial::kernels::DeviceLaunch> launches, Observer* observer = nullptr, std::uint64_t seed = 0) {
    for (sial::kernels::DeviceLaunch& l : launches) {
      if (edit_launch) edit_launch(l);
      const double* table = l.table.data();
      Registered registered(memory);
      if (!l.table.empty()) {
        std::memcpy(l.arguments.data() + l.table_at, &table, sizeof table);
        registered.add(table, std::ssize(l.table), "the table of energies", true);
      }
      kernel(l.key).machine->launch({l.blocks, l.threads, l.shared_bytes}, l.arguments, observer, seed);
      ++launched;
    }
  }

  Memory memory;
  std::function<std::string(const std::string&)> edit;            // of the text, before it is parsed
  std::function<void(sial::kernels::DeviceLaunch&)> edit_launch;  // before it is carried out
  std::uint64_t max_steps = 2'000'000;                            // of a block
  std::int64_t launched = 0;
  const std::map<sial::kernels::CodeKey, std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  const std::string& text(const sial::kernels::CodeKey& key) { return source_->ptx(key); }

 private:
  std::shared_ptr<sial::kernels::DeviceCodeSource> source_;
  std::map<sial::kernels::CodeKey, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace ptx
