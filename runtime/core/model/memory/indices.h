#pragma once
// Values of the indices in the memory model, and which blocks references mean with them. A loop that is visited once
// binds its index to its largest segment, whose number is then not known. Part of a model.

#include <functional>
#include <optional>

#include "runtime/core/model/memory/context.h"

namespace sial {

class ModelIndices {
 public:
  explicit ModelIndices(const ModelContext& context) : context_(context), values_(context.module.indices.size()) {}

  void bind(IndexId index, std::int32_t value) { values_[index.at()] = {true, true, value}; }
  void bind_largest(IndexId index);
  void unbind(IndexId index) { values_[index.at()] = {}; }
  std::int32_t value(IndexId index) const { return values_[index.at()].value; }
  std::optional<std::int32_t> known(IndexId index) const;

  /// Nothing when the reference means no block: an index without a value, or outside of the array.
  std::optional<Located> locate(const ResolvedReference& ref) const;
  /// Calls f for each block that the reference may mean now: wildcard entries and indices without a known value run
  /// over what the loop and the array have in common.
  void for_each_block(const ResolvedReference& ref, const std::function<void(const Located&)>& f) const;

 private:
  struct Value {
    bool bound = false, known = false;
    std::int32_t value = 0;
  };

  std::int32_t largest_segment(IndexId index, std::int32_t lo, std::int32_t hi) const;
  bool locate(const ResolvedReference& ref, const BoundDim& dim, int d, Located& at) const;

  const ModelContext& context_;
  std::vector<Value> values_;
};

}  // namespace sial
