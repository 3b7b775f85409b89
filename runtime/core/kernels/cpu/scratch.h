#pragma once
// Workspace for the duration of one operation.

#include "runtime/core/memory/resource.h"

namespace sial::kernels {

class Scratch {
 public:
  explicit Scratch(BufferResource& resource) : resource_(resource) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_) resource_.deallocate(data_, size_);
  }
  double* allocate(std::int64_t n) {
    data_ = resource_.allocate(n);
    size_ = n;
    return data_;
  }

 private:
  BufferResource& resource_;
  double* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace sial::kernels
