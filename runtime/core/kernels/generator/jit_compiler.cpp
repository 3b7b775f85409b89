// The code generator: LLVM behind the CodeCompiler of jit.h, in a shared library of its own that the engine opens when
// code is first asked for. Modules go through the optimiser without its vectorisers (builders write vectors) and become
// object files, which ORC links into this process.

#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/interface/fused_tile.h"

namespace sial::kernels {
namespace {

std::string host_features() {
  std::string text;
  std::vector<std::string> names;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

class LlvmCompiler final : public CodeCompiler {
 public:
  LlvmCompiler(std::string cpu, const CpuFacts& facts) : facts_(facts) {
    initialise_targets();
    triple_ = llvm::sys::getProcessTriple();
    if (cpu.empty()) {
      cpu_ = llvm::sys::getHostCPUName().str();
      features_ = host_features();
    } else {
      cpu_ = std::move(cpu);
    }
    // The widest vectors are asked for: processors that have them are taken to run them well.
    if (facts.vector_bits == 512) features_ += (features_.empty() ? "" : ",") + std::string("-prefer-256-bit");
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple_, error);
    if (!target) return;
    machine_.reset(target->createTargetMachine(triple_, cpu_, features_, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                               std::nullopt, llvm::CodeGenOptLevel::Aggressive, true));
    auto jit = llvm::orc::LLJITBuilder().create();
    if (jit) jit_ = std::move(*jit);
    else llvm::consumeError(jit.takeError());
  }

  bool usable() const { return machine_ && jit_; }

  std::string identity() const override {
    return std::string("LLVM ") + LLVM_VERSION_STRING + " " + triple_ + " " + cpu_ + " " + features_;
  }

  std::vector<char> compile(const CodeKey& key) override {
    llvm::LLVMContext context;
    llvm::Module module(code_name(key), context);
    module.setTargetTriple(triple_);
    module.setDataLayout(machine_->createDataLayout());
    switch (key.kind) {
      case CodeKind::tile: build_tile(module, key, facts_); break;
      case CodeKind::transpose: build_transpose(module, key, facts_); break;
      case CodeKind::pack: build_pack(module, key, facts_); break;
      case CodeKind::fused:
        if (!is_fused_key(key)) return {};
        build_fused(module, key, facts_);
        break;
      case CodeKind::device_fused:
      case CodeKind::device_sum:
        if (!build_device(module, key, true)) return {};
        break;
    }
    if (llvm::verifyModule(module)) return {};
    optimise_module(module, *machine_);
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream out(object);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile)) return {};
    passes.run(module);
    return {object.begin(), object.end()};
  }

  void* load(const CodeKey& key, std::span<const char> object) override {
    // A library per object: one that cannot be linked leaves no trace in the others.
    auto library = jit_->createJITDylib(code_name(key) + "#" + std::to_string(++loaded_));
    if (!library) {
      llvm::consumeError(library.takeError());
      return nullptr;
    }
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), code_name(key));
    if (auto error = jit_->addObjectFile(*library, std::move(buffer))) {
      llvm::consumeError(std::move(error));
      return nullptr;
    }
    auto address = jit_->lookup(*library, code_name(key));
    if (!address) {
      llvm::consumeError(address.takeError());
      return nullptr;
    }
    return address->toPtr<void*>();
  }

 private:
  const CpuFacts facts_;
  std::string triple_, cpu_, features_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::int64_t loaded_ = 0;
};

}  // namespace

void initialise_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

void optimise_module(llvm::Module& module, llvm::TargetMachine& machine) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, false);
  LLVMPassBuilderOptionsSetSLPVectorization(options, false);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, false);
  LLVMErrorRef error =
      LLVMRunPasses(wrap(&module), "default<O2>", reinterpret_cast<LLVMTargetMachineRef>(&machine), options);
  if (error) LLVMConsumeError(error);  // of the name of the pipeline
  LLVMDisposePassBuilderOptions(options);
}

}  // namespace sial::kernels

extern "C" const char* sialx_code_state() { return SIALX_CODE_STATE; }

extern "C" sial::kernels::CodeCompiler* sialx_make_code_compiler(const char* cpu, int vector_bits, bool fma) {
  auto compiler = std::make_unique<sial::kernels::LlvmCompiler>(cpu, sial::kernels::CpuFacts{vector_bits, fma});
  return compiler->usable() ? compiler.release() : nullptr;
}
