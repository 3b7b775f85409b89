// Generated packing of whole panels: see PackWork in tiles.h for what it computes.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <vector>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {
namespace {

using llvm::Value;

class PackBuilder {
 public:
  PackBuilder(llvm::Module& module, const CodeKey& key, const CpuFacts& facts)
      : b_(module.getContext()),
        vectors_(key.p[0]),
        across_(key.p[1] != 0),
        width_(facts.vector_bits / 64),
        type_(llvm::FixedVectorType::get(b_.getDoubleTy(), static_cast<unsigned>(width_))) {
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, code_name(key), module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    work_ = function_->getArg(0);
  }

  void build() {
    b_.SetInsertPoint(block("entry"));
    to_ = field(offsetof(PackWork, to), b_.getPtrTy());
    Value* from = field(offsetof(PackWork, from), b_.getPtrTy());
    Value* row_at = field(offsetof(PackWork, row_at), b_.getPtrTy());
    sum_at_ = field(offsetof(PackWork, sum_at), b_.getPtrTy());
    Value* count = field(offsetof(PackWork, count), b_.getInt64Ty());
    const int rows = across_ ? vectors_ * width_ : 1;
    for (int i = 0; i < rows; ++i) row_.push_back(element(from, entry(row_at, number(i))));
    Value* done = number(0);
    if (across_) done = loop(done, count, width_, [&](Value* p) { square(p); });
    loop(done, count, 1, [&](Value* p) { across_ ? gather(p) : copy(p); });
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }
  Value* field(std::size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), work_, offset));
  }
  Value* element(Value* base, Value* index) { return b_.CreateGEP(b_.getDoubleTy(), base, index); }
  Value* entry(Value* table, Value* index) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), table, index));
  }
  Value* panel(Value* p, int row) {
    return element(to_, b_.CreateAdd(b_.CreateMul(p, number(vectors_ * width_)), number(row)));
  }
  Value* load(Value* at) { return b_.CreateAlignedLoad(type_, at, llvm::Align(8)); }
  void store(Value* value, Value* at) { b_.CreateAlignedStore(value, at, llvm::Align(8)); }

  /// body(p) for p = begin, begin + step, ... while a whole step fits before end. The first p not done.
  template <class Body>
  Value* loop(Value* begin, Value* end, int step, Body&& body) {
    auto* before = b_.GetInsertBlock();
    auto* head = block("head");
    auto* inside = block("inside");
    auto* after = block("after");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* p = b_.CreatePHI(b_.getInt64Ty(), 2);
    p->addIncoming(begin, before);
    Value* next = b_.CreateAdd(p, number(step));
    b_.CreateCondBr(b_.CreateICmpSLE(next, end), inside, after);
    b_.SetInsertPoint(inside);
    body(p);
    p->addIncoming(next, b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
    return p;
  }

  /// Consecutive rows at one position.
  void copy(Value* p) {
    Value* from = element(row_.front(), entry(sum_at_, p));
    for (int v = 0; v < vectors_; ++v) store(load(element(from, number(v * width_))), panel(p, v * width_));
  }

  void gather(Value* p) {
    Value* at = entry(sum_at_, p);
    for (int i = 0; i < vectors_ * width_; ++i)
      b_.CreateStore(b_.CreateLoad(b_.getDoubleTy(), element(row_[static_cast<std::size_t>(i)], at)), panel(p, i));
  }

  /// Packs as many positions as a vector holds: transposed in registers where they are consecutive in memory, which
  /// each of them has to show.
  void square(Value* p) {
    auto* offsets = llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(width_));
    Value* at = b_.CreateAlignedLoad(offsets, b_.CreateGEP(b_.getInt64Ty(), sum_at_, p), llvm::Align(8));
    Value* first = b_.CreateExtractElement(at, std::uint64_t{0});
    std::vector<llvm::Constant*> lanes;
    for (int i = 0; i < width_; ++i) lanes.push_back(b_.getInt64(static_cast<std::uint64_t>(i)));
    Value* expected =
        b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(width_), first), llvm::ConstantVector::get(lanes));
    auto* turn = block("turn");
    auto* apart = block("apart");
    auto* done = block("done");
    b_.CreateCondBr(b_.CreateAndReduce(b_.CreateICmpEQ(at, expected)), turn, apart);
    b_.SetInsertPoint(turn);
    for (int v = 0; v < vectors_; ++v) {
      std::vector<Value*> square;
      for (int i = 0; i < width_; ++i)
        square.push_back(load(element(row_[static_cast<std::size_t>(v * width_ + i)], first)));
      transpose(square);
      for (int i = 0; i < width_; ++i)
        store(square[static_cast<std::size_t>(i)], panel(b_.CreateAdd(p, number(i)), v * width_));
    }
    b_.CreateBr(done);
    b_.SetInsertPoint(apart);
    for (int i = 0; i < width_; ++i) gather(b_.CreateAdd(p, number(i)));
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  /// Exchanges blocks of 1, 2, 4 ... elements between pairs of vectors.
  void transpose(std::vector<Value*>& x) {
    for (int size = 1; size < width_; size *= 2) {
      std::vector<int> low, high;
      for (int lane = 0; lane < width_; ++lane) {
        const bool upper = (lane / size) % 2 == 1;
        low.push_back(upper ? width_ + lane - size : lane);
        high.push_back(upper ? width_ + lane : lane + size);
      }
      for (int i = 0; i < width_; ++i) {
        if ((i / size) % 2 == 1) continue;
        Value* a = x[static_cast<std::size_t>(i)];
        Value* c = x[static_cast<std::size_t>(i + size)];
        x[static_cast<std::size_t>(i)] = b_.CreateShuffleVector(a, c, low);
        x[static_cast<std::size_t>(i + size)] = b_.CreateShuffleVector(a, c, high);
      }
    }
  }

  llvm::IRBuilder<> b_;
  const int vectors_;
  const bool across_;
  const int width_;
  llvm::FixedVectorType* type_;
  llvm::Function* function_ = nullptr;
  llvm::Argument* work_ = nullptr;
  Value *to_ = nullptr, *sum_at_ = nullptr;
  std::vector<Value*> row_;
};

}  // namespace

void build_pack(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) {
  PackBuilder(module, key, facts).build();
}

}  // namespace sial::kernels
