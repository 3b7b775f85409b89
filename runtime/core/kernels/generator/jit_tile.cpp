// Generated columns of register tiles: see TileWork in tiles.h for what they compute.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {
namespace {

using llvm::Value;

class TileBuilder {
 public:
  TileBuilder(llvm::Module& module, const CodeKey& key, const CpuFacts& facts)
      : b_(module.getContext()),
        fused_(facts.fma),
        vectors_(key.p[0]),
        columns_(key.p[1]),
        short_(key.p[2] != 0),
        masked_(short_ && (vectors_ == 1 || (facts.vector_bits == 512 && key.p[3] == 0))),
        exact_(key.p[3]),
        width_(facts.vector_bits / 64),
        type_(llvm::FixedVectorType::get(b_.getDoubleTy(), static_cast<unsigned>(width_))) {
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, code_name(key), module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    work_ = function_->getArg(0);
    work_->addAttr(llvm::Attribute::NoAlias);
  }

  void build() {
    auto* entry = block("entry");
    b_.SetInsertPoint(entry);
    Value* count = field(offsetof(TileWork, count), b_.getInt64Ty());
    Value* a = field(offsetof(TileWork, a), b_.getPtrTy());
    a_at_ = field(offsetof(TileWork, a_at), b_.getPtrTy());
    Value* b = field(offsetof(TileWork, b), b_.getPtrTy());
    b_at_ = field(offsetof(TileWork, b_at), b_.getPtrTy());
    Value* b_table = field(offsetof(TileWork, b_column), b_.getPtrTy());
    Value* d = field(offsetof(TileWork, d), b_.getPtrTy());
    Value* d_table = field(offsetof(TileWork, d_column), b_.getPtrTy());
    alpha_ = field(offsetof(TileWork, alpha), b_.getDoubleTy());
    beta_ = field(offsetof(TileWork, beta), b_.getDoubleTy());
    Value* repeat = field(offsetof(TileWork, repeat), b_.getInt64Ty());
    Value* a_step = field(offsetof(TileWork, a_step), b_.getInt64Ty());
    Value* d_step = field(offsetof(TileWork, d_step), b_.getInt64Ty());
    Value* all_repeats = b_.CreateMul(repeat, field(offsetof(TileWork, runs), b_.getInt64Ty()));
    Value* one_less = b_.CreateSub(repeat, b_.getInt64(1));
    Value* to_next_a = b_.CreateSub(field(offsetof(TileWork, a_run), b_.getInt64Ty()), b_.CreateMul(one_less, a_step));
    Value* to_next_d = b_.CreateSub(field(offsetof(TileWork, d_run), b_.getInt64Ty()), b_.CreateMul(one_less, d_step));
    Value* d_fetch = field(offsetof(TileWork, d_fetch), b_.getInt64Ty());
    Value* groups = field(offsetof(TileWork, column_groups), b_.getInt64Ty());
    Value* b_step = field(offsetof(TileWork, b_step), b_.getInt64Ty());
    Value* prefetch_begin = field(offsetof(TileWork, near), b_.getPtrTy());
    Value* prefetch_lines = field(offsetof(TileWork, prefetch_lines), b_.getInt64Ty());
    // Stores through masks are slow, and what is read of their lines next waits for them: in a short tile of several
    // vectors the last one ends with the last row, over part of the one before. Not so in loops for any sum, where its
    // place is one register too many.
    for (int i = 0; i < vectors_; ++i) row_.push_back(b_.getInt64(static_cast<std::uint64_t>(i * width_)));
    if (short_ && !masked_) {
      row_.back() = b_.CreateSub(field(offsetof(TileWork, rows), b_.getInt64Ty()),
                                 b_.getInt64(static_cast<std::uint64_t>(width_)));
    } else if (masked_) {
      Value* rest = b_.CreateSub(field(offsetof(TileWork, rows), b_.getInt64Ty()),
                                 b_.getInt64(static_cast<std::uint64_t>((vectors_ - 1) * width_)));
      std::vector<llvm::Constant*> lanes;
      for (int i = 0; i < width_; ++i) lanes.push_back(b_.getInt64(static_cast<std::uint64_t>(i)));
      mask_ =
          b_.CreateICmpSLT(llvm::ConstantVector::get(lanes), b_.CreateVectorSplat(static_cast<unsigned>(width_), rest));
    }
    // Groups of columns, in each runs of tiles; at least one of each.
    const auto index = [&](int j) { return b_.getInt64(static_cast<std::uint64_t>(j)); };
    auto* before_groups = b_.GetInsertBlock();
    auto* group = block("group");
    b_.CreateBr(group);
    b_.SetInsertPoint(group);
    llvm::PHINode* groups_left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* b_now = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* b_table_now = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* d_table_now = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* prefetch_of_group = b_.CreatePHI(b_.getPtrTy(), 2);
    prefetch_of_group->addIncoming(prefetch_begin, before_groups);
    groups_left->addIncoming(groups, before_groups);
    b_now->addIncoming(b, before_groups);
    b_table_now->addIncoming(b_table, before_groups);
    d_table_now->addIncoming(d_table, before_groups);
    for (int j = 0; j < columns_; ++j) column_.push_back(element(b_now, entry_of(b_table_now, index(j))));
    std::vector<Value*> target_at;
    for (int j = 0; j < columns_; ++j) target_at.push_back(entry_of(d_table_now, index(j)));
    auto* before = b_.GetInsertBlock();
    auto* tile = block("tile");
    b_.CreateBr(tile);
    b_.SetInsertPoint(tile);
    llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* a_now = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* d_now = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* prefetch_now = b_.CreatePHI(b_.getPtrTy(), 2);
    prefetch_now->addIncoming(prefetch_of_group, before);
    left->addIncoming(all_repeats, before);
    llvm::PHINode* in_run = b_.CreatePHI(b_.getInt64Ty(), 2);
    in_run->addIncoming(repeat, before);
    a_now->addIncoming(a, before);
    d_now->addIncoming(d, before);
    a_ = a_now;
    for (Value* at : target_at) target_.push_back(element(d_now, at));
    // Memory that is only written is not waited for.
    auto* fetch_own = block("fetch_own");
    auto* own_fetched = block("own_fetched");
    b_.CreateCondBr(b_.CreateFCmpUNE(beta_, llvm::ConstantFP::get(b_.getDoubleTy(), 0.0)), fetch_own, own_fetched);
    b_.SetInsertPoint(fetch_own);
    for (Value* at : target_)
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {at, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    b_.CreateBr(own_fetched);
    b_.SetInsertPoint(own_fetched);
    auto* fetch = block("fetch");
    auto* fetched = block("fetched");
    b_.CreateCondBr(b_.CreateICmpSGE(d_fetch, b_.getInt64(0)), fetch, fetched);
    b_.SetInsertPoint(fetch);
    for (Value* at : target_)
      for (int i = 0; i < vectors_; ++i)
        b_.CreateIntrinsic(
            llvm::Intrinsic::prefetch, {b_.getPtrTy()},
            {element(element(at, d_fetch), index(i * width_)), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    b_.CreateBr(fetched);
    b_.SetInsertPoint(fetched);
    auto* near = block("near");
    auto* summing = block("summing");
    b_.CreateCondBr(b_.CreateICmpNE(prefetch_lines, b_.getInt64(0)), near, summing);
    b_.SetInsertPoint(near);
    llvm::PHINode* line = b_.CreatePHI(b_.getPtrTy(), 2);
    llvm::PHINode* lines_left = b_.CreatePHI(b_.getInt64Ty(), 2);
    line->addIncoming(prefetch_now, fetched);
    lines_left->addIncoming(prefetch_lines, fetched);
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    Value* next_line = element(line, b_.getInt64(prefetch_line));
    Value* lines_rest = b_.CreateSub(lines_left, b_.getInt64(1));
    line->addIncoming(next_line, near);
    lines_left->addIncoming(lines_rest, near);
    b_.CreateCondBr(b_.CreateICmpSGT(lines_rest, b_.getInt64(0)), near, summing);
    b_.SetInsertPoint(summing);
    llvm::PHINode* prefetch_after = b_.CreatePHI(b_.getPtrTy(), 2);
    prefetch_after->addIncoming(prefetch_now, fetched);
    prefetch_after->addIncoming(next_line, near);
    std::vector<Value*> sums(static_cast<std::size_t>(vectors_ * columns_), llvm::ConstantAggregateZero::get(type_));
    if (exact_ > 0) {
      for (int p = 0; p < exact_; ++p) step(index(p), sums);
    } else {
      // Steps of four, then what is left.
      Value* whole = b_.CreateAnd(count, b_.getInt64(~std::uint64_t{3}));
      sums = loop(b_.getInt64(0), whole, 4, sums);
      sums = loop(whole, count, 1, sums);
    }
    finish(sums);
    Value* rest = b_.CreateSub(left, b_.getInt64(1));
    auto* last = b_.GetInsertBlock();
    left->addIncoming(rest, last);
    Value* rest_in_run = b_.CreateSub(in_run, b_.getInt64(1));
    Value* run_ends = b_.CreateICmpEQ(rest_in_run, b_.getInt64(0));
    in_run->addIncoming(b_.CreateSelect(run_ends, repeat, rest_in_run), last);
    a_now->addIncoming(element(a_now, b_.CreateSelect(run_ends, to_next_a, a_step)), last);
    d_now->addIncoming(element(d_now, b_.CreateSelect(run_ends, to_next_d, d_step)), last);
    prefetch_now->addIncoming(prefetch_after, last);
    auto* next_group = block("next_group");
    b_.CreateCondBr(b_.CreateICmpSGT(rest, b_.getInt64(0)), tile, next_group);
    b_.SetInsertPoint(next_group);
    Value* groups_rest = b_.CreateSub(groups_left, b_.getInt64(1));
    groups_left->addIncoming(groups_rest, next_group);
    prefetch_of_group->addIncoming(prefetch_after, next_group);
    b_now->addIncoming(element(b_now, b_step), next_group);
    b_table_now->addIncoming(b_.CreateGEP(b_.getInt64Ty(), b_table_now, index(columns_)), next_group);
    d_table_now->addIncoming(b_.CreateGEP(b_.getInt64Ty(), d_table_now, index(columns_)), next_group);
    auto* end = block("end");
    b_.CreateCondBr(b_.CreateICmpSGT(groups_rest, b_.getInt64(0)), group, end);
    b_.SetInsertPoint(end);
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* field(std::size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), work_, offset));
  }
  Value* element(Value* base, Value* index) { return b_.CreateGEP(b_.getDoubleTy(), base, index); }
  Value* entry_of(Value* table, Value* index) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), table, index));
  }

  Value* multiply_add(Value* x, Value* y, Value* z) {
    return fused_ ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z})
                  : b_.CreateFAdd(b_.CreateFMul(x, y), z);
  }

  Value* load_rows(Value* at, int i) {
    Value* p = element(at, row_[static_cast<std::size_t>(i)]);
    if (masked_ && i == vectors_ - 1)
      return b_.CreateMaskedLoad(type_, p, llvm::Align(8), mask_, llvm::ConstantAggregateZero::get(type_));
    return b_.CreateAlignedLoad(type_, p, llvm::Align(8));
  }

  void step(Value* position, std::vector<Value*>& sums) {
    Value* a = element(a_, entry_of(a_at_, position));
    Value* b_at = entry_of(b_at_, position);
    std::vector<Value*> rows;
    for (int i = 0; i < vectors_; ++i) rows.push_back(load_rows(a, i));
    for (int j = 0; j < columns_; ++j) {
      Value* at = element(column_[static_cast<std::size_t>(j)], b_at);
      Value* factor = b_.CreateVectorSplat(static_cast<unsigned>(width_), b_.CreateLoad(b_.getDoubleTy(), at));
      for (int i = 0; i < vectors_; ++i) {
        Value*& sum = sums[static_cast<std::size_t>(j * vectors_ + i)];
        sum = multiply_add(rows[static_cast<std::size_t>(i)], factor, sum);
      }
      // One factor at a time is in a register. Where the compiler reads several ahead, sums have to leave theirs.
      b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
    }
  }

  std::vector<Value*> loop(Value* begin, Value* end, int steps, const std::vector<Value*>& initial) {
    auto* before = b_.GetInsertBlock();
    auto* body = block("body");
    auto* after = block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, after);
    b_.SetInsertPoint(body);
    llvm::PHINode* position = b_.CreatePHI(b_.getInt64Ty(), 2);
    position->addIncoming(begin, before);
    std::vector<llvm::PHINode*> carried;
    std::vector<Value*> sums;
    for (Value* value : initial) {
      carried.push_back(b_.CreatePHI(type_, 2));
      carried.back()->addIncoming(value, before);
      sums.push_back(carried.back());
    }
    for (int i = 0; i < steps; ++i) step(b_.CreateAdd(position, b_.getInt64(static_cast<std::uint64_t>(i))), sums);
    Value* next = b_.CreateAdd(position, b_.getInt64(static_cast<std::uint64_t>(steps)));
    position->addIncoming(next, body);
    for (std::size_t i = 0; i < sums.size(); ++i) carried[i]->addIncoming(sums[i], body);
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
    b_.SetInsertPoint(after);
    std::vector<Value*> result;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      llvm::PHINode* merged = b_.CreatePHI(type_, 2);
      merged->addIncoming(initial[i], before);
      merged->addIncoming(sums[i], body);
      result.push_back(merged);
    }
    return result;
  }

  void store_rows(Value* value, Value* at, int i) {
    Value* p = element(at, row_[static_cast<std::size_t>(i)]);
    if (masked_ && i == vectors_ - 1) b_.CreateMaskedStore(value, p, llvm::Align(8), mask_);
    else b_.CreateAlignedStore(value, p, llvm::Align(8));
  }

  void finish(const std::vector<Value*>& sums) {
    Value* alpha = b_.CreateVectorSplat(static_cast<unsigned>(width_), alpha_);
    auto* done = block("done");
    const auto branch = [&](Value* what, double value, const char* name) {
      auto *yes = block(name), *no = block("otherwise");
      b_.CreateCondBr(b_.CreateFCmpOEQ(what, llvm::ConstantFP::get(b_.getDoubleTy(), value)), yes, no);
      b_.SetInsertPoint(yes);
      return no;
    };
    const auto each = [&](auto&& value) {
      // All of a column is read before any of it is written; with a mask the next one, too: it often begins where this
      // one ends, and would wait for what the mask leaves out there.
      const int ahead = masked_ ? 1 : 0;
      std::vector<Value*> values;
      for (int j = 0; j < columns_ + ahead; ++j) {
        for (int i = 0; i < vectors_ && j < columns_; ++i)
          values.push_back(
              value(sums[static_cast<std::size_t>(j * vectors_ + i)], target_[static_cast<std::size_t>(j)], i));
        const int w = j - ahead;
        for (int i = 0; i < vectors_ && w >= 0; ++i)
          store_rows(values[static_cast<std::size_t>(w * vectors_ + i)], target_[static_cast<std::size_t>(w)], i);
      }
      b_.CreateBr(done);
    };
    // A factor of one leaves the bits as they are, and short sums would feel the multiplication.
    auto* not_overwrite = branch(beta_, 0.0, "overwrite");
    auto* scaled = branch(alpha_, 1.0, "overwrite_plain");
    each([&](Value* sum, Value*, int) { return sum; });
    b_.SetInsertPoint(scaled);
    each([&](Value* sum, Value*, int) { return b_.CreateFMul(alpha, sum); });
    b_.SetInsertPoint(not_overwrite);
    auto* update = branch(beta_, 1.0, "add");
    scaled = branch(alpha_, 1.0, "add_plain");
    each([&](Value* sum, Value* at, int i) { return b_.CreateFAdd(sum, load_rows(at, i)); });
    b_.SetInsertPoint(scaled);
    each([&](Value* sum, Value* at, int i) { return multiply_add(alpha, sum, load_rows(at, i)); });
    b_.SetInsertPoint(update);
    Value* factor = b_.CreateVectorSplat(static_cast<unsigned>(width_), beta_);
    each([&](Value* sum, Value* at, int i) {
      return multiply_add(alpha, sum, b_.CreateFMul(factor, load_rows(at, i)));
    });
    b_.SetInsertPoint(done);
  }

  llvm::IRBuilder<> b_;
  const bool fused_;
  const int vectors_, columns_;
  const bool short_, masked_;  // fewer rows than its vectors have; which the last vector's mask tells
  const int exact_;            // summed positions, 0: as the work says
  const int width_;
  llvm::FixedVectorType* type_;
  llvm::Function* function_ = nullptr;
  llvm::Argument* work_ = nullptr;
  Value *a_ = nullptr, *a_at_ = nullptr, *b_at_ = nullptr, *mask_ = nullptr, *alpha_ = nullptr, *beta_ = nullptr;
  std::vector<Value*> column_, target_, row_;
};

}  // namespace

void build_tile(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) {
  TileBuilder(module, key, facts).build();
}

}  // namespace sial::kernels
