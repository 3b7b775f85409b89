#include "tests/bench/kernels/implementations.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "runtime/core/base/error.h"

namespace bench {

/// Keeps what it handed out, as the pool of a rank does: the benchmark is not about the system's allocator.
class Implementations::Pool final : public sial::BufferResource {
 public:
  double* allocate(std::int64_t n) override {
    for (Piece& piece : pieces_)
      if (!piece.used && piece.size >= n) {
        piece.used = true;
        return piece.memory.data();
      }
    Piece& piece = pieces_.emplace_back();
    piece.size = n;
    piece.used = true;
    return piece.memory.need(n);
  }
  void deallocate(double* p, std::int64_t) noexcept override {
    for (Piece& piece : pieces_)
      if (piece.memory.data() == p) piece.used = false;
  }
  sial::ResourceStats stats() const override { return {}; }
  void trim() {
    std::erase_if(pieces_, [](const Piece& piece) { return !piece.used; });
  }

 private:
  struct Piece {
    Buffer memory;
    std::int64_t size = 0;
    bool used = false;
  };
  std::vector<Piece> pieces_;
};

Implementations::Implementations(const std::vector<std::string>& specifications) : pool_(std::make_unique<Pool>()) {
  for (const std::string& specification : specifications) {
    try {
      add(specification);
    } catch (const sial::SialError&) { skipped_.push_back(specification); }
  }
}

const Implementation& Implementations::add(const std::string& specification) {
  std::stringstream parts(specification);
  std::string name, option;
  std::getline(parts, name, ':');
  // Generated code is waited for: its making is not what is measured here.
  sial::KernelOptions options;
  options.jit_at_once = true;
  while (std::getline(parts, option, ':')) {
    const std::string key = option.substr(0, option.find('=')),
                      value = option.substr(std::min(option.size(), key.size() + 1));
    if (key == "jit" && (value == "on" || value == "off")) options.jit = options.jit_at_once = value == "on";
    else if (key == "jit-cpu") options.jit_cpu = value;
    else if (key == "threads") options.threads = std::atoi(value.c_str());
    else if (key == "strategy") options.strategy = value;
    else throw sial::SialError("there is no option `" + option + "` of kernels");
  }
  kernels_.push_back(sial::make_kernels(name, *pool_, options));
  return all_.emplace_back(Implementation{specification, kernels_.back().get()});
}

Implementations::~Implementations() = default;

void Implementations::trim() { pool_->trim(); }

}  // namespace bench
