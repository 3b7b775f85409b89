#pragma once
// From a reference to the view that a statement would have, in the memory model, and the workspace that block
// operations take. Part of a model.

#include <map>
#include <optional>
#include <tuple>

#include "runtime/core/model/memory/indices.h"
#include "runtime/core/model/memory/own_blocks.h"
#include "runtime/core/model/memory/remote_blocks.h"

namespace sial {

class ModelOperands {
 public:
  ModelOperands(ModelContext& context, const ModelIndices& indices, ModelOwnBlocks& own, ModelRemoteBlocks& remote)
      : context_(context), indices_(indices), own_(own), remote_(remote) {}

  /// Nothing when the reference means no block now.
  std::optional<MutableView> read(std::int32_t ref);
  std::optional<MutableView> write(std::int32_t ref, bool creates);

 private:
  std::optional<MutableView> static_view(const ResolvedReference& ref, const Located& at);

  ModelContext& context_;
  const ModelIndices& indices_;
  ModelOwnBlocks& own_;
  ModelRemoteBlocks& remote_;
};

class ModelWork {
 public:
  ModelWork(ModelContext& context, ModelOperands& operands) : context_(context), operands_(operands) {}

  /// Arithmetic with block a as its target. A part that is written makes the block that it is a part of.
  void block(const Instruction& in, std::int32_t pc);
  void sum(const Instruction& in);
  void inner_product(std::int32_t pc);

  /// The kernels' choices for the largest operation of each line, where they are wanted.
  std::vector<PlannedKernel> choices() const;

 private:
  struct Choice {
    double size = -1;
    std::string why;
  };

  void kernel(std::int32_t target, bool creates, std::int32_t a, std::int32_t b, std::int32_t pc);
  void record_kernel(const BlockOp& op, std::int32_t pc);
  Choice& choice_at(std::int32_t pc, bool contraction);

  ModelContext& context_;
  ModelOperands& operands_;
  std::map<std::tuple<std::int32_t, std::int32_t, bool>, Choice> choices_;  // by file, line; whether a contraction
};

}  // namespace sial
