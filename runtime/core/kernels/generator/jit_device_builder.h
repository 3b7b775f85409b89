#pragma once
// Shared by the builders of GPU kernels: functions of one thread of a thread block (phases) between barriers,
// addresses, loops, and the host fallback that takes each block's threads through one phase after the other. Lives as
// long as one kernel is built; refers to its module.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/gpu/device_code.h"
#include "runtime/core/kernels/gpu/device_layout.h"

namespace sial::kernels {

using llvm::Value;
using Values = std::vector<Value*>;

constexpr unsigned global_memory = 1, shared_memory = 3;  // address spaces of NVPTX; the host's are all the same

class DeviceBuilder {
 public:
  DeviceBuilder(llvm::Module& module, const CodeKey& key, bool host_fallback)
      : b_(module.getContext()), module_(module), name_(code_name(key)), host_fallback_(host_fallback) {}

  /// Around the phases, which have been built by now.
  void finish(std::size_t argument_bytes, int max_threads) {
    if (host_fallback_) finish_host_fallback();
    else finish_kernel(argument_bytes, max_threads);
  }

 protected:
  llvm::Type* i32() { return b_.getInt32Ty(); }
  llvm::Type* f64() { return b_.getDoubleTy(); }
  llvm::Type* global() { return b_.getPtrTy(global_memory); }
  Value* number(std::int64_t n) { return b_.getInt32(static_cast<std::uint32_t>(n)); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }

  void begin_phase() {
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), i32(), b_.getPtrTy(shared_memory), b_.getPtrTy()};
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::InternalLinkage, "phase", module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr(llvm::Attribute::AlwaysInline);
    arguments_ = function_->getArg(0);
    group_ = function_->getArg(1);
    thread_ = function_->getArg(2);
    threads_ = function_->getArg(3);
    shared_ = function_->getArg(4);
    trace_ = function_->getArg(5);
    phases_.push_back(function_);
    b_.SetInsertPoint(block("entry"));
  }
  void end_phase() { b_.CreateRetVoid(); }

  /// Arguments do not change while a kernel runs.
  Value* argument(std::size_t offset, llvm::Type* type) {
    auto* load = b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, offset));
    return unchanging(load);
  }
  Value* argument32(std::size_t offset) { return argument(offset, i32()); }
  Value* unchanging(llvm::LoadInst* load) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  struct Divided {
    Value *quotient, *rest;
  };
  Divided divide(Value* n, std::size_t divisor, bool may_be_one) {
    Value* d = argument32(divisor + offsetof(DeviceDivisor, divisor));
    Value* magic = argument32(divisor + offsetof(DeviceDivisor, magic));
    Value* quotient = b_.CreateLShr(high_product(n, magic), argument32(divisor + offsetof(DeviceDivisor, shift)));
    if (may_be_one) quotient = b_.CreateSelect(b_.CreateICmpULT(d, number(2)), n, quotient);
    return {quotient, b_.CreateSub(n, b_.CreateMul(quotient, d))};
  }
  /// A product of 64 bits; the GPU has an instruction for it, which LLVM loses sight of in loops.
  Value* high_product(Value* x, Value* y) {
    if (!host_fallback_) return b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_mulhi_ui, {x, y});
    return b_.CreateTrunc(
        b_.CreateLShr(b_.CreateMul(b_.CreateZExt(x, b_.getInt64Ty()), b_.CreateZExt(y, b_.getInt64Ty())), 32), i32());
  }
  /// The coordinates of number n where the k-th dimension is divided by divisors[k].
  Values coordinates(Value* n, const std::vector<std::size_t>& divisors, bool may_be_one) {
    Values result;
    for (std::size_t k = 0; k + 1 < divisors.size(); ++k) {
      const Divided d = divide(n, divisors[k], may_be_one);
      result.push_back(d.rest);
      n = d.quotient;
    }
    result.push_back(n);
    return result;
  }

  /// Offsets are of 32 bits where nothing lies further away.
  llvm::Type* index_type() { return wide_ ? b_.getInt64Ty() : i32(); }
  Value* term(Value* coordinate, std::size_t stride) {
    return b_.CreateMul(wide_ ? b_.CreateZExt(coordinate, b_.getInt64Ty()) : coordinate,
                        argument(stride, index_type()));
  }
  Value* index(const Values& coordinates, const std::vector<std::size_t>& strides, Value* first = nullptr) {
    Value* sum = first;
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      Value* t = term(coordinates[k], strides[k]);
      sum = sum ? b_.CreateAdd(sum, t) : t;
    }
    return sum;
  }
  Value* at(Value* base, Value* index) { return b_.CreateGEP(f64(), base, b_.CreateZExt(index, b_.getInt64Ty())); }
  Value* in_shared(Value* index) { return b_.CreateGEP(f64(), shared_, b_.CreateZExt(index, b_.getInt64Ty())); }

  /// for (i = begin; i < end; i += step)
  void loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& body) {
    auto* before = b_.GetInsertBlock();
    auto* inside = block("inside");
    auto* after = block("after");
    b_.CreateCondBr(b_.CreateICmpULT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    auto* i = b_.CreatePHI(i32(), 2);
    i->addIncoming(begin, before);
    body(i);
    Value* next = b_.CreateAdd(i, step);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, end), inside, after);
    b_.SetInsertPoint(after);
  }
  void when(Value* condition, const std::function<void()>& body) {
    auto* inside = block("then");
    auto* after = block("after");
    b_.CreateCondBr(condition, inside, after);
    b_.SetInsertPoint(inside);
    body();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  Value* load(llvm::Type* type, Value* address, std::uint32_t site, unsigned align = 8) {
    note(address, type, site, false);
    return b_.CreateAlignedLoad(type, address, llvm::Align(align));
  }
  Value* load_unchanging(llvm::Type* type, Value* address, std::uint32_t site, unsigned align = 8) {
    return unchanging(llvm::cast<llvm::LoadInst>(load(type, address, site, align)));
  }
  void store(Value* value, Value* address, std::uint32_t site, unsigned align = 8) {
    note(address, value->getType(), site, true);
    b_.CreateAlignedStore(value, address, llvm::Align(align));
  }

  /// Place n of the sums, which begin in shared memory where the argument says.
  Value* in_sums(Value* n, std::optional<std::size_t> begin) {
    return in_shared(begin ? b_.CreateAdd(n, argument32(*begin)) : n);
  }
  /// The place where a thread leaves its sum for add_up(): one is left out after each sixteen, so that threads that add
  /// up sixteen in a row ask different banks.
  Value* place_of_sum(std::optional<std::size_t> begin = std::nullopt) {
    return in_sums(b_.CreateAdd(thread_, b_.CreateLShr(thread_, number(4))), begin);
  }

  /// Sum of what the block's threads, DeviceSum::threads, left in shared memory, in two rounds of sixteen; then `last`
  /// with it.
  void add_up(std::optional<std::size_t> begin, const std::function<void(Value*)>& last) {
    constexpr int round = 16;
    const auto sum = [&](Value* first, std::uint32_t site) {
      Value* total = nullptr;
      for (int k = 0; k < round; ++k) {
        Value* x = load(f64(), in_sums(b_.CreateAdd(first, number(k)), begin), site);
        total = total ? b_.CreateFAdd(total, x) : x;
      }
      return total;
    };
    static_assert(DeviceSum::threads == round * round);
    constexpr std::int64_t second = round * (round + 1);
    static_assert(DeviceSum::shared == second + round);
    begin_phase();
    when(b_.CreateICmpULT(thread_, number(round)), [&] {
      store(sum(b_.CreateMul(thread_, number(round + 1)), 200), in_sums(b_.CreateAdd(thread_, number(second)), begin),
            201);
    });
    end_phase();
    begin_phase();
    when(b_.CreateICmpEQ(thread_, number(0)), [&] { last(sum(number(second), 202)); });
    end_phase();
  }

  llvm::IRBuilder<> b_;
  llvm::Module& module_;
  const std::string name_;
  const bool host_fallback_;
  llvm::Function* function_ = nullptr;
  Value *arguments_ = nullptr, *group_ = nullptr, *thread_ = nullptr, *threads_ = nullptr, *shared_ = nullptr,
        *trace_ = nullptr;
  bool wide_ = false;
  std::vector<llvm::Function*> phases_;

 private:
  llvm::Function* noting_ = nullptr;

  /// Nothing on a GPU.
  void note(Value* address, llvm::Type* type, std::uint32_t site, bool stores) {
    if (!host_fallback_) return;
    const bool shared = address->getType()->getPointerAddressSpace() == shared_memory;
    const std::uint32_t what = (stores ? DeviceTrace::stores : 0u) | (shared ? DeviceTrace::in_shared : 0u);
    const auto bytes = static_cast<std::uint32_t>(module_.getDataLayout().getTypeStoreSize(type).getFixedValue());
    b_.CreateCall(noting(), {trace_, group_, thread_, number(site), b_.CreateAddrSpaceCast(address, b_.getPtrTy()),
                             number(bytes), number(what)});
  }

  /// Passes an access on where somebody wants to know; a function of its own, so that host fallbacks are compiled
  /// quickly.
  llvm::Function* noting() {
    if (noting_) return noting_;
    static_assert(offsetof(DeviceTrace, access) == 0);
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), i32(), b_.getPtrTy(), i32(), i32()};
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    noting_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, "note", module_);
    noting_->addFnAttr(llvm::Attribute::NoInline);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    auto* caller = std::exchange(function_, noting_);
    b_.SetInsertPoint(block("entry"));
    when(b_.CreateIsNotNull(noting_->getArg(0)), [&] {
      Values passed;
      for (llvm::Argument& a : noting_->args()) passed.push_back(&a);
      b_.CreateCall(type, b_.CreateLoad(b_.getPtrTy(), passed[0]), passed);
    });
    b_.CreateRetVoid();
    function_ = caller;
    return noting_;
  }

  void finish_host_fallback() {
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), b_.getPtrTy(shared_memory), b_.getPtrTy()};
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::ExternalLinkage, name_, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(block("entry"));
    llvm::Argument* a = function_->arg_begin();
    loop(number(0), a + 1, number(1), [&](Value* group) {
      for (llvm::Function* phase : phases_)
        loop(number(0), a + 2, number(1),
             [&](Value* thread) { b_.CreateCall(phase, {a, group, thread, a + 2, a + 3, a + 4}); });
    });
    b_.CreateRetVoid();
  }

  void finish_kernel(std::size_t argument_bytes, int max_threads) {
    auto* type = llvm::ArrayType::get(b_.getInt64Ty(), argument_bytes / 8);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, name_, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addParamAttr(0, llvm::Attribute::getWithByValType(b_.getContext(), type));
    function_->addParamAttr(0, llvm::Attribute::getWithAlignment(b_.getContext(), llvm::Align(8)));
    auto* notes = module_.getOrInsertNamedMetadata("nvvm.annotations");
    const auto annotate = [&](const char* what, int value) {
      llvm::Metadata* parts[] = {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(b_.getContext(), what),
                                 llvm::ConstantAsMetadata::get(b_.getInt32(static_cast<std::uint32_t>(value)))};
      notes->addOperand(llvm::MDNode::get(b_.getContext(), parts));
    };
    annotate("kernel", 1);
    annotate("maxntidx", max_threads);
    auto* shared =
        new llvm::GlobalVariable(module_, llvm::ArrayType::get(f64(), 0), false, llvm::GlobalValue::ExternalLinkage,
                                 nullptr, "sialx_shared", nullptr, llvm::GlobalValue::NotThreadLocal, shared_memory);
    shared->setAlignment(llvm::Align(16));
    b_.SetInsertPoint(block("entry"));
    Value* group = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
    Value* thread = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    Value* threads = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {});
    for (std::size_t k = 0; k < phases_.size(); ++k) {
      if (k > 0) b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
      b_.CreateCall(phases_[k], {function_->getArg(0), group, thread, threads, shared,
                                 llvm::ConstantPointerNull::get(b_.getPtrTy())});
    }
    b_.CreateRetVoid();
  }
};

}  // namespace sial::kernels
